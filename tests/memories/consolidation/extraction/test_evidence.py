"""What a model's fact rests on is stored as it stands in the message, and goes where the message goes (D5, A15)."""

from datetime import timedelta

import pytest

from memories import batches, entries, jobs
from memories.choices import Refusal, Verification
from memories.entries.evidence import evidence_of
from memories.models import Batch, BatchChange, Entry, Evidence, RefusedFact, Workspace
from sessions_app.models import SessionEvent, event_ids
from tests.conftest import GROUP, NOW, Api
from tests.memories.consolidation.buffer.conversations import QUIET, extract, say
from tests.memories.consolidation.extraction.conftest import answering, fact
from tests.memories.lifecycle.conftest import expire
from tests.memories.llm.fake_server import FakeModel, credulous

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(days=1)
SWOLLEN = "No pesto for me: nuts make  me swell up, 真的。"


def quotes(content: str) -> list[str]:
    """The words shown for a fact."""
    entry = Entry.objects.get(type="fact", content=content)
    return [row.quote for row in evidence_of([entry.pk], entry.workspace_id).get(entry.pk, [])]


def test_the_quote_is_stored_by_its_place_in_the_message(api: Api, model: FakeModel) -> None:
    say(api, SWOLLEN, "Noted.", slots={"speaker": "Sam"})
    model.script = [
        {
            "facts": [
                {
                    "content": "Sam is allergic to nuts.",
                    "category": "identity",
                    "importance": 0.9,
                    "quote": [{"message": "m1", "text": "no pesto … “NUTS make me swell up”"}],
                    "subject": "speaker",
                }
            ],
            "summary": "",
        }
    ]
    assert extract()["verified"] == 1
    rows = list(Evidence.objects.all())
    assert [row.quote for row in rows] == ["No pesto", "nuts make  me swell up"]
    (message,) = set(event_ids(row.origin for row in rows))
    event = SessionEvent.objects.get(pk=message)
    assert [event.content[row.start : row.end] for row in rows] == [row.quote for row in rows]
    assert {(row.speaker, row.at) for row in rows} == {("Sam", NOW)}
    assert {row.origin for row in rows} == set(Entry.objects.get(type="fact").origins)


@pytest.mark.thorough
def test_a_fact_said_by_two_rests_on_the_words_of_both(api: Api, model: FakeModel) -> None:
    say(api, "the office moves to Hangzhou", "Noted.", address=GROUP, slots={"speaker": "Amy"})
    say(api, "是的，五月搬", "Noted.", address={**GROUP, "peer": "u43"}, slots={"speaker": "Ben"})
    model.script = [answering(fact("办公室五月搬到杭州。", "moves to Hangzhou", "五月搬"))]
    extract()
    rows = Evidence.objects.order_by("pk")
    assert [(row.speaker, row.quote) for row in rows] == [("Amy", "moves to Hangzhou"), ("Ben", "五月搬")]
    assert {row.entry.scope.key for row in rows} == {"telegram:mybot:group_g1"}


@pytest.mark.thorough
def test_what_a_person_takes_out_takes_its_words_with_it_until_it_is_restored(api: Api, model: FakeModel) -> None:
    say(api, "nuts make me swell up", "Noted.", slots={"speaker": "Sam"})
    say(api, "my desk is by the window", "Noted.", slots={"speaker": "Sam"}, at=NOW + timedelta(seconds=9))
    model.script = [
        answering(
            fact("Sam is allergic to nuts.", "nuts make me swell up"), fact("Sam's desk is by a window.", "my desk")
        )
    ]
    extract(NOW + 2 * QUIET)
    shown = [quotes("Sam is allergic to nuts."), quotes("Sam's desk is by a window.")]
    assert shown == [["nuts make me swell up"], ["my desk"]]
    entries.expire(Entry.objects.get(type="chat_turn", content__contains="nuts"), now=LATER, actor="user:ann")
    assert [quotes("Sam is allergic to nuts."), quotes("Sam's desk is by a window.")] == [[], ["my desk"]]
    entries.restore(Entry.objects.get(type="chat_turn", content__contains="nuts"), now=LATER, actor="user:ann")
    assert [quotes("Sam is allergic to nuts."), quotes("Sam's desk is by a window.")] == shown


def test_a_turn_that_is_removed_for_good_leaves_no_quote(
    api: Api, model: FakeModel, workspace: Workspace, settings: object
) -> None:
    settings.MEMORY_JOB_PURGE = True  # type: ignore[attr-defined]
    say(api, "nuts make me swell up", "Noted.", slots={"speaker": "Sam"})
    model.script = [answering(fact("Sam is allergic to nuts.", "nuts make me swell up"))]
    extract()
    turn = Entry.objects.get(type="chat_turn")
    Entry.objects.filter(pk=turn.pk).update(expires_at=NOW + timedelta(days=1))
    expire(workspace, now=NOW + timedelta(days=2))
    assert quotes("Sam is allergic to nuts.") == ["nuts make me swell up"]
    over = NOW + timedelta(days=200)
    jobs.purge(workspace.pk, now=over, run="purge:1")
    purge = Batch.objects.get(name="purge")
    batches.apply_batch(batches.approve(purge, actor="user:ann", now=over), now=over)
    assert not Entry.objects.filter(type="chat_turn").exists()
    assert not Evidence.objects.exists()
    assert not BatchChange.objects.filter(draft__has_key="evidence").exists()
    assert Entry.objects.get(type="fact").content == "Sam is allergic to nuts."


def test_what_was_refused_is_told_with_the_reason_the_model_and_the_run(api: Api, model: FakeModel) -> None:
    say(api, "nuts make me swell up", "Noted.", slots={"speaker": "Sam"})
    model.otherwise = answering(
        fact("Sam runs v2.3.1-rc4.", "nuts make me"), fact("Sam likes nuts.", "nuts"), fact("Sam is allergic.", "nuts")
    )
    model.verdicts = {"Sam likes nuts.": "not_stated"}
    counts = extract()
    assert (counts["facts"], counts["refused"]) == (1, 2)
    build, likes = RefusedFact.objects.order_by("-content")
    assert (build.reason, likes.reason) == (Refusal.CODE, Refusal.NOT_STATED)
    assert (likes.content, likes.quote, likes.model, likes.purpose) == ("Sam likes nuts.", "nuts", "small", "extract")
    made = Batch.objects.get()
    assert (build.run, likes.scope) == (made.run, made.scope)
    assert build.origins == Entry.objects.get(type="fact").origins
    assert (build.created_at, made.cost["refused"]) == (NOW + QUIET, 2)


def test_a_quote_no_database_takes_is_refused_and_told(api: Api, model: FakeModel) -> None:
    say(api, "nuts make me swell up", "Noted.", slots={"speaker": "Sam"})
    bad = {"category": "identity", "importance": 0.9, "content": "Sam is allergic to nuts."}
    quoted = [{"message": "m1", "text": "nuts\0 make me ill"}]
    model.otherwise = {"facts": [bad | {"quote": quoted}], "summary": ""}
    counts = extract()
    assert (counts["refused"], counts["parked"], counts["failed"]) == (1, 0, 0)
    assert RefusedFact.objects.get().quote == "nuts make me ill"


@pytest.mark.thorough
def test_a_quoted_fact_never_rewords_a_verified_one(api: Api, model: FakeModel) -> None:
    sure = "The office coffee machine needs fresh filters and clean water every single morning"
    text = "The office coffee machine needs fresh filters and clean water every single morning please"
    say(api, sure, "Noted.")
    model.script = [answering(fact(sure))]
    extract()
    say(api, text, "Noted.", at=LATER)
    model.reader = credulous
    model.script = [answering(fact(text))]
    extract(LATER + QUIET)
    kept = dict(Entry.objects.live().filter(type="fact").values_list("content", "verification"))
    assert kept == {sure: Verification.VERIFIED, text: Verification.QUOTED}
    model.reader = model.honest
    say(api, text, "Noted.", at=LATER + timedelta(hours=1))
    model.script = [answering(fact(text))]
    extract(LATER + timedelta(hours=2))
    kept = dict(Entry.objects.live().filter(type="fact").values_list("content", "verification"))
    assert kept[text] == Verification.VERIFIED  # read now, and borne out

"""Operators see what a model's facts rest on, what was refused and why, and how each model does (D5)."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories import entries
from memories.admin.refused_facts import figures_of_models
from memories.choices import BatchState, BatchVerb, ChangeState, Reading, Refusal, Verification
from memories.models import Batch, BatchChange, Entry, ExtractionBatch, RefusedFact, Scope, Workspace
from sessions_app.models import Session, SessionEvent
from tests.conftest import Api, make_scope
from tests.memories.admin.conftest import enter, make_user
from tests.memories.consolidation.buffer.conversations import QUIET, extract, say
from tests.memories.consolidation.extraction.conftest import answering, fact
from tests.memories.consolidation.extraction.conftest import model as model
from tests.memories.llm.fake_server import FakeModel
from tests.memories.quoting import fact_of_model, quoted_words, refuse

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice(workspace: Workspace) -> Client:
    return enter(make_user("alice", workspace=workspace, is_staff=True))


def page(client: Client, name: str, *args: int, **asked: str) -> Any:
    answer = client.get(reverse(f"admin:memories_{name}", args=args), asked)
    assert answer.status_code == 200
    return answer


def run_of(workspace: Workspace, run: str = "extract:1", model: str = "qwen3", **cost: Any) -> Batch:
    """A batch of a model, as extraction leaves it."""
    return Batch.objects.create(
        workspace=workspace, name="extract", run=run, actor="job:extract", state=BatchState.APPLIED,
        created_at=timezone.now(), cost={"model": model, **cost},
    )  # fmt: skip


def test_the_page_of_a_fact_shows_its_words_and_leads_to_the_message(alice: Client, api: Api) -> None:
    say(api, "nuts make me swell up, so no pesto for me", "Noted.")
    scope, message = Scope.objects.get(), SessionEvent.objects.earliest("pk")
    words = quoted_words("nuts make me swell up", speaker="Sam")
    words = type(words)(**{**vars(words), "origin": Session.objects.get().origin_of(message)})
    shown = page(alice, "entry_change", fact_of_model(scope, "Sam is allergic to nuts.", words).pk)
    (line,) = shown.context["evidence"]
    assert line.quote.quote == "nuts make me swell up" and line.url.endswith(f"#m{message.position}")
    assert "It rests on these words alone" in shown.content.decode() and line.url.replace("&", "&amp;") in (
        shown.content.decode()
    )
    assert alice.get(line.url).status_code == 200


def test_words_whose_message_is_gone_stand_without_a_link(alice: Client, scope: Scope) -> None:
    shown = page(alice, "entry_change", fact_of_model(scope, "用户对花生过敏。", "我一吃花生就起疹子").pk)
    (line,) = shown.context["evidence"]
    assert line.url == "" and "我一吃花生就起疹子" in shown.content.decode()


def test_what_people_wrote_has_no_place_for_words(alice: Client, api: Api) -> None:
    say(api, "I moved to Hangzhou", "Noted.")
    assert "The words it rests on" not in page(alice, "entry_change", Entry.objects.get().pk).content.decode()


def test_facts_are_found_by_how_well_they_are_borne_out(alice: Client, scope: Scope) -> None:
    fact_of_model(scope, "Sam is allergic to nuts.", "nuts make me ill")
    fact_of_model(scope, "Sam plays go.", quoted_words("I play go", event=3), verification=Verification.VERIFIED)
    for verification, content in (("quoted", "Sam is allergic to nuts."), ("verified", "Sam plays go.")):
        listed = page(alice, "entry_changelist", verification=verification).context["cl"].result_list
        assert [entry.content for entry in listed] == [content]
    assert not page(alice, "entry_changelist", verification="none").context["cl"].result_list


@pytest.mark.thorough
def test_refused_facts_are_listed_filtered_and_searched(alice: Client, workspace: Workspace, scope: Scope) -> None:
    refuse(workspace, "Sam plays chess", quote="I play go", scope=scope, at=timezone.now(), reason=Refusal.SUBJECT)
    refuse(workspace, "山姆住在上海", quote="我住在杭州", model="glm4", purpose="flush", at=timezone.now())
    listed = page(alice, "refusedfact_changelist")
    text = listed.content.decode()
    for content in ("Sam plays chess", "I play go", "The words speak of somebody else.", "山姆住在上海"):
        assert content in text
    for asked, found in (
        ({"model": "glm4"}, "山姆住在上海"),
        ({"reason__exact": "subject"}, "Sam plays chess"),
        ({"job": "flush"}, "山姆住在上海"),
        ({"q": "杭州"}, "山姆住在上海"),
        ({"q": "play go"}, "Sam plays chess"),
    ):
        rows = page(alice, "refusedfact_changelist", **asked).context["cl"].result_list
        assert [row.content for row in rows] == [found], asked


def test_a_refused_fact_can_be_read_and_not_changed(alice: Client, workspace: Workspace) -> None:
    row = refuse(workspace, "Sam plays chess", quote="I play go")
    assert "I play go" in page(alice, "refusedfact_change", row.pk).content.decode()
    alice.post(reverse("admin:memories_refusedfact_change", args=[row.pk]), {"content": "x"})
    assert RefusedFact.objects.get().content == "Sam plays chess"


def test_a_stranger_sees_neither_refused_facts_nor_figures(stranger: Workspace, workspace: Workspace) -> None:
    refuse(workspace, "Sam plays chess", at=timezone.now())
    run_of(workspace, verified=3)
    charlie = enter(make_user("charlie", workspace=stranger, is_staff=True))
    listed = page(charlie, "refusedfact_changelist")
    assert listed.context["models"] == [] and "Sam plays chess" not in listed.content.decode()


def test_the_page_of_a_batch_tells_what_its_run_did_not_keep_and_how_it_was_read(
    alice: Client, workspace: Workspace
) -> None:
    batch = run_of(workspace, verified=2, quoted=1, read=4, decoys=3, decoys_passed=1, refused=1)
    refuse(workspace, "Sam plays chess", quote="I play go", reason=Refusal.NOT_STATED)
    refuse(workspace, "of another run", run="extract:2")
    text = page(alice, "batch_change", batch.pk).content.decode()
    for content in ("Sam plays chess", "I play go", "The second reading says that the words do not state it."):
        assert content in text
    for name in (
        "verified facts",
        "statements read a second time",
        "decoys for the second reading",
        "decoys it believed",
    ):
        assert name in text
    assert "of another run" not in text


def test_the_figures_of_a_model_tell_what_became_of_its_facts(workspace: Workspace, scope: Scope) -> None:
    now = timezone.now()
    batch = run_of(workspace, verified=2, quoted=1, decoys=3, decoys_passed=0)
    run_of(workspace, "extract:2", verified=1, decoys=3, decoys_passed=2)
    run_of(workspace, "extract:3", "glm4", quoted=1)
    for reason in (Refusal.NO_QUOTE, Refusal.NO_QUOTE, Refusal.SUBJECT):
        refuse(workspace, "x", reason=reason, at=now)
    refuse(workspace, "long ago", at=now - 2 * (now - now.replace(year=now.year - 1)))
    gone = fact_of_model(scope, "Sam plays go.", "I play go")
    BatchChange.objects.create(
        workspace=workspace, batch=batch, position=1, verb=BatchVerb.CREATE, entry=gone, state=ChangeState.APPLIED
    )
    entries.expire(gone, now=now, actor="user:alice")
    first, second = figures_of_models(None, now)
    assert (first.model, first.offered, first.verified, first.quoted, first.refused) == ("qwen3", 7, 3, 1, 3)
    assert [count for _label, count in first.reasons] == [2, 1]
    assert (first.taken_back, first.decoys, first.decoys_passed) == (1, 6, 2)
    assert (second.model, second.offered, second.taken_back) == ("glm4", 1, 0)


def test_what_an_extraction_keeps_and_refuses_is_in_the_figures_of_its_model(
    alice: Client, api: Api, model: FakeModel, settings: Any
) -> None:
    settings.TEST_CLOCK = True
    now = timezone.now()
    say(api, "nuts make me swell up, so no pesto for me", "Noted.", at=now)
    model.otherwise = answering(
        fact("User is allergic to nuts.", "nuts make me swell up"), fact("User owns 47 boats.", "no pesto for me")
    )
    model.verdicts = {"User owns 47 boats.": Reading.NOT_STATED}
    extract(now + QUIET)
    assert not ExtractionBatch.objects.exists()
    (shown,) = page(alice, "refusedfact_changelist").context["models"]
    assert (shown.offered, shown.verified, shown.quoted, shown.refused) == (2, 1, 0, 1)
    batch = Batch.objects.latest("pk")
    assert "User owns 47 boats." in page(alice, "batch_change", batch.pk).content.decode()


def test_home_tells_of_a_second_reading_that_was_not_believed(alice: Client, workspace: Workspace) -> None:
    run_of(workspace, decoys=3, decoys_passed=1)
    run_of(make_scope(Workspace.objects.create(name="Charlie's")).workspace, "extract:9", decoys=3, decoys_passed=1)
    texts = [item.text for item in alice.get(reverse("admin:index")).context["items"]]
    assert "The second reading was not believed in 1 run of the last day" in texts

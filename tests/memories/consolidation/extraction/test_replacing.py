"""Facts that contradict: the newer takes the place of the older, or a person is asked (D5, F4)."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memories import batches, entries
from memories.choices import BatchState, BatchVerb, LinkKind
from memories.models import Batch, Entry, Link, Scope
from tests.conftest import NOW, TELEGRAM, Api, make_draft
from tests.memories.consolidation.buffer.conversations import QUIET, extract, say
from tests.memories.consolidation.extraction.conftest import answering, fact
from tests.memories.language import side_by_side
from tests.memories.llm.fake_server import Asked, FakeModel

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(days=1)


@pytest.fixture
def talk(api: Api, model: FakeModel) -> Any:
    """Something is said, and the model finds these facts in it."""

    def talked(*facts: dict[str, Any], at: Any = NOW, sentence: str = "", said_at: str | None = None) -> dict[str, int]:
        words = sentence or " ".join(fact["content"] for fact in facts)
        say(api, words, "Noted.", at=at, said_at=said_at)
        model.script = [answering(*({**fact, "on": (words[:20],)} for fact in facts))]
        return extract(at + QUIET)

    return talked


def live() -> set[str]:
    return set(Entry.objects.live().filter(type="fact").values_list("content", flat=True))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("old", "new"),
    [("The port of staging is 8080.", "The port of staging is 9090."), ("米娅住在上海。", "米娅搬到了杭州。")],
)
def test_the_newer_takes_the_place_of_the_older_with_a_link_and_dates(talk: Any, old: str, new: str) -> None:
    talk(fact(old))
    assert talk(fact(new, replaces=old), at=LATER)["replaced"] == 1
    assert live() == {new}
    was, becomes = Entry.objects.filter(type="fact").order_by("pk")
    assert (was.superseded_by, was.created_at, becomes.created_at) == (becomes, NOW, LATER)
    link = Link.objects.get(kind=LinkKind.SUPERSEDES)
    assert (link.from_entry, link.to_entry) == (becomes, was)


@pytest.mark.thorough
def test_both_are_one_batch_and_taken_back_together(talk: Any) -> None:
    talk(fact("The port of staging is 8080."))
    talk(fact("The port of staging is 9090.", replaces="8080"), at=LATER)
    made = Batch.objects.order_by("-pk")[0]
    assert made.counts == {"create": 1, "supersede": 1, "tell": 1}
    batches.apply_batch(batches.plan_undo(made, actor="user:ann", now=LATER), now=LATER + QUIET)
    assert live() == {"The port of staging is 8080."}


@pytest.mark.thorough
def test_what_may_both_be_true_stays(talk: Any) -> None:
    talk(fact("Mia likes tea."), fact("Mia has a cat."))
    counts = talk(fact("Mia likes coffee."), fact("Mia has a dog."), at=LATER)
    assert (counts["replaced"], counts["proposed"]) == (0, 0)
    assert len(live()) == 4


@pytest.mark.thorough
def test_what_is_doubtful_waits_for_a_person(talk: Any) -> None:
    talk(fact("小王喝咖啡"))
    assert talk(fact("小王不喝咖啡"), at=LATER)["proposed"] == 1
    assert live() == {"小王喝咖啡", "小王不喝咖啡"}
    waiting = Batch.objects.get(state=BatchState.PROPOSED)
    assert waiting.held_because == [{"code": "contradicted", "rows": 1}]
    assert batches.approval_reasons(waiting)[0].startswith("Something said at another time contradicts 1 memories")
    batches.apply_batch(batches.approve(waiting, actor="user:ann", now=LATER), now=LATER)
    assert live() == {"小王不喝咖啡"}


@pytest.mark.thorough
def test_it_is_asked_once_however_often_it_is_said(talk: Any) -> None:
    talk(fact("Alice likes tea."))
    talk(fact("Alice does not like tea."), at=LATER)
    counts = talk(
        fact("Alice doesn't like tea at all, not any tea."), fact("Alice does not like tea."), at=LATER + QUIET * 2
    )
    assert counts["proposed"] == 0
    assert Batch.objects.filter(state=BatchState.PROPOSED).count() == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Mia lives in Porto.", "Mia bought a red bike."),
        ("Mia likes tea.", "Mia likes coffee."),
        ("Room 12 is free.", "Room 14 is free."),
        ("米娅住在上海。", "米娅买了一辆红色自行车。"),
        ("大女儿会游泳。", "小女儿会游泳。"),
    ],
)
@pytest.mark.parametrize("reading", ["not_stated", "entailed"])
def test_what_a_model_names_and_its_reader_finds_true_beside_it_is_neither_replaced_nor_asked_about(
    talk: Any, model: FakeModel, old: str, new: str, reading: str
) -> None:
    talk(fact(old))
    model.verdicts = {old: reading}
    counts = talk(fact(new, replaces=old), at=LATER)
    assert (counts["facts"], counts["replaced"], counts["proposed"]) == (1, 0, 0)
    assert live() == {old, new}


def test_what_a_model_names_and_its_reader_cannot_tell_is_asked(talk: Any, model: FakeModel) -> None:
    talk(fact("Mia likes tea."))
    model.verdicts = {"Mia likes tea.": "unsure"}
    counts = talk(fact("Mia likes coffee.", replaces="tea"), at=LATER)
    assert (counts["replaced"], counts["proposed"]) == (0, 1)
    assert live() == {"Mia likes tea.", "Mia likes coffee."}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("old", "new"),
    [("The port of staging is 8080.", "The port of staging is 9090."), ("米娅住在上海。", "米娅搬到了杭州。")],
)
def test_words_alone_replace_nothing_and_ask_a_person(talk: Any, old: str, new: str) -> None:
    talk(fact(old))
    counts = talk(fact(new), at=LATER)
    assert (counts["replaced"], counts["proposed"]) == (0, 1)
    assert live() == {old, new}


def test_where_reader_and_words_agree_it_is_replaced(talk: Any, model: FakeModel) -> None:
    talk(fact("米娅住在上海。"))
    model.verdicts = {"米娅住在上海。": "contradicted"}
    assert talk(fact("米娅搬到了杭州。"), at=LATER)["replaced"] == 1
    assert live() == {"米娅搬到了杭州。"}


@pytest.mark.thorough
@pytest.mark.parametrize("side", [0, 1], ids=["one after the other", "the other after the one"])
def test_true_facts_about_things_side_by_side_neither_replace_each_other_nor_ask(talk: Any, side: int) -> None:
    """Rooms, accounts, children, floors: a number, an ordinal or a name in the subject belongs to the subject."""
    pairs = side_by_side.pairs()[::7]
    for n, contents in enumerate([*zip(*pairs, strict=True)][:: 1 if side == 0 else -1]):
        for start in range(0, len(contents), 10):
            at = NOW + timedelta(days=n, minutes=10 * start)
            counts = talk(*map(fact, dict.fromkeys(contents[start : start + 10])), at=at)
            assert (counts["replaced"], counts["proposed"]) == (0, 0)
    assert live() == {content for pair in pairs for content in pair}


def test_where_model_and_words_agree_it_is_replaced(talk: Any) -> None:
    talk(fact("Alice likes tea."))
    assert talk(fact("Alice does not like tea.", replaces="likes tea"), at=LATER)["replaced"] == 1
    assert live() == {"Alice does not like tea."}


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["manual", "pinned", "verified"])
def test_what_a_person_wrote_pinned_or_checked_is_replaced_by_a_person(talk: Any, how: str) -> None:
    talk(fact("The port of staging is 8080."), fact("Mia has a cat."))
    entry = Entry.objects.get(content="The port of staging is 8080.", type="fact")
    if how == "manual":
        entries.expire(entry, now=NOW, actor="user:ann", suppress=False)
        draft = make_draft(entry.scope, entry.content, type="fact", tier=2, source="manual", category="config")
        entries.remember(replace(draft, project=entry.project, topic=entry.topic), now=NOW, actor="user:ann")
    else:
        columns = {"pinned": True} if how == "pinned" else {"verified_at": NOW, "verified_by": "ann"}
        entries.update(entry, entries.Edit(columns=columns), now=NOW, actor="user:ann")
    counts = talk(fact("The port of staging is 9090."), at=LATER)
    assert (counts["replaced"], counts["proposed"]) == (0, 1)
    assert {"The port of staging is 8080.", "The port of staging is 9090."} <= live()


@pytest.mark.thorough
def test_what_was_said_earlier_and_heard_later_replaces_nothing(talk: Any) -> None:
    talk(fact("The port of staging is 9090."), at=LATER)
    counts = talk(fact("The port of staging is 8080."), at=LATER + QUIET * 2, said_at=NOW.isoformat())
    assert (counts["replaced"], counts["proposed"]) == (0, 1)
    change = Batch.objects.get(state=BatchState.PROPOSED).changes.get()
    assert (change.verb, change.entry.content) == (BatchVerb.SUPERSEDE, "The port of staging is 8080.")


@pytest.mark.parametrize(("reading", "kept"), [("contradicted", {"9090"}), ("not_stated", {"8080", "9090"})])
def test_of_what_was_corrected_at_once_only_the_correction_is_kept(
    api: Api, model: FakeModel, reading: str, kept: set[str]
) -> None:
    say(api, "The port of staging is 8080.", "Noted.")
    say(api, "Sorry, the port of staging is 9090.", "Noted.", at=NOW + timedelta(minutes=1))
    model.script = [answering(fact("The port of staging is 8080."), fact("The port of staging is 9090.", "9090"))]

    def read(asked: Asked) -> dict[str, Any]:
        """What one says of the port its own words bear out; by the other's it is as the test has it."""

        def verdict(claim: dict[str, Any]) -> str:
            port = claim["statement"].removeprefix("The port of staging is ").rstrip(".")
            quoted = " ".join(quote["text"] for quote in claim["quotes"])
            if port not in ("8080", "9090"):
                return "not_stated"
            return "entailed" if port in quoted else reading

        return {"verdicts": [{"id": claim["id"], "verdict": verdict(claim)} for claim in asked.data["claims"]]}

    model.reader = read
    assert extract(NOW + QUIET * 2)["corrected"] == 2 - len(kept)
    assert live() == {f"The port of staging is {port}." for port in kept}


@pytest.mark.thorough
def test_another_project_and_another_memory_are_not_touched(talk: Any, api: Api, model: FakeModel) -> None:
    talk(fact("The port of staging is 8080.", project="Atlas"))
    assert talk(fact("The port of staging is 9090.", project="Borea"), at=LATER)["replaced"] == 0
    other = {**TELEGRAM, "peer": "u43", "chat": "c8"}
    say(api, "The port of staging is 7070.", "", at=LATER + QUIET, address=other)
    model.script = [answering(fact("The port of staging is 7070.", project="Atlas"))]
    assert extract(LATER + QUIET * 2)["replaced"] == 0
    assert len(live()) == 3
    assert Scope.objects.count() == 2


@pytest.mark.thorough
def test_one_conversation_that_would_replace_many_asks_first(talk: Any) -> None:
    names = [f"service {'abcdefghijk'[n] * 4}" for n in range(11)]
    talk(*(fact(f"The port of {name} is 8080.") for name in names))
    counts = talk(*(fact(f"The port of {name} is 9090.", replaces=name) for name in names), at=LATER)
    assert (counts["replaced"], counts["proposed"]) == (0, 11)
    assert len(live()) == 22


@pytest.mark.thorough
def test_what_the_safety_limit_holds_is_what_would_be_replaced_and_not_what_is_new(talk: Any, settings: Any) -> None:
    """Models that replace too much in thirty days: from then on a person decides, and nothing else waits for that."""
    settings.MEMORY_SAFETY_LIMIT_ROWS, settings.MEMORY_SAFETY_LIMIT_WINDOW_SHARE = 1, 0.0
    talk(fact("The port of staging is 8080."))
    assert talk(fact("The port of staging is 9090.", replaces="8080"), at=LATER)["replaced"] == 1
    counts = talk(fact("The port of staging is 7070.", replaces="9090"), fact("米娅住在杭州。"), at=LATER + QUIET * 2)
    assert (counts["facts"], counts["events"], counts["replaced"], counts["proposed"]) == (2, 1, 0, 1)
    assert live() == {"The port of staging is 9090.", "The port of staging is 7070.", "米娅住在杭州。"}
    waiting = Batch.objects.get(state=BatchState.PROPOSED)
    assert waiting.counts == {"supersede": 1}
    batches.apply_batch(batches.approve(waiting, actor="user:ann", now=LATER), now=LATER)
    assert live() == {"The port of staging is 7070.", "米娅住在杭州。"}


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["refused", "taken out of the plan", "approved and undone"])
def test_what_a_person_decided_against_is_not_proposed_again(talk: Any, how: str) -> None:
    talk(fact("Alice likes tea."))
    assert talk(fact("Alice does not like tea."), at=LATER)["proposed"] == 1
    batch = Batch.objects.get(state=BatchState.PROPOSED)
    if how == "refused":
        batches.refuse(batch, actor="user:ann", now=LATER)
    elif how == "taken out of the plan":
        batches.remove_steps(batch, [1])
        batches.apply_batch(batches.approve(batch, actor="user:ann", now=LATER), now=LATER)
    else:
        done = batches.apply_batch(batches.approve(batch, actor="user:ann", now=LATER), now=LATER)
        batches.apply_batch(batches.plan_undo(done, actor="user:ann", now=LATER), now=LATER)
    for n, (words, named) in enumerate([("Alice does not like tea.", ""), ("Alice doesn't like tea!", "likes tea")], 2):
        counts = talk(fact(words, replaces=named), at=NOW + timedelta(days=n))
        assert (counts["replaced"], counts["proposed"]) == (0, 0), words
    assert "Alice likes tea." in live()


@pytest.mark.thorough
def test_what_a_job_took_back_by_itself_is_proposed_again(talk: Any) -> None:
    talk(fact("Alice likes tea."))
    talk(fact("Alice does not like tea."), at=LATER)
    batches.refuse(Batch.objects.get(state=BatchState.PROPOSED), actor="job:extract", now=LATER)
    assert talk(fact("Alice does not like tea."), at=LATER + QUIET * 2)["proposed"] == 1


@pytest.mark.thorough
def test_other_news_of_what_a_person_decided_on_is_proposed(talk: Any, model: FakeModel) -> None:
    talk(fact("Alice likes tea."))
    talk(fact("Alice does not like tea."), at=LATER)
    batches.refuse(Batch.objects.get(state=BatchState.PROPOSED), actor="user:ann", now=LATER)
    model.verdicts = {"Alice likes tea.": "unsure"}
    assert talk(fact("Alice never drinks tea any more.", replaces="likes tea"), at=LATER + QUIET * 2)["proposed"] == 1


@pytest.mark.thorough
def test_a_replacement_a_person_undid_is_not_made_again(talk: Any) -> None:
    talk(fact("米娅住在上海。"))
    assert talk(fact("米娅搬到了杭州。", replaces="上海"), at=LATER)["replaced"] == 1
    done = Batch.objects.order_by("-pk")[0]
    batches.apply_batch(batches.plan_undo(done, actor="user:ann", now=LATER), now=LATER)
    counts = talk(fact("米娅搬到了杭州。", replaces="上海"), at=LATER + QUIET * 2)
    assert (counts["replaced"], counts["proposed"]) == (0, 0)
    assert "米娅住在上海。" in live()


@pytest.mark.thorough
def test_what_is_older_than_a_known_fact_is_asked_once(talk: Any) -> None:
    talk(fact("The port of staging is 9090."), at=LATER)
    talk(fact("The port of staging is 8080."), at=LATER + QUIET * 2, said_at=NOW.isoformat())
    batches.refuse(Batch.objects.get(state=BatchState.PROPOSED), actor="user:ann", now=LATER)
    counts = talk(fact("The port of staging is 8080."), at=LATER + QUIET * 4, said_at=NOW.isoformat())
    assert counts["proposed"] == 0

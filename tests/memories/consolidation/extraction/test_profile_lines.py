"""A line of the profile that a verified fact makes untrue leaves the prompt at once, and waits for a decision (D1)."""

from datetime import timedelta
from typing import Any

import pytest

from memories import batches, entries
from memories.choices import BatchState
from memories.models import Batch, Entry, Policy, Scope
from memories.models.change import acting
from memories.recall import Query, SearchScope
from memories.recall.answer import profile_of
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, Api, make_draft
from tests.memories.consolidation.buffer.conversations import QUIET, extract, say
from tests.memories.consolidation.extraction.conftest import answering, fact
from tests.memories.llm.fake_server import Asked, FakeModel, credulous
from tests.support.conversations import ProfileLine, load

pytestmark = pytest.mark.django_db
OUTDATED, COMPATIBLE = load("outdated"), load("compatible")
LATER = NOW + timedelta(days=1)
CONTRADICTED = {"code": "contradicted", "rows": 1}
OLD, NEW = "蒋涛单身。", "蒋涛2026年6月6日和林可领了结婚证。"


def knowing(request: Asked) -> dict[str, Any]:
    """A reader that knows which line is outdated by which fact."""
    contradicted = {(item.line, item.fact) for item in OUTDATED}
    news = {item.fact for item in (*OUTDATED, *COMPATIBLE)}

    def verdict(claim: dict[str, Any]) -> str:
        quoted = {quote["text"].rstrip(".。") for quote in claim["quotes"]}
        if any((claim["statement"], new) in contradicted for new in news if new.rstrip(".。") in quoted):
            return "contradicted"
        return "entailed" if claim["statement"].rstrip(".。") in quoted and claim["statement"] in news else "not_stated"

    return {"verdicts": [{"id": claim["id"], "verdict": verdict(claim)} for claim in request.data["claims"]]}


def hear(api: Api, model: FakeModel, words: str, *, at: Any = LATER, replaces: str = "") -> dict[str, int]:
    say(api, words, "Noted.", at=at)
    model.script = [answering(fact(words, replaces=replaces))]
    return extract(at + QUIET)


@pytest.fixture
def scope_of(api: Api, model: FakeModel) -> Scope:
    """The memory of whoever speaks."""
    hear(api, model, "The kettle is green.", at=NOW)
    return Entry.objects.get(type="fact").scope


def write(scope: Scope, content: str, **kwargs: Any) -> Entry:
    plain = {
        "type": "fact",
        "tier": 1,
        "source": "compression",
        "category": "identity",
        "project": "_global",
        "at": NOW,
    }
    return entries.remember(make_draft(scope, content, **(plain | kwargs)), now=NOW, actor="job:compress").entry


def profile(scope: Scope) -> set[str]:
    scope.refresh_from_db()
    place = SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))
    query = Query(workspace_id=scope.workspace_id, places=[place], message="?", limit=8)
    policies = Policy.objects.of(scope.workspace_id)
    return {item.content for item in profile_of(query, policies, now=LATER + timedelta(days=40))}


def prompt_lines(scope: Scope, api: Api, model: FakeModel, pairs: tuple[ProfileLine, ...], *, named: bool) -> set[str]:
    """What the prompt still holds of these lines when their facts were said."""
    lines = {write(scope, pair.line).content for pair in pairs}
    model.reader = knowing
    for n, one in enumerate(pairs, start=1):
        at = LATER + n * timedelta(hours=1)
        assert hear(api, model, one.fact, at=at, replaces=one.line if named else "")["verified"] == 1
    return profile(scope) & lines


@pytest.mark.thorough
@pytest.mark.parametrize("named", [True, False], ids=["the model names it", "the model does not"])
def test_every_outdated_line_leaves_the_prompt(scope_of: Scope, api: Api, model: FakeModel, named: bool) -> None:
    assert prompt_lines(scope_of, api, model, OUTDATED, named=named) == set()
    waiting = Batch.objects.filter(name="profile-doubts", state=BatchState.PROPOSED)
    gone = Entry.objects.filter(tier=1, superseded_by__isnull=False).count()
    assert sum(batch.changes.count() for batch in waiting) + gone == len(OUTDATED) == 22


@pytest.mark.thorough
def test_every_line_that_is_true_beside_it_stays(scope_of: Scope, api: Api, model: FakeModel) -> None:
    assert len(prompt_lines(scope_of, api, model, COMPATIBLE, named=False)) == len(COMPATIBLE) == 10


@pytest.mark.thorough
@pytest.mark.parametrize("reader", ["credulous", "none"])
def test_what_is_only_quoted_contradicts_nothing(
    scope_of: Scope, api: Api, model: FakeModel, settings: Any, reader: str
) -> None:
    write(scope_of, "Abel lives in Tallinn.")
    settings.MEMORY_VERIFY = reader != "none"
    model.reader = credulous
    hear(api, model, "Abel moved to Tartu on 2 June 2026.", replaces="Abel lives in Tallinn.")
    assert Entry.objects.get(content="Abel moved to Tartu on 2 June 2026.", type="fact").verification == "quoted"
    assert profile(scope_of) == {"Abel lives in Tallinn."}
    assert not Batch.objects.filter(state=BatchState.PROPOSED).exists()


@pytest.mark.thorough
def test_its_correction_stands_beside_it_until_a_person_decides(scope_of: Scope, api: Api, model: FakeModel) -> None:
    old = write(scope_of, OLD)
    model.reader = knowing
    hear(api, model, NEW)
    assert (profile(scope_of), Entry.objects.get(pk=old.pk).is_live()) == (set(), True)
    waiting = Batch.objects.get(name="profile-doubts")
    assert (waiting.counts, waiting.held_because) == ({"supersede": 1}, [CONTRADICTED])
    hear(api, model, NEW, at=LATER + timedelta(hours=2))
    assert Batch.objects.filter(name="profile-doubts").count() == 1
    batches.apply_batch(batches.approve(waiting, actor="user:ann", now=LATER), now=LATER)
    superseded = Entry.objects.get(pk=old.pk).superseded_by
    assert superseded is not None and superseded.content == NEW


@pytest.mark.thorough
@pytest.mark.parametrize("data", [{"pinned": True}, {"source": "manual"}])
def test_what_a_person_wrote_or_pinned_is_replaced_by_a_person(
    scope_of: Scope, api: Api, model: FakeModel, data: dict[str, Any]
) -> None:
    write(scope_of, OLD, **data)
    model.reader = knowing
    hear(api, model, NEW, replaces=OLD)
    line = Entry.objects.get(content=OLD, tier=1)
    assert line.is_live()
    assert (OLD in profile(scope_of)) == line.pinned
    assert Batch.objects.filter(state=BatchState.PROPOSED).count() == 1


@pytest.mark.thorough
def test_a_pinned_line_and_a_free_one_of_one_conversation_are_both_asked_about(
    scope_of: Scope, api: Api, model: FakeModel
) -> None:
    other = next(one for one in OUTDATED if one.line != OLD)
    write(scope_of, OLD, pinned=True)
    write(scope_of, other.line)
    model.reader = knowing
    for words in (NEW, other.fact):
        say(api, words, "Noted.", at=LATER)
    model.script = [answering(fact(NEW, replaces=OLD), fact(other.fact))]
    extract(LATER + QUIET)
    waiting = Batch.objects.filter(state=BatchState.PROPOSED).order_by("name")
    held = [
        (batch.name, batch.changes.get().entry.content, batch.held_because.count(CONTRADICTED)) for batch in waiting
    ]
    assert held == [("extract", OLD, 1), ("profile-doubts", other.line, 1)]


def test_a_line_goes_with_the_fact_it_rests_on(scope_of: Scope, api: Api, model: FakeModel) -> None:
    result = write(scope_of, "The port of staging is 8080.", tier=2, source="extraction", verification="verified")
    line = write(scope_of, "Staging listens on port 8080.")
    entries.link_sources(scope_of, line.pk, [result.pk], now=NOW)
    model.verdicts = {"Staging listens on port 8080.": "not_stated"}
    hear(api, model, "The port of staging is 9090.", replaces="The port of staging is 8080.")
    assert Entry.objects.get(pk=result.pk).superseded_by is not None
    assert profile(scope_of) == set()
    (step,) = Batch.objects.get(name="profile-doubts").changes.all()
    assert (step.entry_id, step.verb) == (line.pk, "supersede")
    batch = Batch.objects.filter(name="extract", counts__supersede=1).get()
    batches.apply_batch(batches.plan_undo(batch, actor="user:ann", now=LATER), now=LATER + timedelta(days=2))
    assert profile(scope_of) == {"Staging listens on port 8080."}  # with the fact the line is true again


def test_a_line_whose_fact_lives_on_in_a_merge_stays(scope_of: Scope) -> None:
    result = write(scope_of, "Mia works at Siemens.", tier=2, source="extraction")
    whole = write(scope_of, "Mia lives in Berlin and works at Siemens.", tier=2)
    line = write(scope_of, "Mia is with Siemens.")
    entries.link_sources(scope_of, line.pk, [result.pk], now=NOW)
    with acting("user:ann"):
        entries.merge(scope_of, whole.pk, {result.pk: None}, now=LATER)
    assert profile(scope_of) == {"Mia is with Siemens."}
    entries.expire(Entry.objects.get(pk=whole.pk), now=LATER, actor="user:ann", suppress=False)
    assert profile(scope_of) == set()


def test_a_person_who_checks_it_has_it_handed_out_again(scope_of: Scope) -> None:
    result = write(scope_of, "Mia works at Siemens.", tier=2, source="extraction")
    line = write(scope_of, "Mia is with Siemens.")
    entries.link_sources(scope_of, line.pk, [result.pk], now=NOW)
    entries.expire(result, now=LATER, actor="user:ann", suppress=False)
    assert profile(scope_of) == set()
    checked = entries.Edit(columns={"verified_at": LATER + timedelta(hours=1), "verified_by": "ann"})
    entries.update(Entry.objects.get(pk=line.pk), checked, now=LATER + timedelta(hours=1), actor="user:ann")
    assert profile(scope_of) == {"Mia is with Siemens."}

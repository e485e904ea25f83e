"""What merges and lines of a careful model become, and what those of a lying one do (D6, D1)."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, time
from typing import Any

import pytest

from memories.consolidation.compression.merging import merge_fault
from memories.models import Entry, Scope
from tests.conftest import NOW
from tests.memories.consolidation.compression.conftest import compress, facts, live, merging_all
from tests.memories.llm.fake_server import Asked, FakeModel, credulous
from tests.support.conversations import Merge, load

pytestmark = pytest.mark.django_db(transaction=True)
MERGES = load("merges")


def stored(scope: Scope, merge: Merge) -> list[Entry]:
    return [
        entry
        for fact in merge.facts
        for entry in facts(scope, fact.content, days_ago=(NOW - datetime.combine(fact.at, time(9), UTC)).days)
    ]


def careful(asked: Asked) -> dict[str, Any]:
    """A reader that knows which texts say what their facts say."""
    good = {merge.good: {fact.content for fact in merge.facts} for merge in MERGES}

    def verdict(claim: dict[str, Any]) -> str:
        statement, quoted = claim["statement"], {quote["text"] for quote in claim["quotes"]}
        says = statement in good and good[statement] <= quoted
        is_kept = any(statement in sources and quoted == {text} for text, sources in good.items())
        return "entailed" if says or is_kept else "not_stated"

    return {"verdicts": [{"id": claim["id"], "verdict": verdict(claim)} for claim in asked.data["claims"]]}


def merges(scope: Scope, model: FakeModel, texts: Iterable[tuple[Merge, str]]) -> set[str]:
    """What of these texts stands in the place of its facts after a run."""
    chosen = list(texts)
    for merge, _text in chosen:
        stored(scope, merge)
    model.otherwise = merging_all({text: [fact.content for fact in merge.facts] for merge, text in chosen})
    compress(scope)
    sources = {fact.content for merge, _text in chosen for fact in merge.facts}
    return live(scope) & {text for _merge, text in chosen} - sources


@pytest.mark.thorough
def test_good_merges_are_applied_by_themselves(scope: Scope, model: FakeModel) -> None:
    model.reader = careful
    applied = merges(scope, model, [(merge, merge.good) for merge in MERGES])
    assert (len(MERGES), len(applied)) == (24, 24)


@pytest.mark.thorough
@pytest.mark.parametrize("reader", [careful, credulous])
@pytest.mark.parametrize("turn", [0, 1])
def test_of_merges_that_lie_none_is_applied(
    scope: Scope, model: FakeModel, reader: Callable[[Asked], Any], turn: int
) -> None:
    model.reader = reader
    bad = [(merge, merge.bad[turn]) for merge in MERGES if len(merge.bad) > turn]
    sources = {fact.content for merge, _text in bad for fact in merge.facts}
    assert merges(scope, model, bad) == set()
    assert live(scope) == sources


@pytest.mark.thorough
def test_most_merges_that_lie_need_no_reader(scope: Scope) -> None:
    caught = [text for merge in MERGES for text in merge.bad if merge_fault(stored(scope, merge), text)]
    assert len(caught) >= 29  # of 43

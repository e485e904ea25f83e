"""In a large scope only the rows that lead the ranking have their entries read; what is answered stays the same."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from memories import entries
from memories.index import worker
from memories.models import Entry, Scope
from memories.recall import Query, SearchScope, candidates, recall
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_draft

pytestmark = pytest.mark.django_db
QUESTION = "which jar of honey came from the hills"
JARS = 40


@pytest.fixture(autouse=True)
def small_is_large(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    settings.MEMORY_RECALL_CANDIDATES = 4
    monkeypatch.setattr(candidates, "LEADING_LEAST_ENTRIES", JARS)
    candidates.forget_leading()
    yield
    candidates.forget_leading()


@pytest.fixture
def jar_scope(scope: Scope) -> Scope:
    jars = [(n, "honey" if n % 3 else "jam", "hills" if n % 2 else "sea") for n in range(JARS)]
    drafts = [make_draft(scope, f"Jar number {n} of {what} came from the {place}") for n, what, place in jars]
    entries.remember_many(drafts, now=NOW - timedelta(minutes=5), actor="bot:t")
    worker.drain(now=NOW)
    scope.refresh_from_db()
    return scope


def ask(scope: Scope, message: str = QUESTION, **asked: Any) -> tuple[list[tuple[int, float]], list[str]]:
    """The ranked entries with their scores, and the ranking statements that were sent for them."""
    sent: list[str] = []

    def noted(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "ORDER BY fused" in sql:
            sent.append(sql)
        return execute(sql, params, many, context)

    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))]
    query = Query(workspace_id=scope.workspace_id, places=places, message=message, limit=2, need="off", **asked)
    with connection.execute_wrapper(noted):
        result = recall(query, now=NOW)
    return [(item.entry.pk, item.score) for item in result.ranked], sent


def of_all(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, float]]:
    """The same answer, every entry read."""
    with monkeypatch.context() as patched:
        patched.setattr(candidates, "LEADING_LEAST_ENTRIES", JARS + 1)
        ranked, sent = ask(scope)
    assert "front" not in sent[0]
    return ranked


def test_the_leading_rows_give_the_same_candidates_with_the_same_scores(
    jar_scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranked, sent = ask(jar_scope)
    assert "front" in sent[0]
    assert len(ranked) == 4
    assert ranked == of_all(jar_scope, monkeypatch)


def test_what_is_out_of_use_among_the_leading_gives_way_to_the_next(
    jar_scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = [pk for pk, _score in ask(jar_scope)[0]]
    Entry.objects.filter(pk__in=best[:2]).update(archived_at=NOW)
    ranked, sent = ask(jar_scope)
    assert "front" in sent[0]
    assert len(ranked) == 4
    assert not {pk for pk, _score in ranked} & set(best[:2])
    assert ranked == of_all(jar_scope, monkeypatch)


def test_where_most_of_the_leading_are_out_of_use_every_entry_is_asked_and_next_time_at_once(
    jar_scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("django.conf.settings.MEMORY_RECALL_CANDIDATES", candidates.LEADING_TIMES * 4 - 2)
        nearest = [pk for pk, _score in of_all(jar_scope, monkeypatch)]
    Entry.objects.filter(pk__in=nearest).update(archived_at=NOW)
    ranked, sent = ask(jar_scope)
    assert ["front" in sql for sql in sent[:2]] == [True, False]
    assert len(ranked) == 4
    assert ranked == of_all(jar_scope, monkeypatch)
    again, sent = ask(jar_scope)
    assert "front" not in sent[0]
    assert again == ranked


@pytest.mark.parametrize(
    ("message", "data"),
    [
        (QUESTION, {"types": ["user_explicit"]}),
        (QUESTION, {"mode": "keyword"}),
        (QUESTION, {"mode": "fts"}),
        ("which jar of honey came on 28 Feb 2026?", {}),
    ],
    ids=["of a type", "by words alone", "by full text", "of a day"],
)
def test_what_is_asked_of_the_entries_themselves_is_asked_of_all(
    jar_scope: Scope, message: str, data: dict[str, Any]
) -> None:
    assert "front" not in ask(jar_scope, message, **data)[1][0]


def test_a_small_scope_is_asked_whole(jar_scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    assert of_all(jar_scope, monkeypatch)

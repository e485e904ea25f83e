"""What a question reads of a scope: of all its entries one narrow index, of the best fifty whatever else is told."""

from typing import Any

import pytest
from django.db import connection

from memories import entries
from memories.index import worker
from memories.models import Scope
from memories.recall import Query, SearchScope, recall
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_draft

pytestmark = pytest.mark.django_db
INDEX = "Index Only Scan using entry_live_in_scope on memories_entry e"
#: Of twenty rows any way is as good as another: these are not there, as they are not taken with thousands.
OTHERS = (
    "entry_live_by_age, entry_live_fingerprint, entry_of_scope_by_time, entry_live_core, entry_neighbours,"
    " entry_by_time"
)
OFF = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_nestloop = off"


def plan_of(scope: Scope, message: str, **asked: Any) -> str:
    """How PostgreSQL finds the best when it has no other way to the entries of a scope."""
    plan: list[str] = []

    def explained(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "ORDER BY fused" in sql and not plan:  # the second, where nothing is found, asks what was passed over
            with connection.connection.cursor() as cursor:
                cursor.execute(f"DROP INDEX {OTHERS}; {OFF}")
                plan.extend(row[0] for row in cursor.execute("EXPLAIN " + sql, params).fetchall())
        return execute(sql, params, many, context)

    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))]
    with connection.execute_wrapper(explained):
        recall(Query(workspace_id=scope.workspace_id, places=places, message=message, limit=8, **asked), now=NOW)
    assert plan
    return "\n".join(plan)


@pytest.fixture
def violin_scope(scope: Scope) -> Scope:
    drafts = [
        make_draft(scope, f"Mia played the violin {n} times 米娅拉过{n}次小提琴", slots={"speaker": "mia"})
        for n in range(20)
    ]
    entries.remember_many(drafts, now=NOW, actor="bot:t")
    worker.drain(now=NOW)
    scope.refresh_from_db()
    return scope


@pytest.mark.parametrize(
    "message", ["how often did Mia play the violin?", "米娅昨天拉小提琴了吗？", "what did mia play on 28 Feb 2026?"]
)
def test_of_every_entry_it_reads_one_narrow_index(violin_scope: Scope, message: str) -> None:
    assert INDEX in plan_of(violin_scope, message)


def test_what_only_the_entry_knows_is_read_of_the_entry(violin_scope: Scope) -> None:
    assert INDEX not in plan_of(violin_scope, "how often did Mia play?", topic="music")

"""The entries of a scope that share rare words with a new one are found without reading the others."""

import json

import pytest
from django.db import connection

from memories import entries
from memories.language import text
from memories.models import Entry, Scope, Workspace
from memories.tenancy import row_level_security
from tests.conftest import NOW, acting_as, make_draft, make_scope

pytestmark = pytest.mark.django_db
FUNCTION = "SELECT entry FROM memplatform_entries_sharing(%s, %s, %s)"
MANY = 400


def sharing(scope: Scope, words: str, *, most: int = 50, **more: object) -> list[int]:
    """The ids of the entries of a scope that hold one of these words."""
    wanted = [{"n": 0, "scope": scope.pk, "probe": list(text.terms(words)), **more}]
    with connection.cursor() as cursor:
        cursor.execute(FUNCTION, [scope.workspace_id, json.dumps(wanted), most])
        return [pk for (pk,) in cursor.fetchall()]


def remember(scope: Scope, *contents: str) -> list[Entry]:
    drafts = [make_draft(scope, content) for content in contents]
    return [result.entry for result in entries.remember_many(drafts, now=NOW, actor="test")]


def test_only_entries_of_that_scope_are_found_newest_first(workspace: Workspace) -> None:
    scope, other = make_scope(workspace), make_scope(workspace, "telegram:direct_u2")
    first, _between, last = remember(scope, "The violin is in Porto", "周末去湖边散步", "Bergen has a violin museum")
    remember(other, "Another violin is in Lviv")
    assert sharing(scope, "violin") == [last.pk, first.pk]
    assert sharing(scope, "violin", most=1) == [last.pk]
    assert sharing(scope, "湖边") == [_between.pk]


def test_what_was_taken_out_of_use_is_not_found(workspace: Workspace) -> None:
    scope = make_scope(workspace)
    gone, kept = remember(scope, "The violin is in Porto", "Bergen has a violin museum")
    Entry.objects.filter(pk=gone.pk).update(expired_at=NOW)
    assert sharing(scope, "violin") == [kept.pk]


def test_the_wall_holds_for_what_shares_words(workspace: Workspace, stranger: Workspace) -> None:
    scope = make_scope(workspace)
    (entry,) = remember(scope, "The violin is in Porto")
    with acting_as(row_level_security.WEB_ROLE):
        row_level_security.enter([stranger.pk])
        assert sharing(scope, "violin") == []
        row_level_security.enter([workspace.pk])
        assert sharing(scope, "violin") == [entry.pk]
        row_level_security.leave()
        assert sharing(scope, "violin") == []


def test_the_web_reads_as_little_in_a_large_scope_as_in_a_small_one(workspace: Workspace) -> None:
    small, large = make_scope(workspace), make_scope(workspace, "telegram:direct_u2")
    remember(large, *[f"Note {n} tells of matter {n * 7919}" for n in range(MANY)])
    for scope in (small, large):
        remember(scope, "The violin is in Porto")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE memories_entry")
    with acting_as(row_level_security.WEB_ROLE):
        row_level_security.enter([workspace.pk])
        pages = [pages_read(scope, "violin") for scope in (small, large)]
        row_level_security.leave()
    assert pages[1] <= pages[0] + 3


def pages_read(scope: Scope, words: str) -> int:
    wanted = [{"n": 0, "scope": scope.pk, "probe": list(text.terms(words))}]
    sharing(scope, words)  # its plan is made
    with connection.cursor() as cursor:
        values = [scope.workspace_id, json.dumps(wanted), 50]
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {FUNCTION}", values)
        plan = cursor.fetchone()[0]
    top = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
    return int(top["Shared Hit Blocks"] + top["Shared Read Blocks"])

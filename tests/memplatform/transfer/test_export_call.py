"""GET /export: what a key may export, and that nothing else is in it (F8)."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.db.models import F

from memories import entries
from memories.audit.models import AuditRecord
from memories.choices import Permission
from memories.models import Entry, Workspace
from memories.tenancy import row_level_security
from memplatform.transfer import stream
from memplatform.transfer import stream as calls
from memplatform.transfer.export import Section, export, one_moment
from tests.conftest import GROUP, NOW, TELEGRAM, Api, make_draft, make_key, make_scope

OWN = "telegram:direct_u42"
OTHERS = "telegram:direct_u7"
MINE, NEIGHBOUR, STRANGER = "The kettle is green", "Secret of another scope", "Secret of another workspace"


@pytest.fixture
def as_the_web(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that makes an export has the rights of a web process."""

    @contextmanager
    def moment() -> Iterator[None]:
        with one_moment(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL ROLE {row_level_security.WEB_ROLE}")
            yield

    monkeypatch.setattr(stream, "one_moment", moment)


@pytest.fixture
def filled_workspace(workspace: Workspace, stranger: Workspace) -> Workspace:
    entries.remember_many([make_draft(make_scope(workspace, OWN), MINE)], now=NOW, actor="bot:ann")
    entries.remember_many([make_draft(make_scope(workspace, OTHERS), NEIGHBOUR)], now=NOW, actor="bot:ann")
    entries.remember_many([make_draft(make_scope(stranger, OWN), STRANGER)], now=NOW, actor="bot:ann")
    return workspace


def lines_of(answer: Any) -> list[Any]:
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/x-ndjson")
    return [json.loads(line) for line in b"".join(answer.streaming_content).splitlines()]


@pytest.mark.django_db
def test_only_an_administrator_s_key_exports_and_a_bound_one_only_a_scope_it_reaches(
    filled_workspace: Workspace,
) -> None:
    for permission in (Permission.READ, Permission.WRITE):
        assert Api(make_key(filled_workspace, permissions=[permission])).get("export", scope=OWN).status_code == 403
    assert Api(None).get("export").status_code == 401
    bound = Api(make_key(filled_workspace, scope_patterns=[OWN]))
    nameless = bound.get("export")
    assert (nameless.status_code, nameless.json()["errors"][0]["attr"]) == (400, "scope")
    out_of_reach, unknown = (bound.get("export", scope=key) for key in (OTHERS, "telegram:direct_nobody"))
    assert (out_of_reach.status_code, out_of_reach.content) == (unknown.status_code, unknown.content)
    assert unknown.status_code == 404
    assert bound.get("export", scope=OWN, hidden="yes").json()["errors"][0]["attr"] == "hidden"


@pytest.mark.thorough
@pytest.mark.usefixtures("as_the_web")
@pytest.mark.django_db(transaction=True)
def test_what_is_streamed_is_what_the_command_writes(filled_workspace: Workspace, tmp_path: Path) -> None:
    api = Api(make_key(filled_workspace))
    api.post("turns", {"address": TELEGRAM, "user": "My bakery is closed on Mondays", "assistant": "Noted."})
    result = lines_of(api.get("export", history="true"))
    noted = AuditRecord.objects.get(event="exported")
    assert (noted.actor.partition(":")[0], noted.about, noted.workspace) == (
        "bot",
        filled_workspace.name,
        filled_workspace,
    )
    export(filled_workspace, None, tmp_path / "one", now=NOW, history=True)
    written = [json.loads(line) for line in (tmp_path / "one" / "memory.jsonl").read_text().splitlines()]
    assert [{**line, "at": ""} for line in result] == [{**line, "at": ""} for line in written]
    assert result[-1]["counts"]["message"] == 2
    everything = json.dumps(result)
    assert MINE in everything and NEIGHBOUR in everything and STRANGER not in everything


@pytest.mark.thorough
@pytest.mark.usefixtures("as_the_web")
@pytest.mark.django_db(transaction=True)
def test_a_bound_key_is_told_nothing_of_other_scopes_not_even_their_names(filled_workspace: Workspace) -> None:
    api = Api(make_key(filled_workspace))
    api.post("turns", {"address": {**GROUP, "chat": "hush"}, "user": "My cat is called Rice", "assistant": "Nice."})
    result = lines_of(
        Api(make_key(filled_workspace, scope_patterns=["*direct_u42"])).get("export", scope=OWN, history="true")
    )
    contents = {line["content"] for line in result if line["record"] == "entry"}
    assert MINE in contents and any("Rice" in content for content in contents)
    everything = json.dumps(result)
    assert not [name for name in (NEIGHBOUR, OTHERS, STRANGER, "group_hush") if name in everything]
    assert {"workspace", "policy", "channel"}.isdisjoint(line["record"] for line in result)


@pytest.mark.django_db(transaction=True)
def test_a_statement_of_an_export_may_take_longer_than_one_of_another_call(
    filled_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = Section.pages

    @contextmanager
    def moment() -> Iterator[None]:
        with one_moment(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = '200ms'")
            yield

    def slow(section: Section, *asked: Any) -> Iterator[list[Any]]:
        if section.kind == "entry":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(0.4)")
        yield from pages(section, *asked)

    monkeypatch.setattr(stream, "one_moment", moment)
    monkeypatch.setattr(Section, "pages", slow)
    result = lines_of(Api(make_key(filled_workspace)).get("export"))
    assert (result[-1]["record"], result[-1].get("counts", {}).get("entry")) == ("end", 2)


@pytest.mark.usefixtures("as_the_web")
@pytest.mark.django_db(transaction=True)
def test_the_database_shows_the_stream_no_other_workspace_even_if_nothing_were_asked_for(
    filled_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    everybodys = [Section("entry", Entry.objects.annotate(scope_uid=F("uid"), superseded_by_uid=F("uid")))]
    monkeypatch.setattr(stream, "sections", lambda *_args, **_kwargs: everybodys)
    result = lines_of(Api(make_key(filled_workspace)).get("export"))
    assert {line["content"] for line in result if line["record"] == "entry"} == {MINE, NEIGHBOUR}
    assert not row_level_security.is_inside()


@pytest.mark.django_db(transaction=True)
def test_one_is_read_at_a_time_and_one_nobody_reads_gives_its_place_back(
    filled_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "PAGE", 1)
    api = Api(make_key(filled_workspace))
    first, second = api.get("export"), api.get("export")
    assert (second.status_code, second.json()["errors"][0]["code"]) == (503, "export_busy")
    assert int(second["Retry-After"]) > 0
    first.close()
    assert calls.PLACE.acquire(timeout=30)
    calls.PLACE.release()
    assert lines_of(api.get("export"))[-1]["record"] == "end"


@pytest.mark.django_db(transaction=True)
def test_one_that_fails_is_an_error_at_its_begin_and_without_its_last_line_on_its_way(
    filled_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_args: Any, **_kwargs: Any) -> Any:
        raise DatabaseError("gone")

    api = Api(make_key(filled_workspace))
    monkeypatch.setattr(stream, "sections", fails)
    assert [line["record"] for line in lines_of(api.get("export"))] == ["export"]
    monkeypatch.setattr(stream, "one_moment", fails)
    assert api.get("export").status_code == 500
    assert calls.PLACE.acquire(timeout=30)
    calls.PLACE.release()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("where", "name", "problem"),
    [
        (AuditRecord, "note", DatabaseError("the disk of the database is full")),
        (Thread, "start", RuntimeError("can't start new thread")),
    ],
    ids=["noting", "beginning"],
)
def test_one_that_does_not_even_begin_gives_its_place_back(
    filled_workspace: Workspace, monkeypatch: pytest.MonkeyPatch, where: Any, name: str, problem: Exception
) -> None:
    def fails(*_args: Any, **_kwargs: Any) -> Any:
        raise problem

    api = Api(make_key(filled_workspace))
    with monkeypatch.context() as broken:
        broken.setattr(where, name, fails)
        assert api.get("export").status_code >= 500
    assert lines_of(api.get("export"))[-1]["record"] == "end"

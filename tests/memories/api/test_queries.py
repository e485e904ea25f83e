"""Query strings are read as strictly as bodies, and lists never cost more for being long."""

from datetime import timedelta
from typing import Any

import pytest

from memories import entries
from memories.choices import BatchState, BatchVerb, ChangeState
from memories.models import Batch, BatchChange, Entry, Scope, Workspace
from tests.conftest import NOW, Api, make_draft, make_scope
from tests.memories.api.conftest import send

pytestmark = pytest.mark.django_db


@pytest.fixture
def entry(scope: Scope) -> Entry:
    return entries.remember(make_draft(scope, "My cat is called Rice"), now=NOW, actor="test").entry


@pytest.fixture
def batches(scope: Scope, entry: Entry) -> list[Batch]:
    made = [
        Batch.objects.create(
            workspace_id=scope.workspace_id,
            scope=scope,
            name="expire",
            run=f"r{n}",
            actor="job:expire",
            created_at=NOW + timedelta(days=n // 2),
            state=BatchState.APPLIED if n else BatchState.PROPOSED,
        )
        for n in range(4)
    ]
    for position in range(1, 6):
        BatchChange.objects.create(
            workspace_id=scope.workspace_id,
            batch=made[-1],
            position=position,
            verb=BatchVerb.EXPIRE,
            entry=entry,
            expected_version=1,
            state=ChangeState.APPLIED,
        )
    return made


LISTS = ["entries", "batches", "entries/{entry}/history", "batches/{batch}"]
every_list = pytest.mark.parametrize("path", LISTS)


def refused(answer: Any) -> list[str]:
    assert answer.status_code == 400, answer.content
    assert answer.json()["type"] == "validation_error"
    return [error["attr"] for error in answer.json()["errors"]]


@pytest.mark.thorough
@every_list
@pytest.mark.parametrize("query", ["colour=red", "page=2", "format=json", "offset=3", "slot=x", "Limit=3", "%00=x"])
def test_an_unknown_parameter_is_named(api: Api, entry: Entry, batches: list[Batch], path: str, query: str) -> None:
    path = path.format(entry=entry.uid, batch=batches[-1].uid)
    assert refused(api.request("GET", f"{path}?{query}")) == [query.partition("=")[0].replace("%00", "\0")]


@pytest.mark.thorough
@every_list
@pytest.mark.parametrize("limit", ["0", "-1", "201", "x", "", "1e3", "9" * 30, "9" * 2000, "1.5", "%00", "true"])
def test_a_limit_is_a_number_from_1_to_200(api: Api, entry: Entry, batches: list[Batch], path: str, limit: str) -> None:
    path = path.format(entry=entry.uid, batch=batches[-1].uid)
    assert refused(api.request("GET", f"{path}?limit={limit}")) == ["limit"]


@pytest.mark.thorough
@every_list
@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "",
        "%00",
        "-1",
        "cD0yMDI2",
        "1-",
        "-",
        "zz-zz",
        "f" * 13 + "-1x",
        "f" * 15 + "-1",
        "1-" + "f" * 16,
        "é",
        "9" * 50,
    ],
)
def test_a_cursor_of_another_list_is_refused(
    api: Api, entry: Entry, batches: list[Batch], path: str, cursor: str
) -> None:
    path = path.format(entry=entry.uid, batch=batches[-1].uid)
    assert refused(api.request("GET", f"{path}?cursor={cursor}")) == ["cursor"]


@every_list
def test_a_parameter_given_twice_is_refused(api: Api, entry: Entry, batches: list[Batch], path: str) -> None:
    path = path.format(entry=entry.uid, batch=batches[-1].uid)
    assert refused(api.request("GET", f"{path}?limit=3&limit=3")) == ["limit"]


@pytest.mark.parametrize(
    ("query", "attr"),
    [
        ("state=gone", "state"),
        ("type=poem", "type"),
        ("scope=" + "x" * 256, "scope"),
        ("q=" + "x" * 501, "q"),
        ("q=a%00b", "q"),
        ("slot.env=a&slot.env=b", "slot.env"),
        ("slot.=x", "slot."),
        ("slot." + "x" * 65 + "=x", "slot." + "x" * 64),
        ("slot.env=" + "x" * 501, "slot.env"),
        ("slot.env=%00", "slot.env"),
    ],
)
def test_a_filter_that_cannot_be_is_refused(api: Api, query: str, attr: str) -> None:
    assert refused(api.request("GET", f"entries?{query}")) == [attr]


@pytest.mark.parametrize("path", ["turns", "recall", "scopes/resolve", "entries"])
def test_calls_with_a_body_take_no_parameters(api: Api, path: str) -> None:
    assert refused(api.request("POST", f"{path}?limit=3", "{}")) == ["limit"]


def test_deleting_takes_no_body(api: Api, entry: Entry) -> None:
    assert refused(send(api, "DELETE", f"entries/{entry.uid}", {"reason": "tidy"})) == ["reason"]
    assert send(api, "DELETE", f"entries/{entry.uid}", {}).status_code == 200


@pytest.mark.parametrize("path", ["nothing", "entries/", "turns/1", "recalls/x/feedback", "batches/1"])
def test_what_is_no_call_is_not_found_in_the_shape_of_all_errors(api: Api, path: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        answer = api.request(method, path)
        assert answer.status_code == 404
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.json() == {
            "type": "client_error",
            "errors": [{"code": "not_found", "detail": "There is no such call.", "attr": None}],
        }


@pytest.mark.parametrize("language", ["zh-CN", "zh-hans"])
def test_what_is_no_call_is_said_in_the_language_of_whoever_asks(api: Api, language: str) -> None:
    answer = api.request("GET", "nothing", **{"Accept-Language": language})
    assert answer.json()["errors"][0]["detail"] == "没有这个调用。"


def test_a_host_that_is_not_ours_is_refused_in_the_shape_of_all_errors(api: Api) -> None:
    answer = api.request("GET", "entries", Host="evil.example")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["code"] == "parse_error"


def test_a_body_in_chunks_is_refused_rather_than_taken_for_empty(api: Api) -> None:
    answer = api.request("POST", "turns", "", **{"Transfer-Encoding": "chunked"})
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (411, "length_required")


def test_numbers_without_end_are_refused_wherever_they_stand(api: Api) -> None:
    body = '{"address": {"platform": "cli"}, "user": "hi", "tool_calls": [{"name": "x", "arguments": {"n": 1e999}}]}'
    assert api.request("POST", "turns", body).status_code == 400


def test_batches_are_listed_newest_first_in_pages(api: Api, batches: list[Batch]) -> None:
    first = api.get("batches", limit=3).json()
    second = api.get("batches", limit=3, cursor=first["cursor"]).json()
    assert [batch["run"] for batch in first["results"] + second["results"]] == ["r3", "r2", "r1", "r0"]
    assert (second["next"], second["cursor"]) == (None, None)


def test_batches_are_found_by_scope_and_state(api: Api, batches: list[Batch], workspace: Workspace) -> None:
    make_scope(workspace, "main")
    assert [batch["run"] for batch in api.get("batches", state="proposed").json()["results"]] == ["r0"]
    assert len(api.get("batches", scope="telegram:direct_u42").json()["results"]) == 4
    assert api.get("batches", scope="main").json()["results"] == []
    assert api.get("batches", scope="nobody").status_code == 404


@pytest.mark.thorough
def test_a_batch_shows_its_changes_in_pages(api: Api, batches: list[Batch], entry: Entry) -> None:
    first = api.get(f"batches/{batches[-1].uid}", limit=3).json()
    second = api.get(f"batches/{batches[-1].uid}", limit=3, cursor=first["changes"]["cursor"]).json()
    assert (first["name"], first["by"], first["scope"]) == ("expire", "job:expire", "telegram:direct_u42")
    positions = [change["position"] for change in first["changes"]["results"] + second["changes"]["results"]]
    assert positions == [1, 2, 3, 4, 5]
    row = first["changes"]["results"][0]
    data = {name: row[name] for name in ("position", "verb", "entry", "expected_version", "state", "note", "content")}
    assert data == {
        "position": 1,
        "verb": "expire",
        "entry": str(entry.uid),
        "expected_version": 1,
        "state": "applied",
        "note": None,
        "content": entry.content,
    }


def test_lists_cost_the_same_for_one_row_and_for_many(
    api: Api, batches: list[Batch], django_assert_num_queries: Any
) -> None:
    # the key with its wall, its use and its count; the rows; the wall again
    api.get("batches")
    for limit in (1, 4):
        with django_assert_num_queries(3):
            assert len(api.get("batches", limit=limit).json()["results"]) == limit
    for limit in (1, 5):  # besides: the history of these rows, and what they became
        with django_assert_num_queries(6):
            assert len(api.get(f"batches/{batches[-1].uid}", limit=limit).json()["changes"]["results"]) == limit


def test_reading_one_entry_costs_few_statements(api: Api, entry: Entry, django_assert_num_queries: Any) -> None:
    api.get("entries")
    # the key with its wall and its count, the entry with its scope, the policies, the slots, the wall again
    with django_assert_num_queries(7):
        api.get(f"entries/{entry.uid}")

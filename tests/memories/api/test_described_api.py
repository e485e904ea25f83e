"""The API does what its description says, whatever it is sent: requests made up from the schema, good and bad."""

import os
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import memplatform_client
import pytest
import schemathesis
import yaml
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client
from hypothesis import given
from schemathesis.specs.openapi import checks

from memories import entries as store
from memories.api.entries import entry_answer
from memories.models import Batch, Policy, RecallTrace, Workspace
from memplatform.wsgi import application
from sessions_app.models import Session
from tests.conftest import NOW, make_draft, make_key, make_scope
from tests.memories.api.routes import ACCESS, ASKING, SCOPE, STREAMED
from tests.support.described import api_description
from tests.support.properties import examples

EXAMPLES, SEARCHED = 6, 12
MODES = {"good": schemathesis.GenerationMode.POSITIVE, "bad": schemathesis.GenerationMode.NEGATIVE}
CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CALLS = sorted((re.sub(r"<\w+:(\w+)>", r"{\1}", route), method) for route, method in ACCESS)


@cache
def described() -> Any:
    """The description, but for the key that every request of this test carries."""
    plain = api_description()
    del plain["components"]["securitySchemes"]
    for item in plain["paths"].values():
        for call in item.values():
            del call["security"]
    schema = schemathesis.openapi.from_dict(plain)
    schema.app = application
    return schema


def _is_uuid(value: Any) -> bool:
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


@pytest.fixture
def rows(workspace: Workspace) -> Iterator[dict[str, str]]:
    scope = make_scope(workspace, SCOPE)
    entry = store.remember(make_draft(scope, "My cat is called Rice"), now=NOW, actor="test").entry
    trace = RecallTrace.objects.create(
        workspace=workspace, scopes=[scope.pk], served=[entry.pk], message="my cat?", created_at=NOW
    )
    batch = Batch.objects.create(
        workspace=workspace, scope=scope, name="expire", run="r1", actor="job:expire", created_at=NOW
    )
    session = Session.objects.create(
        workspace=workspace, key="tg-1", platform="tg", user_scope=scope, started_at=NOW, last_at=NOW
    )
    yield {
        "entries": str(entry.uid),
        "recalls": str(trace.uid),
        "batches": str(batch.uid),
        "sessions": str(session.uid),
    }


@pytest.fixture
def one_connection(settings: Any) -> Iterator[None]:
    """Requests at the WSGI door stay in the transaction of the test, as those of Django's own client do."""
    settings.MEMORY_CALLS_PER_MINUTE = 1_000_000
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.mark.thorough
@pytest.mark.hypothesis
@pytest.mark.django_db
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_every_call_answers_as_described(
    workspace: Workspace, rows: dict[str, str], one_connection: None, call: tuple[str, str], mode: str
) -> None:
    path, method = call
    token = make_key(workspace)
    operation = described()[f"/{path}"][method]
    existing = rows.get(path.split("/")[2])

    @examples(EXAMPLES, searched=SEARCHED)
    @given(operation.as_strategy(generation_mode=MODES[mode]))
    def ask(case: Any) -> None:
        if existing and _is_uuid(case.path_parameters.get("uid")):  # otherwise every answer would be 404
            case.path_parameters["uid"] = existing
        if existing and mode == "good" and "key" in case.path_parameters:
            case.path_parameters["key"] = existing
        case.call_and_validate(checks=CHECKS, headers={"Authorization": f"Bearer {token}"})

    ask()


#: Where an address stands in a request, of which generators cannot know which platforms there are; and changes.
ADDRESSED = [
    *(("turns", "POST"), ("recall", "POST"), ("context", "POST"), ("entries", "POST"), ("sessions", "POST")),
    *(
        ("scopes/resolve", "POST"),
        ("tools/memory_search", "POST"),
        ("tools/memory_get", "POST"),
        ("tools/call", "POST"),
    ),
    *(("sessions/{key}/events", "POST"), ("batches", "GET"), ("entries", "GET"), ("channels/{platform}", "PUT")),
    *(("channels/{platform}/{account}", "PUT"), ("entries/{uid}", "PATCH")),
    ("batches/{uid}/changes/{position}", "PATCH"),
]
#: What no schema says: which platforms there are, which year it is, what free JSON holds deep inside, whose it is.
UNSAYABLE = re.compile(
    "platform|not known|in the future|past already|between 1970|before `since`|Ambient|NUL|slot|its peer's|No key"
)


@pytest.mark.thorough
@pytest.mark.hypothesis
@pytest.mark.django_db
@pytest.mark.parametrize("call", ADDRESSED, ids=" ".join)
def test_what_fits_the_description_is_refused_for_no_shape(
    workspace: Workspace, rows: dict[str, str], one_connection: None, call: tuple[str, str]
) -> None:
    path, method = call
    token, operation = make_key(workspace), described()[f"/api/v1/{path}"][method]

    @examples(EXAMPLES, searched=SEARCHED)
    @given(operation.as_strategy(generation_mode=schemathesis.GenerationMode.POSITIVE))
    def ask(case: Any) -> None:
        if isinstance(case.body, dict) and "address" in case.body:
            case.body["address"] = {**case.body["address"], "platform": "web"}  # one person sits there
        if "key" in case.path_parameters:
            case.path_parameters["key"] = rows["sessions"]
        answer = case.call(headers={"Authorization": f"Bearer {token}"})
        details = [error["detail"] for error in answer.json()["errors"]] if answer.status_code == 400 else []
        assert all(map(UNSAYABLE.search, details)), (details, case.body)

    ask()


@pytest.mark.thorough
def test_the_description_is_complete_and_valid() -> None:
    call_command("spectacular", validate=True, fail_on_warn=True, file=os.devnull)
    schema = api_description()
    described_calls = {(path.strip("/"), method.upper()) for path, item in schema["paths"].items() for method in item}
    assert described_calls == set(CALLS) | STREAMED


def test_every_call_describes_its_key_its_errors_and_its_headers() -> None:
    for path, item in api_description()["paths"].items():
        for method, call in item.items():
            assert call["security"] == [{"botKey": []}], path
            assert {"400", "401", "403", "429", "503"} <= set(call["responses"])
            assert all("Retry-After" in call["responses"][code]["headers"] for code in ("429", "503"))
            for code in set(call["responses"]) - {"200", "201", "202"}:
                shape = call["responses"][code]["content"]["application/json"]["schema"]
                assert shape == {"$ref": "#/components/schemas/ErrorAnswer"}
            headers = {row["name"] for row in call.get("parameters", []) if row["in"] == "header"}
            writes = method != "get" and path.strip("/") not in ASKING
            assert ("Idempotency-Key" in headers) == writes
            assert ("If-Match" in headers) == ("412" in call["responses"])


@pytest.fixture
def reader(workspace: Workspace) -> Client:
    """A client that carries a key."""
    return Client(headers={"Authorization": f"Bearer {make_key(workspace)}"})


@pytest.mark.thorough
def test_the_description_is_served_as_generated(reader: Client) -> None:
    answer = reader.get("/api/schema")
    assert yaml.safe_load(answer.content)["info"]["title"] == "memplatform API"


def test_the_description_is_served_in_the_format_that_is_asked_for() -> None:
    answer = Client().get("/api/schema?format=json")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    described_api = answer.json()
    assert yaml.safe_load(Client().get("/api/schema?format=yaml").content) == described_api
    refused = Client().get("/api/schema?format=xml")
    assert refused.status_code == 400
    assert [(error["code"], error["attr"]) for error in refused.json()["errors"]] == [("invalid_choice", "format")]


def test_generators_of_types_let_one_leave_out_what_has_a_default() -> None:
    """They make a field with a default one that is there, and conditions beside fields other shapes of the whole."""
    shapes = api_description()["components"]["schemas"]
    requests = {name: shape for name, shape in shapes.items() if shape.get("additionalProperties") is False}
    assert len(requests) > 20
    for name, shape in requests.items():
        fields = shape["properties"]
        assert not [f"{name}.{field}" for field, described_field in fields.items() if "default" in described_field]
        assert not shape.keys() & {"anyOf", "oneOf"}, name
    assert shapes["RecallRequest"]["properties"]["quotas"]["description"].endswith("Default: `true`.")


def test_a_generated_package_is_not_named_as_our_own_client() -> None:
    title = api_description()["info"]["title"]
    assert f"{title}_client".replace(" ", "_").lower() != memplatform_client.__name__


def test_the_pages_to_read_it_ask_no_other_host(reader: Client) -> None:
    page = reader.get("/api/docs").content.decode()
    assert "swagger-ui" in page
    assert "http://" not in page and "https://" not in page and 'src="//' not in page
    for asset in ("swagger-ui-bundle.js", "swagger-ui.css", "swagger-ui-standalone-preset.js"):
        assert f"/static/drf_spectacular_sidecar/swagger-ui-dist/{asset}" in page
        served = Client().get(f"/static/drf_spectacular_sidecar/swagger-ui-dist/{asset}")
        assert served.status_code == 200
        served.close()


@pytest.mark.django_db
def test_an_answer_takes_no_name_that_is_not_described(workspace: Workspace) -> None:
    entry = store.remember(make_draft(make_scope(workspace), "tea"), now=NOW, actor="test").entry
    with pytest.raises(TypeError, match="color"):
        entry_answer(entry, Policy.objects.of(workspace.pk), NOW, color="red")

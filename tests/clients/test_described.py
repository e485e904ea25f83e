"""The client is what the description of the API says: its calls, its types, and which of them write."""

import inspect
import json
import re
from functools import cache
from typing import Any

import generate
from memplatform_client import errors
from memplatform_client.call import Call, Lines, Listing, Method
from memplatform_client.calls import Calls
from rest_framework import status

from memories.api.errors import STATUSES
from tests import ROOT
from tests.support.described import api_description


@cache
def schema() -> Any:
    return json.loads(json.dumps(api_description(), default=str))


def described(name: str) -> Call[Any]:
    """A call of the client, with the names of its places for their values."""
    describe = getattr(Calls, name).describe
    places = [one for one, given in inspect.signature(describe).parameters.items() if given.kind == 1 and one != "self"]
    return describe(None, *places)


NAMES = [name for name in dir(Calls) if isinstance(getattr(Calls, name), Method | Listing | Lines)]


def test_every_call_of_the_reference_is_one_of_the_client() -> None:
    headings = re.findall(r"^## `(\w+) (/api/v1/.+)`$", (ROOT / "docs/reference/api.md").read_text(), re.MULTILINE)
    ours = [(call.method, call.template) for call in map(described, NAMES)]
    assert sorted(ours) == sorted(headings) == sorted(operation[:2] for operation in generate.operations(schema()))
    assert len(headings) > 40


def test_a_call_that_may_write_has_a_key_of_its_own_and_no_other_has_one() -> None:
    for method, path, operation in generate.operations(schema()):
        headers = {row["name"] for row in operation.get("parameters", ()) if row["in"] == "header"}
        first, second = described(operation["operationId"]), described(operation["operationId"])
        assert (first.method, first.template) == (method, path)
        assert bool(first.once) == ("Idempotency-Key" in headers), path
        assert first.once is None or first.once != second.once


def test_every_refusal_of_the_platform_has_its_class() -> None:
    assert set(STATUSES.values()) - set(errors.KINDS) == set()
    conflicts = {error.code for error, code in STATUSES.items() if code == status.HTTP_409_CONFLICT}
    assert conflicts - set(errors.KINDS) == {"model_off"}  # which no call of the API answers


def test_no_two_calls_are_described_in_the_same_words() -> None:
    words = [operation["description"] for _method, _path, operation in generate.operations(schema())]
    assert len(words) == len(set(words))

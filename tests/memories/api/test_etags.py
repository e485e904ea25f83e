"""An answer carries an ETag exactly where the description says."""

import re
from typing import Any

import pytest

from memories.models import Workspace
from tests.conftest import make_key
from tests.memories.api.routes import ACCESS
from tests.memories.api.test_access import alices, call, every_call, rows, workspace
from tests.support.described import api_description

__all__ = ["alices", "rows", "workspace"]  # the fixtures


def _tagged() -> set[tuple[str, str]]:
    """The calls of which the description says that their answer carries an ETag."""
    paths = api_description()["paths"]
    return {
        (re.sub(r"{(\w+)}", r"\1", path), method.upper())
        for path, calls in paths.items()
        for method, described in calls.items()
        if any("ETag" in answer.get("headers", {}) for answer in described["responses"].values())
    }


TAGGED = _tagged()


@pytest.mark.thorough
@every_call
def test_an_answer_carries_an_etag_exactly_where_the_description_says(
    workspace: Workspace, rows: dict[str, Any], route: str, method: str
) -> None:
    answer = call(make_key(workspace), route, method, rows, ACCESS[route, method].body)
    if answer.status_code in (200, 201):
        plain = re.sub(r"<(?:[a-z]+:)?([a-z_]+)>", r"\1", route)
        assert ("ETag" in answer.headers) == ((f"/{plain}", method) in TAGGED), (plain, method)


def test_some_answers_carry_one() -> None:
    assert len(TAGGED) >= 8

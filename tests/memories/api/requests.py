"""A plain request for every route, and how errors are read."""

from typing import Any

import pytest

from tests.conftest import TELEGRAM

ROUTES = {
    "turns": {"address": TELEGRAM, "user": "I moved to Hangzhou", "assistant": "Noted."},
    "recall": {"address": TELEGRAM, "message": "where do I live?"},
    "scopes/resolve": {"address": TELEGRAM},
    "entries": {"scope": "telegram:direct_u42", "content": "I live in Hangzhou"},
}
every_route = pytest.mark.parametrize("route", ROUTES)


def errors(response: Any) -> list[tuple[str, str | None]]:
    return [(error["code"], error["attr"]) for error in response.json()["errors"]]

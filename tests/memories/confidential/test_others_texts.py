"""Texts of somebody who did not see how secrets are recognised: what holds of them goes on holding."""

import json
from pathlib import Path
from typing import Any

from memories.language.confidential import asked_kinds, find_secrets, mask

TEXTS = Path(__file__).with_name("others_texts.jsonl")
RECOGNISED, ASKED, UNTOUCHED = 57, 57, 59


def rows(*, is_secret: bool) -> list[dict[str, Any]]:
    lines = map(json.loads, TEXTS.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line["is_secret"] is is_secret]


def kinds(text: str) -> set[str]:
    return {secret.kind for secret in find_secrets(text)}


def test_secrets_are_recognised() -> None:
    assert sum(row["secret"] not in mask(row["text"]) for row in rows(is_secret=True)) >= RECOGNISED


def test_their_questions_ask_for_them_and_others_do_not() -> None:
    secrets = rows(is_secret=True)
    assert sum(not kinds(row["text"]).isdisjoint(asked_kinds(row["ask"])) for row in secrets) >= ASKED
    assert not [row["unrelated"] for row in secrets if kinds(row["text"]) & asked_kinds(row["unrelated"])]


def test_innocents_stay_untouched() -> None:
    assert sum(mask(row["text"]) == row["text"] for row in rows(is_secret=False)) >= UNTOUCHED

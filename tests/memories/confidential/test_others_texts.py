"""Texts of people who did not see how secrets are recognised: what holds of them goes on holding."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memories.language.confidential import asked_kinds, find_secrets, mask


class Texts(NamedTuple):
    """A file of 60 or 40 secrets and as many innocents, and how many of them are taken for what they are."""

    file: str
    recognised: int
    asked: int
    untouched: int

    def rows(self, *, is_secret: bool) -> list[dict[str, Any]]:
        lines = map(json.loads, Path(__file__).with_name(self.file).read_text(encoding="utf-8").splitlines())
        return [line for line in lines if line["is_secret"] is is_secret]


#: When they were written: 57, 57 and 59 of 60; 30, 27 and 39 of 40.
TEXTS = (Texts("others_texts.jsonl", 60, 60, 59), Texts("further_texts.jsonl", 40, 39, 40))
every_file = pytest.mark.parametrize("texts", TEXTS, ids=lambda texts: texts.file)


def kinds(text: str) -> set[str]:
    return {secret.kind for secret in find_secrets(text)}


@every_file
def test_secrets_are_recognised(texts: Texts) -> None:
    assert sum(row["secret"] not in mask(row["text"]) for row in texts.rows(is_secret=True)) >= texts.recognised


@every_file
def test_their_questions_ask_for_them_and_others_do_not(texts: Texts) -> None:
    secrets = texts.rows(is_secret=True)
    assert sum(not kinds(row["text"]).isdisjoint(asked_kinds(row["ask"])) for row in secrets) >= texts.asked
    assert not [row["unrelated"] for row in secrets if kinds(row["text"]) & asked_kinds(row["unrelated"])]


@every_file
def test_innocents_stay_untouched(texts: Texts) -> None:
    assert sum(mask(row["text"]) == row["text"] for row in texts.rows(is_secret=False)) >= texts.untouched

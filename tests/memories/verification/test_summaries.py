"""A model's summary takes the place of a turn only where it tells what the turn told: a table of both (A11)."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from memories.consolidation.capture import turn_text
from memories.llm import prompts
from memories.verification.summaries import StoredTurn, SummaryFault, fault

TABLE = Path(__file__).with_name("summaries.txt")
BACKUP_ASKED = (
    "Could you explain once more why our nightly backup of the Atlas database failed on Tuesday, and what we agreed to"
    " change? I have to tell the others and I did not write anything down during the call with Dana."
)
BACKUP = StoredTurn(
    BACKUP_ASKED,
    "The disk of the backup host was full. You agreed that Dana deletes dumps older than 14 days.",
    turn_text(
        BACKUP_ASKED, "The disk of the backup host was full. You agreed that Dana deletes dumps older than 14 days."
    ),
)


@dataclass(frozen=True)
class Case:
    part: str
    language: str
    turn: StoredTurn
    wrong: str  # empty: nothing
    summary: str


def cases() -> Iterator[Case]:
    part = language = user = assistant = ""
    for line in TABLE.read_text().splitlines():
        kind, said = line[:2], line[2:]
        if line.startswith("["):
            part, language = line.strip("[]").split()
        elif kind == "U ":
            user = said
        elif kind == "A ":
            assistant = said
        elif kind in ("+ ", "- "):
            wrong, _sign, summary = ("", "", said) if kind == "+ " else said.partition(" = ")
            told = prompts.fill("turn_summary", {"en": "en", "zh": "zh-hans"}[language], {})
            turn = StoredTurn(user, assistant, turn_text(user, assistant), told)
            yield Case(part, language, turn, wrong, summary)


CASES = list(cases())
GOOD, BAD = [one for one in CASES if not one.wrong], [one for one in CASES if one.wrong]


@pytest.mark.parametrize("case", BAD, ids=[one.summary[:60] for one in BAD])
def test_a_summary_that_tells_less_or_something_else_is_refused(case: Case) -> None:
    assert fault(case.turn, case.summary) is not None


@pytest.mark.parametrize(("part", "share"), [("seen", 0.8), ("unseen", 0.5), ("later", 0.8)])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_most_that_tell_the_turn_are_taken(part: str, language: str, share: float) -> None:
    of_it = [one for one in GOOD if (one.part, one.language) == (part, language)]
    refused = [one.summary for one in of_it if fault(one.turn, one.summary)]
    assert len(of_it) >= 6 and len(refused) <= len(of_it) * (1 - share), refused


def test_there_are_as_many_of_each_language_as_the_figures_say() -> None:
    assert {language: sum(one.language == language for one in GOOD) for language in ("en", "zh")} == {
        "en": 30,
        "zh": 30,
    }
    assert min(sum(one.language == language for one in BAD) for language in ("en", "zh")) >= 50


@pytest.mark.parametrize(
    ("summary", "wrong"),
    [
        ("…", SummaryFault.EMPTY),
        ("The user asks the assistant a question.", SummaryFault.EMPTY),
        ("Names, numbers, dates, paths and addresses exactly as they were said.", SummaryFault.INSTRUCTIONS),
        ("备份主机的磁盘满了，Dana 会删除超过 14 天的文件。", SummaryFault.LANGUAGE),
        ("The disk was full on Monday; Dana deletes dumps older than 14 days.", SummaryFault.INVENTED),
        (
            "The user asks why the nightly backup of the Atlas database failed on Tuesday, and what was agreed.",
            SummaryFault.ECHO,
        ),
        ("The disk of the backup host was not full. Dana deletes dumps older than 14 days.", SummaryFault.TURNED),
        ("The disk of the backup host was full.", SummaryFault.LOST),
    ],
)
def test_the_model_is_told_what_is_wrong(summary: str, wrong: SummaryFault) -> None:
    told = prompts.fill("turn_summary", "en", {})
    assert fault(StoredTurn(BACKUP.user, BACKUP.assistant, BACKUP.stored, told), summary) is wrong


def test_the_words_that_are_stored_may_stand_for_themselves() -> None:
    summary = (
        "The Atlas backup failed on Tuesday: the disk was full. You agreed that Dana deletes dumps older than 14 days."
    )
    assert fault(BACKUP, summary) is None

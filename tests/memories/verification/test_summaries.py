"""What the checks alone say of a model's summary of a long turn; the rest is for the second reading (A11, D5).

The table tells good summaries and bad ones with what is wrong with them. A good one stands whole. Of the bad ones the
checks see those that leave out most numbers, dates, codes and names of the turn, and sentences that name others;
whether something is turned round, or told of somebody else, a reader has to say.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest

from memories.consolidation.capture import turn_text
from memories.consolidation.summaries import CheckedSummary, StoredTurn
from memories.verification import Conversation, Message

TABLE = Path(__file__).with_name("summaries.txt")
DAY = date(2026, 5, 1)
#: What the checks see by themselves.
SEEN = {"echo", "example"}


@dataclass(frozen=True)
class Case:
    language: str
    turn: StoredTurn
    wrong: str  # empty: nothing
    summary: str

    @property
    def left(self) -> CheckedSummary:
        return CheckedSummary.of(self.summary, self.turn.conversation)

    @property
    def is_noticed(self) -> bool:
        """Whether a sentence needs a reader to stand, or all of it is refused."""
        return bool(self.left.doubted or self.turn.fault(self.left.text))


def cases() -> Iterator[Case]:
    language = user = assistant = ""
    for line in TABLE.read_text().splitlines():
        kind, statement = line[:2], line[2:]
        if line.startswith("["):
            _part, language = line.strip("[]").split()
        elif kind == "U ":
            user = statement
        elif kind == "A ":
            assistant = statement
        elif kind in ("+ ", "- "):
            wrong, _sign, summary = ("", "", statement) if kind == "+ " else statement.partition(" = ")
            sides = [Message("user", user, "", DAY), Message("assistant", assistant, "", DAY, is_answer=True)]
            yield Case(language, StoredTurn(turn_text(user, assistant), Conversation(sides)), wrong, summary)


CASES = list(cases())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_good_summaries_stand_whole(language: str) -> None:
    good = [case for case in CASES if case.language == language and not case.wrong]
    refused = [item.summary for item in good if item.is_noticed]
    assert len(good) == 30 and len(refused) <= 1, refused


@pytest.mark.parametrize("case", [case for case in CASES if case.wrong in SEEN], ids=lambda one: one.summary[:60])
def test_one_that_tells_nothing_of_the_turn_is_refused(case: Case) -> None:
    assert case.turn.fault(case.left.text) is not None


@pytest.mark.parametrize(("wrong", "share"), [("lost", 0.7), ("invented", 0.5)])
def test_most_that_leave_out_or_invent_what_can_be_checked_are_noticed(wrong: str, share: float) -> None:
    bad = [case for case in CASES if case.wrong == wrong]
    assert len(bad) >= 20 and sum(item.is_noticed for item in bad) >= len(bad) * share


def test_what_is_turned_round_is_for_the_reader() -> None:
    """Its sentences are all asked about, so that a reader may leave them out."""
    turned = [case for case in CASES if case.wrong == "turned" and not case.is_noticed]
    assert turned and all(claim.statement for item in turned for claim in item.left.claims())

"""Recall from the files: a search by words in those a message may be answered from (A4, C11)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from functools import partial

from memories.choices import NeedMode
from memories.files import keyword
from memories.files.keyword import FileMatch
from memories.files.layout import ScopeFolder
from memories.kinds import EntryType
from memories.language import quoting
from memories.recall.answer import FOUND, NONE, WEAK, WORDS_FOUND, WORDS_WEAK, fit
from memories.recall.gate import GateDecision, decide
from memories.recall.question import asks_what_came_before

#: Blocks that are looked at before times narrow them.
LOOKED_AT = 200


@dataclass(frozen=True)
class RecalledLine:
    """A block of a file that bears on the message."""

    scope: str
    match: FileMatch
    in_context: bool = False

    @property
    def slots(self) -> dict[str, str]:
        """Where it stands."""
        heading = {"heading": self.match.heading} if self.match.heading else {}
        return {"path": self.match.path, "line": str(self.match.line_from), **heading}


@dataclass(frozen=True)
class FileRecall:
    """What a recall from files answers."""

    need: GateDecision
    lines: list[RecalledLine] = field(default_factory=list)
    context: str = ""
    tokens: int = 0

    @property
    def evidence(self) -> str:
        """How well it answers, by the share of the question's words in the best block."""
        best = max((line.match.score for line in self.lines), default=0.0)
        return FOUND if best >= WORDS_FOUND else WEAK if best >= WORDS_WEAK else NONE


def recall_from_files(
    folders: Sequence[ScopeFolder],
    message: str,
    *,
    limit: int,
    zone: tzinfo,
    need: str = NeedMode.AUTO,
    token_budget: int = 0,
    types: Collection[str] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    language: str = "en",
) -> FileRecall:
    """The blocks of these files that hold most of a message's words, best first; the newest for what names nothing."""
    decision = decide(message) if need == NeedMode.AUTO else GateDecision(True, "off")
    if not decision.retrieve or (types is not None and EntryType.NOTE not in types):
        return FileRecall(decision)
    most = LOOKED_AT if since or until else limit
    search = keyword.newest if asks_what_came_before(message) else partial(keyword.search, query=message)
    found = search(folders, limit=most, zone=zone)
    within = [match for match in found if _is_within(match.at, since, until)][:limit]
    texts = [_line(match, zone) for match in within]
    shown, tokens = fit([quoting.notice_in(language, token_budget), *texts], token_budget)
    shown, tokens = (shown, tokens) if len(shown) > 1 else ([], 0)
    lines = [
        RecalledLine(next(folder.scope_key for folder in folders if folder.owns(match.path)), match, n < len(shown) - 1)
        for n, match in enumerate(within)
    ]
    return FileRecall(decision, lines, "\n".join(shown), tokens)


def _is_within(at: datetime | None, since: datetime | None, until: datetime | None) -> bool:
    if at is None:
        return since is None and until is None
    return (since is None or at >= since) and (until is None or at < until)


def _line(match: FileMatch, zone: tzinfo) -> str:
    """A block as a model reads it, with the path that proves it."""
    day = f"[{match.at.astimezone(zone):%Y-%m-%d}] " if match.at else ""
    return f"- {day}{quoting.as_item(match.text)} [{match.path}:{match.line_from}]"

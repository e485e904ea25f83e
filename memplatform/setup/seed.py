"""A made-up workspace of any size, in English and Chinese, with every state: for measurements (`manage.py seed`).

The same number makes the same rows, but for ids and times, which count back from now.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from random import Random
from typing import Any, Self
from uuid import UUID

from psycopg.types.json import Jsonb

from memories.choices import BatchState, BatchVerb, Category, ChangeState, EntryType, Origin, ScopeKind, Source
from memories.entries import CONTRADICTED_BY
from memories.entries.exported import copy_rows, count_scopes, reserve_ids
from memories.index.search_rows import blend_keywords, sparse_literal
from memories.language import text
from memories.models import Batch, BatchChange, Entry, EntryAccess, EntryIndex, RecallTrace, Scope, Slot, Workspace
from memories.models.ids import uuid7
from memories.tenancy.resolver import Address, ChannelRules, key_of_speaker, resolve
from sessions_app.models import EventKind, Session, SessionEvent, conversation_path

ACTOR = "command:seed"
_PLATFORM = "telegram"
#: Of a thousand entries so many are as their names say.
EXPIRED, ARCHIVED, PINNED, CHECKED, ENDING, DUE_FOR_REVIEW, DISPUTED, RECALLED = 80, 40, 10, 20, 100, 20, 2, 400
ENTRIES_A_SCOPE, ENTRIES_A_SESSION, ENTRIES_A_BATCH, ENTRIES_A_TRACE = 500, 10, 100, 10
MESSAGES, CHANGES = 4, 5  # of a session, of a batch
SPAN = timedelta(days=400)
AVERAGE_LENGTH = 12.0
_PEOPLE = ("Lena", "Omar", "Priya", "Tom", "王芳", "李雷", "赵敏", "陈晨")
_PROJECTS = ("Atlas", "Borealis", "Cedar", "Dune", "南山", "清风", "远航", "白鹭")
_PLACES = ("Lisbon", "Hamburg", "Kyoto", "Austin", "杭州", "成都", "大连", "昆明")
_TEXTS = (
    "The deployment of {project} runs from the release branch; ask {person} before you change the window.",
    "{person} prefers tea over coffee and is in {place} every other week.",
    "We decided to keep PostgreSQL for {project}, because the team in {place} knows it well and the licences of the "
    "alternatives are unclear; {person} looks at the decision again after the audit in spring.",
    "The staging server of {project} stands in {place}; {person} has the key.",
    "An error in {project} was solved by raising the timeout; {person} wrote the fix in {place}.",
    "The weekly review of {project} moved to Monday, as {person} travels from {place}.",
    "{project}项目从发布分支部署，改动时间窗口之前先问{person}。",
    "{person}喜欢喝龙井茶，每隔一周去一次{place}。",
    "我们决定{project}继续使用PostgreSQL，因为{place}的团队熟悉它，而其他方案的许可证还不清楚；春季审计之后由{person}重新讨论。",
    "{project}的测试服务器在{place}，钥匙在{person}那里。",
    "{project}的错误靠调大超时解决，修复是{person}在{place}写的。",
    "{project}的每周例会改到周一，因为{person}要从{place}赶来。",
)
_TYPES = (*[EntryType.CHAT_TURN] * 4, *[EntryType.FACT] * 3, EntryType.AUTO_CAPTURE, EntryType.USER_EXPLICIT)
_CATEGORIES = ("", "", *Category.values)
#: Gets how many rows of a kind have been written.
Report = Callable[[str, int], None]


@dataclass(frozen=True)
class Sizes:
    """How many rows of each kind there are to be."""

    entries: int
    scopes: int
    sessions: int
    batches: int
    traces: int

    @classmethod
    def of(cls, entries: int) -> Self:
        shares = (ENTRIES_A_SCOPE, ENTRIES_A_SESSION, ENTRIES_A_BATCH, ENTRIES_A_TRACE)
        return cls(entries, *(max(entries // share, 1) for share in shares))


@dataclass(frozen=True)
class _Sentence:
    """A text entries are made of, with what the index knows of it."""

    words: str
    terms: list[int]
    length: int
    keywords: str


def seed(workspace: Workspace, entries: int, *, now: datetime, report: Report) -> dict[str, int]:
    """Fill a workspace with so many entries and what belongs to them; the number of rows by kind."""
    sizes = Sizes.of(entries)
    scopes = [_scope(workspace, n) for n in range(sizes.scopes)]
    places = [scope.pk for scope in Scope.objects.bulk_create(scopes, batch_size=2_000)]
    first = reserve_ids(Entry, entries), reserve_ids(Session, sizes.sessions), reserve_ids(Batch, sizes.batches)
    messages = reserve_ids(SessionEvent, sizes.sessions * MESSAGES)
    making = _Making(workspace.pk, sizes, places, *first, messages, now)
    kinds: list[tuple[str, Any, Iterable[dict[str, Any]]]] = [
        ("sessions", Session, making.sessions()),
        ("messages", SessionEvent, making.messages()),
        ("entries", Entry, making.entries()),
        ("search rows", EntryIndex, making.search_rows()),
        ("counters", EntryAccess, making.counters()),
        ("slots", Slot, making.slots()),
        ("batches", Batch, making.batches()),
        ("changes", BatchChange, making.changes()),
        ("recall traces", RecallTrace, making.traces()),
    ]
    row_counts = dict.fromkeys((name for name, _model, _rows in kinds), 0)
    for name, model, rows in kinds:
        for row_count in copy_rows(model, rows, actor=ACTOR):
            row_counts[name] += row_count
            report(name, row_counts[name])
    count_scopes(workspace.pk)
    return row_counts


@dataclass(frozen=True)
class _Making:
    """The rows of a seeded workspace, by attribute; `first_…` are the ids they begin with."""

    workspace: int
    sizes: Sizes
    places: list[int]
    first_entry: int
    first_session: int
    first_batch: int
    first_message: int
    now: datetime

    def entries(self) -> Iterator[dict[str, Any]]:
        sentences, chance = _sentences(), Random("entries")  # noqa: S311 (the same rows each time)
        for n in range(self.sizes.entries):
            sentence, kind, lot = sentences[n * 7 % len(sentences)], _TYPES[n % len(_TYPES)], chance.randrange(1_000)
            at = self._at(n, self.sizes.entries)
            marks: dict[str, Any] = {}
            if lot < EXPIRED:
                marks["expired_at"] = min(at + timedelta(days=30), self.now)
            elif lot < EXPIRED + ARCHIVED:
                marks["archived_at"] = min(at + timedelta(days=9), self.now)
            if chance.randrange(1_000) < CHECKED:
                marks |= {"verified_at": at, "verified_by": "user:seed"}
            if chance.randrange(1_000) < ENDING:
                marks["expires_at"] = self.now + timedelta(days=chance.randrange(-3, 60))
            if chance.randrange(1_000) < DUE_FOR_REVIEW:
                marks["review_at"] = self.now + timedelta(days=chance.randrange(-30, 30))
            content = f"{sentence.words} #{n}"
            session = n % self.sizes.sessions
            path = conversation_path(self._session_uid(session), 1)
            message = self.first_message + session * MESSAGES + n // self.sizes.sessions % 2 * 2
            yield marks | {
                "id": self.first_entry + n, "uid": uuid7(), "workspace_id": self.workspace,
                "scope_id": self._scope(session), "content": content,
                "terms": sentence.terms, "length": sentence.length,
                "fingerprint": f"{n:032x}", "source": Source.EXTRACTION if kind == EntryType.FACT else Source.TOOL,
                "origin": (origin := Origin.SELF if kind == EntryType.FACT else Origin.BOT), "trust": origin,
                "type": kind, "tier": 1 + (n % 10 > 0) if kind == EntryType.FACT else None,
                "category": _CATEGORIES[n * 5 % len(_CATEGORIES)], "project": _PROJECTS[n % 8] if n % 3 == 0 else "",
                "importance": round(chance.random(), 2), "channel": _PLATFORM, "sender_id": f"user{session}",
                "session_id": f"session-{session}", "origins": [f"{path}/event-{message}"],
                "pinned": chance.randrange(1_000) < PINNED, "created_at": at, "stated_at": at, "updated_at": at,
            }  # fmt: skip

    def search_rows(self) -> Iterator[dict[str, Any]]:
        sentences = _sentences()
        for n in range(self.sizes.entries):
            yield {
                "entry_id": self.first_entry + n, "workspace_id": self.workspace,
                "scope_id": self._scope(n % self.sizes.sessions),
                "keywords": sentences[n * 7 % len(sentences)].keywords, "is_echo": False,
            }  # fmt: skip

    def counters(self) -> Iterator[dict[str, Any]]:
        chance = Random("counters")  # noqa: S311
        for n in range(self.sizes.entries):
            if (lot := chance.randrange(1_000)) < RECALLED:
                yield {
                    "entry_id": self.first_entry + n, "workspace_id": self.workspace, "access_count": 1 + lot % 40,
                    "last_accessed": self.now - timedelta(hours=lot),
                }  # fmt: skip

    def slots(self) -> Iterator[dict[str, Any]]:
        chance = Random("slots")  # noqa: S311
        for n in range(self.sizes.entries):
            common = {"workspace_id": self.workspace, "entry_id": self.first_entry + n}
            if n % 4 == 0:
                yield common | {"name": "env", "value": f"env-{n % 20}"}
            if chance.randrange(1_000) < DISPUTED:
                yield common | {"name": CONTRADICTED_BY, "value": str(uuid7())}

    def sessions(self) -> Iterator[dict[str, Any]]:
        for n in range(self.sizes.sessions):
            at = self._at(n, self.sizes.sessions)
            yield {
                "id": self.first_session + n, "uid": self._session_uid(n), "workspace_id": self.workspace,
                "key": f"session-{n}", "platform": _PLATFORM, "account": "seed", "chat_id": f"chat{n}",
                "peer": f"user{n}", "rules": Jsonb({}), "metadata": Jsonb({}), "user_scope_id": self._scope(n),
                "next_position": MESSAGES + 1, "tokens": 120, "started_at": at, "last_at": at,
            }  # fmt: skip

    def messages(self) -> Iterator[dict[str, Any]]:
        sentences = _sentences()
        for n in range(self.sizes.sessions * MESSAGES):
            session, place = divmod(n, MESSAGES)
            sentence = sentences[n * 7 % len(sentences)]
            yield {
                "id": self.first_message + n, "workspace_id": self.workspace, "conversation": 1,
                "session_id": self.first_session + session, "position": place + 1,
                "kind": EventKind.ASSISTANT if place % 2 else EventKind.USER,
                "sender_id": "" if place % 2 else f"user{session}", "content": sentence.words, "data": Jsonb({}),
                "tokens": 30, "at": self._at(session, self.sizes.sessions) + timedelta(minutes=place),
            }  # fmt: skip

    def batches(self) -> Iterator[dict[str, Any]]:
        names = ("expire", "compress", "extract", "change")
        for n in range(self.sizes.batches):
            at = self._at(n, self.sizes.batches)
            yield {
                "id": self.first_batch + n, "uid": uuid7(), "workspace_id": self.workspace, "name": names[n % 4],
                "scope_id": self.places[n % len(self.places)], "run": f"seed:{n}", "actor": f"job:{names[n % 4]}",
                "state": BatchState.PROPOSED if n % 1_000 == 0 else BatchState.APPLIED, "created_at": at,
                "held_because": Jsonb([]), "counts": Jsonb({"expire": CHANGES}), "cost": Jsonb({}), "applied_at": at,
            }  # fmt: skip

    def changes(self) -> Iterator[dict[str, Any]]:
        for n in range(self.sizes.batches * CHANGES):
            batch, place = divmod(n, CHANGES)
            yield {
                "workspace_id": self.workspace, "batch_id": self.first_batch + batch, "position": place + 1,
                "verb": BatchVerb.EXPIRE, "entry_id": self.first_entry + n * 19 % self.sizes.entries,
                "expected_version": 1, "draft": Jsonb({}), "state": ChangeState.APPLIED,
            }  # fmt: skip

    def traces(self) -> Iterator[dict[str, Any]]:
        """Recalls of the last thirty days, as long as traces are kept."""
        sentences, verdicts = _sentences(), ("found", "found", "found", "weak", "none")
        for n in range(self.sizes.traces):
            sentence, session, verdict = sentences[n * 7 % len(sentences)], n % self.sizes.sessions, verdicts[n % 5]
            ids = [] if verdict == "none" else [self.first_entry + (n * 11 + k) % self.sizes.entries for k in (0, 5)]
            yield {
                "uid": uuid7(), "workspace_id": self.workspace, "scopes": [self._scope(session)],
                "session_key": f"session-{session}", "message": sentence.words, "terms": sentence.terms,
                "asker": f"user{session}", "query": Jsonb({"limit": 8}), "served": ids,
                "versions": [1] * len(ids),
                "evidence": Jsonb({"verdict": verdict}), "timings": Jsonb({"total": 20 + n % 40}), "tokens": 40,
                "degraded": ["vector"] if n % 500 == 0 else [],
                "created_at": self.now - timedelta(days=30) * (1 - (n + 1) / self.sizes.traces),
            }  # fmt: skip

    def _at(self, n: int, of: int) -> datetime:
        """The last is of now, the first of SPAN ago."""
        return self.now - SPAN * (1 - (n + 1) / of)

    def _scope(self, session: int) -> int:
        """The scope of a session: a few hold many, most a few."""
        return self.places[session * session // self.sizes.sessions * len(self.places) // self.sizes.sessions]

    def _session_uid(self, n: int) -> Any:
        return UUID(int=(self.workspace << 64) + n, version=4)


def _scope(workspace: Workspace, n: int) -> Scope:
    """The memory of a person, or every eighth of a group."""
    if n % 8:
        return Scope(workspace=workspace, key=key_of_speaker(_PLATFORM, f"user{n}"), kind=ScopeKind.USER)
    place = resolve(Address(platform=_PLATFORM, account="seed", chat=f"chat{n}", is_group=True), ChannelRules())
    return Scope(workspace=workspace, key=place.chat_scope or "", kind=ScopeKind.CHAT)


@cache
def _sentences() -> list[_Sentence]:
    """Every text with every project, person and place."""
    sentences = []
    for template in _TEXTS:
        for n, project in enumerate(_PROJECTS):
            for person in _PEOPLE:
                words = template.format(project=project, person=person, place=_PLACES[(n + len(person)) % len(_PLACES)])
                counts = text.terms(words)
                keywords = sparse_literal(blend_keywords(counts, [], AVERAGE_LENGTH))
                sentences.append(_Sentence(words, sorted(counts), counts.total(), keywords))
    Random("sentences").shuffle(sentences)  # noqa: S311
    return sentences

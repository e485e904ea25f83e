"""Workspaces with everything in them, drawn at random, and what is told of them."""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from hypothesis import strategies as st

from channels_app.models import Channel, Consent
from channels_app.people import linking
from channels_app.people.peers import Peer
from memories.choices import Category, EntryType, LinkKind, PolicyKind, ScopeKind, Source, Verification
from memories.index.search_rows import indexed_text
from memories.language import text
from memories.models import (
    DailyEvent,
    Entry,
    EntryAccess,
    Evidence,
    Link,
    Policy,
    Scope,
    Slot,
    Suppression,
    Workspace,
)
from sessions_app.models import EventKind, Flush, Session, SessionEvent
from tests.conftest import NOW

times = st.integers(0, 10**15).map(lambda n: datetime(2020, 1, 1, tzinfo=UTC) + timedelta(microseconds=n % 10**14))
maybe = st.none() | times
words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40)
sentences = (
    st.sampled_from(["买牛奶 and tea", "The port\nis 8080", "  Lena — «sister» ", 'a\tb \\u0041 "quoted" 😀']) | words
)


def entry(scope: Scope, draw: Any) -> Entry:
    """An entry in any state."""
    kind = draw(st.sampled_from(list(EntryType)))
    content, heading = draw(sentences), draw(st.sampled_from(["", "Home"]))
    counts = text.terms(indexed_text(content, heading=heading))
    lines = draw(st.none() | st.integers(1, 9))
    return Entry(
        workspace=scope.workspace,
        scope=scope,
        type=kind,
        tier=draw(st.sampled_from([1, 2])) if kind == "fact" else None,
        content=content,
        terms=sorted(counts),
        length=counts.total(),
        fingerprint=text.fingerprint(content),
        source=draw(st.sampled_from(list(Source))),
        subtype=draw(st.sampled_from(["", "session_flush"])),
        category=draw(st.sampled_from(["", *Category])),
        project=draw(st.sampled_from(["", "atlas"])),
        topic=draw(st.sampled_from(["", "port"])),
        importance=draw(st.floats(0, 1)),
        channel="telegram",
        chat_id="c7",
        session_id=draw(st.sampled_from(["", "s"])),
        sender_id="u42",
        speaker=draw(st.sampled_from(["", "小雨"])),
        thread_id="",
        chats=draw(st.lists(words, max_size=2)),
        created_at=draw(times),
        stated_at=draw(times),
        updated_at=draw(times),
        expires_at=draw(maybe),
        review_at=draw(maybe),
        expired_at=draw(maybe),
        archived_at=draw(maybe),
        suppressed_at=draw(maybe),
        pinned=draw(st.booleans()),
        echo=draw(st.sampled_from(["", None])),
        verified_at=draw(maybe),
        verified_by="ann",
        verification=draw(st.sampled_from(list(Verification))),
        line_from=lines,
        line_to=lines,
        heading=heading,
        version=draw(st.integers(1, 9)),
    )


def session(workspace: Workspace, scope: Scope, n: int, draw: Any) -> tuple[Session, list[SessionEvent]]:
    count = draw(st.integers(0, 3))
    made = Session.objects.create(
        workspace=workspace,
        key=f"telegram-{n}",
        platform="telegram",
        account="mybot",
        peer="u42",
        user_scope=scope,
        conversation=2,
        next_position=count + 1,
        rules={"need": "auto"},
        metadata={"a": [1]},
        started_at=NOW,
        last_at=draw(times),
        flushed_to=draw(st.integers(0, count)),
        version=draw(st.integers(1, 5)),
    )
    events = [
        SessionEvent(
            workspace=workspace,
            session=made,
            conversation=conversation,
            position=position,
            content=draw(sentences),
            kind=draw(st.sampled_from(list(EventKind))),
            sender_id="u42",
            data={"x": draw(words)},
            tokens=3,
            at=draw(times),
        )
        for conversation in (1, 2)
        for position in range(1, count + 1)
    ]
    Flush.objects.create(workspace=workspace, session=made, conversation=1, cycle=1, up_to=count, actor="bot:b", at=NOW)
    return made, SessionEvent.objects.bulk_create(events)


def fill(workspace: Workspace, draw: Any) -> None:
    """Put something of every kind into a workspace."""
    Policy.objects.create(workspace=workspace, kind=PolicyKind.TTL, entry_type="fact", scope_kind="user", value=3)
    Channel.objects.create(workspace=workspace, platform="telegram", account="mybot", max_tokens=900, need="off")
    person = linking.link(workspace, [Peer("lark", "ou_9"), Peer("wechat", "wx3")], name="Ann", actor="u", now=NOW)
    Consent.objects.create(workspace=workspace, person=person, subject="memory", is_given=True, actor="u", at=NOW)
    for n in range(draw(st.integers(1, 2))):
        scope = Scope.objects.create(
            workspace=workspace,
            key=f"telegram:direct_u{n}",
            kind=ScopeKind.USER,
            label="Ann",
            frozen=draw(st.booleans()),
            nicknames={"Ann": "小雨"},
            projects=["atlas"],
            speakers=["小雨"],
            sender_names={"u42": "小雨"},
        )
        fill_scope(scope, n, draw)


def fill_scope(scope: Scope, n: int, draw: Any) -> None:
    workspace = scope.workspace
    made, events = session(workspace, scope, n, draw)
    origins = [made.origin_of(event) for event in events] + [made.origin(1, 1)]
    chosen = st.lists(st.sampled_from(origins), max_size=3, unique=True)
    days = DailyEvent.objects.bulk_create(
        DailyEvent(
            workspace=workspace,
            scope=scope,
            local_date=date(2026, 1, 1) + timedelta(day),
            content=draw(sentences),
            terms=[],
            source=Source.EXTRACTION,
            origins=draw(chosen),
            created_at=draw(times),
            updated_at=draw(times),
            expired_at=draw(maybe),
            compressed_at=draw(maybe),
            version=draw(st.integers(1, 4)),
        )
        for day in range(draw(st.integers(0, 2)))
    )
    entries = [entry(scope, draw) for _n in range(draw(st.integers(1, 5)))]
    for one in entries:
        one.origins = draw(chosen)
    Entry.objects.bulk_create(entries)
    quoted = [made.origin(1, 1), *(f"daily/{day.uid}" for day in days)]
    tie(scope, entries, quoted, draw)


def tie(scope: Scope, entries: list[Entry], quoted: list[str], draw: Any) -> None:
    """Hang on entries what can hang on them."""
    workspace = scope.workspace
    for entry in entries:
        other = draw(st.sampled_from(entries))
        if draw(st.booleans()) and other != entry:
            Entry.objects.filter(pk=entry.pk).update(superseded_by=other)
        if other != entry:
            kind = draw(st.sampled_from(list(LinkKind)))
            Link.objects.create(
                workspace=workspace, from_entry=entry, to_entry=other, kind=kind, created_at=NOW, version=2
            )
        Slot.objects.create(
            workspace=workspace, entry=entry, name="env", value=draw(words), version=draw(st.integers(1, 3))
        )
        Evidence.objects.create(
            workspace=workspace,
            entry=entry,
            origin=draw(st.sampled_from(quoted)),
            start=0,
            end=3,
            quote=draw(words),
            at=NOW,
        )
        if draw(st.booleans()):
            EntryAccess.objects.create(entry=entry, workspace=workspace, access_count=3, last_accessed=draw(maybe))
        if draw(st.booleans()):
            Entry.objects.filter(pk=entry.pk, expired_at=None).update(expired_at=NOW)
            Suppression.objects.create(
                workspace=workspace,
                scope=scope,
                entry=entry,
                fingerprint=entry.fingerprint,
                wordings=["f"],
                actor="bot:b",
                origins=entry.origins,
                created_at=NOW,
            )


def records(folder: Path) -> list[dict[str, Any]]:
    """The records of an export, without what says when it was made."""
    read = [json.loads(line) for line in (folder / "memory.jsonl").read_text().split("\n") if line]
    return [{name: value for name, value in item.items() if name != "number"} for item in read[1:]]


def derived() -> dict[Any, Any]:
    """What no export tells of entries, by their ids: it follows from their words."""
    return {
        uid: rest
        for uid, *rest in Entry.objects.values_list("uid", "fingerprint", "length", "scope__key", "scope__frozen")
    }


def new_workspace(name: str) -> Workspace:
    return Workspace.objects.create(name=f"{name} {uuid4().hex[:6]}")

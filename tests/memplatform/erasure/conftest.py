"""A workspace in which Ann said something everywhere, and Ben beside her."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType

from channels_app import cards
from channels_app.models import (
    Channel,
    Chat,
    Connection,
    Consent,
    Contact,
    IncomingMessage,
    Notice,
    OutgoingMessage,
    PathComparison,
    Person,
    ReplayedRecord,
)
from channels_app.people import linking
from channels_app.people.peers import Peer
from memories import batches, entries
from memories.batches import bulk_actions
from memories.batches.steps import CreateStep, PlanRow
from memories.choices import EntryType, HoldReason, LinkKind, ScopeKind, Source
from memories.entries import daily_events
from memories.entries.daily_events import EventDraft
from memories.files import disk
from memories.files.layout import places_of_scope, scope_folder
from memories.index import worker
from memories.models import BotKey, Entry, Evidence, JobRun, Link, Scope, Workspace
from memories.offline import journal
from memories.offline.journal import Record, Stream
from memplatform.erasure.person import Identity
from sessions_app.models import Flush, Session, SessionEvent
from tests.conftest import NOW, Api, make_draft, make_grant, make_key
from tests.memories.quoting import refuse
from tests.memories.webhooks.conftest import make_webhook

#: In all that is Ann's, and in nothing of Ben's.
CANARY, PEER = "qzcanary", "annqz7"
ANN = Identity("telegram", PEER)
BEN = "ben42"


def direct(peer: str) -> dict[str, Any]:
    return {"platform": "telegram", "account": "mybot", "peer": peer, "chat": f"chat-{peer}"}


def group(peer: str) -> dict[str, Any]:
    return {**direct(peer), "chat": "g1", "is_group": True}


@dataclass
class Town:
    """The workspace, and what of it has to be as it was afterwards."""

    workspace: Workspace
    api: Api
    group: Scope
    ben: Scope

    def of_ben(self) -> list[Any]:
        """What Ben's memories say, in which state."""
        scopes = [self.ben.pk, self.group.pk]
        rows = Entry.objects.filter(scope__in=scopes).exclude(content__contains=CANARY).order_by("pk")
        names = ("uid", "content", "scope_id", "origins", "chats", "stated_at", "importance", "expired_at", "sender_id")
        return list(rows.values_list(*names))


def word(place: str) -> str:
    """A sentence of Ann's with the canary of a place."""
    return f"my {CANARY}{place} stood in the shed behind the house"


@pytest.fixture
def town(workspace: Workspace, api: Api) -> Iterator[Town]:
    for root in (Path(settings.MEMORY_OFFLINE_ROOT) / "journal", Path(settings.ERASURES_ROOT)):
        shutil.rmtree(root, ignore_errors=True)
    make_webhook(workspace, "https://receiver.example/")
    for peer, words in ((PEER, word("turn")), (BEN, "I bought a green bicycle on Tuesday")):
        _say(api, direct(peer), words)
        _say(api, group(peer), f"{words} at noon")
    scopes = {scope.key: scope for scope in Scope.objects.filter(workspace=workspace)}
    own = scopes[f"telegram:direct_{PEER}"]
    made = Town(workspace, api, scopes["telegram:mybot:group_g1"], scopes[f"telegram:direct_{BEN}"])
    _remember(own, made.group)
    _converse(made.group)
    _plan(workspace, own)
    _write_files(workspace, own, made.group)
    _record(workspace)
    _link(workspace)
    _let_in(workspace)
    for who in (direct(PEER), group(PEER), group(BEN)):
        asked = api.post(
            "recall",
            {"address": who, "message": f"what stood in the shed? {CANARY}"[: 26 if who["peer"] == BEN else 99]},
        )
        assert asked.status_code == 200, asked.content
    worker.drain(now=NOW)
    yield made


def _say(api: Api, address: dict[str, Any], words: str) -> None:
    body = {
        "address": address,
        "user": words,
        "assistant": "Noted.",
        "sender_name": f"{CANARY}name" if address["peer"] == PEER else "Ben",
    }
    answer = api.post("turns", body, **{"Idempotency-Key": str(uuid4())})
    assert answer.status_code == 201, answer.content


def _link(workspace: Workspace) -> None:
    """Ann also writes from Lark; somebody else was taken for her once."""
    mistaken = [Peer("telegram", PEER), Peer("wechat", "wx9")]
    person = linking.link(workspace, mistaken, name="Somebody", actor="user:op", now=NOW)
    for identity in person.identities.all():
        linking.separate(identity, actor="user:op", now=NOW)
    both = [Peer("telegram", PEER), Peer("lark", f"{PEER}lark")]
    person = linking.link(workspace, both, name=f"{CANARY}person", actor="user:op", now=NOW)
    Person.objects.filter(pk=person.pk).update(note=word("personnote"))
    Consent.objects.create(
        workspace=workspace, person=person, subject="memory", is_given=True, note=word("consent"), actor="a", at=NOW
    )
    shared = Scope.objects.begin(workspace.pk, person.scope_key, ScopeKind.USER)
    _fact(shared, word("shared"))
    cards.forget_channels(workspace.pk)
    cards.keep_channels(workspace.pk, now=NOW)


def _let_in(workspace: Workspace) -> None:
    """A client of MCP has a key for Ann's memory."""
    bot = workspace.bots.first()
    assert bot
    grant = make_grant(bot, get_user_model().objects.create_user("who let it in"), peer=PEER)
    key, _token = BotKey.issue(bot, permissions=["read"], scope_patterns=[f"telegram:direct_{PEER}"])
    BotKey.objects.filter(pk=key.pk).update(grant=grant)


def _origins(peer: str) -> tuple[str, ...]:
    events = SessionEvent.objects.filter(sender_id=peer, session__is_group=True).select_related("session")
    return tuple(one.session.origin_of(one) for one in events)


def _fact(scope: Scope, content: str, **more: Any) -> Entry:
    draft = make_draft(scope, content, type=EntryType.FACT, source=Source.EXTRACTION, **{"tier": 2, **more})
    return entries.remember(draft, now=NOW, actor="job:extract").entry


def _remember(own: Scope, chat: Scope) -> None:
    """Facts, days and links, of Ann alone and of both."""
    fact = _fact(own, word("fact"))
    entries.update(fact, entries.Edit(columns={"content": word("edited")}), now=NOW, actor="user:op")
    of_ann = _fact(chat, word("groupfact"), origins=_origins(PEER))
    Evidence.objects.create(
        workspace=chat.workspace, entry=of_ann, origin=_origins(PEER)[0], start=0, end=9, quote=word("quote"), at=NOW
    )
    both = _fact(chat, word("bothfact"), origins=(*_origins(PEER), *_origins(BEN)))
    profile = _fact(chat, word("profile"), tier=1)
    bens = _fact(chat, "Ben owns a green bicycle", origins=_origins(BEN))
    merged = _fact(chat, word("merged"))
    place = {"workspace": chat.workspace, "created_at": NOW}
    Link.objects.create(from_entry=both, to_entry=profile, kind=LinkKind.SOURCE_OF, **place)
    for part in (of_ann, bens):
        Link.objects.create(from_entry=merged, to_entry=part, kind=LinkKind.MERGED_FROM, **place)
    Entry.objects.filter(pk=bens.pk).update(superseded_by=merged, archived_at=NOW)
    gone = _fact(own, word("suppressed"))
    entries.expire(gone, now=NOW, actor="user:op", suppress=True)
    days = [
        EventDraft(scope=own, local_date=NOW.date(), content=word("day")),
        EventDraft(scope=chat, local_date=NOW.date(), content=word("groupday"), origins=_origins(PEER)),
        EventDraft(scope=chat, local_date=NOW.date(), content="Ben bought a bicycle", origins=_origins(BEN)),
        EventDraft(
            scope=chat, local_date=NOW.date(), content=word("note"), source=Source.COMPRESSION,
            origins=(*_origins(PEER), *_origins(BEN)),
        ),
    ]  # fmt: skip
    daily_events.mark_compressed(daily_events.write(days, now=NOW, actor="t"), now=NOW, actor="t")
    refuse(own.workspace, word("refused"), quote=word("refusedquote"), origins=[*_origins(PEER)], at=NOW)


def _converse(chat: Scope) -> None:
    session = Session.objects.get(is_group=True)
    place = {"workspace": chat.workspace, "session": session, "conversation": 1}
    SessionEvent.objects.create(position=90, kind="summary", content=word("summary"), at=NOW, **place)
    Flush.objects.create(cycle=1, up_to=2, actor="t", goes_on_with=word("goeson"), at=NOW, **place)


def _plan(workspace: Workspace, own: Scope) -> None:
    chat = Scope.objects.get(key="telegram:mybot:group_g1")
    for scope in (own, chat):
        draft = make_draft(scope, word("planned"), origins=_origins(PEER))
        plan = batches.plan(
            scope, [PlanRow(step=CreateStep(draft=draft))], name="t", run=f"t:{scope.pk}", actor="t", now=NOW
        )
        batches.require_approval(plan, HoldReason.CONTRADICTED, rows=1)
    turns = Entry.objects.filter(scope=own, type=EntryType.CHAT_TURN)
    bulk_actions.apply_action(list(turns), bulk_actions.EXPIRE, now=NOW, actor="user:op", reason=word("reason"))


def _write_files(workspace: Workspace, own: Scope, chat: Scope) -> None:
    for scope in (own, chat):
        folder = scope_folder(workspace.folder, scope.key)
        bens = "- Ben owns a green bicycle\n" if scope == chat else ""
        disk.append(folder, folder.daily(NOW.date()), f"- {word('groupfact')}\n{bens}")
        disk.append(folder, folder.transcript(NOW.date()), f"- {CANARY}name: {word('turn')} at noon\n- Ben: hello\n")
        _here, before = places_of_scope(folder.workspace, scope.key)  # where it lay once, and is read no more
        disk.append(before, before.long_term, f"- {word('groupfact')}\n")


def _record(workspace: Workspace) -> None:
    """What no id leads to."""
    ReplayedRecord.objects.create(
        uid=uuid4(), workspace=workspace, platform="telegram", kind="turn", outcome="parked", reason="x",
        body={"body": {"request": {"user": word("replayed"), "address": direct(PEER)}}},
        accepted_at=NOW, replayed_at=NOW,
    )  # fmt: skip
    channel = Channel.objects.filter(workspace=workspace, platform="telegram").first()
    row = Connection.objects.create(workspace=workspace, channel=channel)
    place = {"workspace": workspace, "connection": row}
    chat = Chat.objects.create(**place, key=PEER, place=PEER, title=word("turn"))
    Contact.objects.create(**place, peer=PEER, name=word("turn"))
    body = {"text": word("turn")}
    IncomingMessage.objects.create(
        **place, chat=chat, key="1", kind="message", peer=PEER, body=body, sent_at=NOW, received_at=NOW, due_at=NOW
    )
    OutgoingMessage.objects.create(**place, chat=chat, body=body, created_at=NOW)
    Notice.objects.create(**place, peer=PEER, at=NOW)
    PathComparison.objects.create(
        workspace=workspace, platform="telegram", message=word("turn"), only_files=[{"content": word("fact")}],
        created_at=NOW,
    )  # fmt: skip
    JobRun.objects.create(job="x", workspace=workspace, local_date=NOW.date(), started_at=NOW, error=word("turn"))
    user = get_user_model().objects.create_user("clerk")
    kind = ContentType.objects.get_for_model(Entry)
    entry = Entry.objects.filter(content__contains=CANARY).earliest("pk")
    LogEntry.objects.create(
        user=user, content_type=kind, object_id=str(entry.pk), object_repr=entry.content[:80], action_flag=CHANGE
    )
    request = {"address": direct(PEER), "user": word("journal"), "assistant": "x"}
    kept = Record(uid=uuid4(), kind="turn", accepted_at=NOW.isoformat(), body={"request": request})
    request = {"address": direct(BEN), "user": "hi"}
    other = Record(uid=uuid4(), kind="turn", accepted_at=NOW.isoformat(), body={"request": request})
    for record in (kept, other):
        journal.append(Stream(workspace.pk, "telegram", "mybot"), record)


def files_with(words: str) -> list[str]:
    """The files of memory, and of what is kept for the time without a database, that hold some words."""
    roots = (settings.MEMORY_FILES_ROOT, settings.MEMORY_OFFLINE_ROOT, settings.ERASURES_ROOT)
    files = (path for root in roots for path in Path(root).rglob("*") if path.is_file())
    return [str(path) for path in files if words.encode() in path.read_bytes() or words in path.name]


def drain_journal() -> None:
    """Without pending calls, turns are stored at once."""
    shutil.rmtree(Path(settings.MEMORY_OFFLINE_ROOT) / "journal", ignore_errors=True)


LATER = NOW + timedelta(hours=1)
__all__ = ["ANN", "BEN", "CANARY", "LATER", "PEER", "Town", "make_key"]

"""What is no question: talk the bot overhears, messages that are changed or taken back, members who leave or return.

Nothing is deleted: what goes out of memory goes in a batch an operator can undo.
"""

from datetime import datetime
from uuid import uuid4

from django.db import transaction
from django.db.models import Q

from channels_app import addresses
from channels_app.models import Chat, IncomingMessage, MessageKind, MessageState, OutgoingMessage
from channels_app.platforms.answering import Written, lock_unanswered
from channels_app.turns import report_turn
from memories import batches, entries
from memories.batches import bulk_actions
from memories.choices import ScopeKind
from memories.consolidation.capture import Turn
from memories.exceptions import PlatformError
from memories.models import Batch
from memories.models.state import LIVE
from memories.visibility import visible_entries
from sessions_app.models import SENDER_NAME, EventKind, SessionEvent
from sessions_app.reports import append_report

_TALK = (EventKind.USER, EventKind.AMBIENT)


def overhear(message: Written, *, now: datetime) -> None:
    """Keep what is said in a group and not to the bot: as talk around the conversation."""
    incoming = message.incoming
    event = SessionEvent(
        kind=EventKind.AMBIENT,
        sender_id=incoming.peer,
        content=incoming.text,
        data={SENDER_NAME: incoming.name} if incoming.name else {},
        at=min(incoming.sent_at, now),
    )
    with transaction.atomic():
        lock_unanswered(message)
        session, _resolution, _scopes = addresses.open_session(message.caller, message.address, now=now)
        events, _directives = append_report(message.caller, session, [event], history=None, max_tokens=None, now=now)
        ids = [event.pk for event in events]
        IncomingMessage.objects.filter(pk=message.row.pk).update(state=MessageState.DONE, error="", events=ids)


def follow(message: Written, *, now: datetime) -> None:
    """Let memory follow a message that was changed or taken back, or a member who left or returned."""
    match message.incoming.kind:
        case MessageKind.EDITED:
            _edit(message, now)
        case MessageKind.RECALLED:
            original = _original(message)
            if original and original.state == MessageState.WAITING:
                IncomingMessage.objects.filter(pk=original.pk).update(
                    state=MessageState.DONE, error="recalled", body={}
                )
            elif original:
                with transaction.atomic():
                    take_out(message, original, reason="recalled", now=now)
                    IncomingMessage.objects.filter(pk=original.pk).update(body={}, error="recalled")
        case MessageKind.LEFT if message.incoming.is_group and message.connection.retires_leavers:
            _retire(message, now)
        case MessageKind.JOINED if message.incoming.is_group:
            rows = IncomingMessage.objects.filter(
                chat=message.row.chat, peer=message.incoming.peer, kind=MessageKind.LEFT, body__has_key="batches"
            )  # Telegram tells of one leaving twice, and the second finds nothing to take out
            departure = rows.order_by("-pk").first()
            uids = departure.body["batches"] if departure else []
            for batch in Batch.objects.filter(workspace_id=message.workspace.pk, uid__in=uids):
                try:
                    undo = batches.plan_undo(batch, actor=message.caller.actor, now=now, reason="returned")
                    batches.apply_batch(undo, now=now)
                except PlatformError:  # undone by an operator meanwhile
                    continue


def _original(message: Written) -> IncomingMessage | None:
    """The newest words of the message that is meant, from the same person."""
    rows = IncomingMessage.objects.filter(chat=message.row.chat, message=message.incoming.message)
    rows = rows.filter(kind__in=(MessageKind.MESSAGE, MessageKind.EDITED)).exclude(pk=message.row.pk)
    if message.incoming.peer:
        rows = rows.filter(peer=message.incoming.peer)
    return rows.filter(Q(kind=MessageKind.MESSAGE) | ~Q(events=[])).order_by("-pk").first()


def _edit(message: Written, now: datetime) -> None:
    """The former words go out of memory and history, the new ones take their place."""
    original, incoming = _original(message), message.incoming
    if original is None or original.body.get("text") == incoming.text:
        return
    if original.state == MessageState.WAITING:  # nobody has read it yet
        IncomingMessage.objects.filter(pk=original.pk).update(body={**original.body, "text": incoming.text})
        return
    with transaction.atomic():
        former = take_out(message, original, reason="edited", now=now)
        event_by_kind = {event.kind: event for event in former}
        if EventKind.USER in event_by_kind:
            answer = event_by_kind[EventKind.ASSISTANT].content if EventKind.ASSISTANT in event_by_kind else ""
            turn = Turn(
                address=message.address,
                user=incoming.text,
                assistant=answer,
                at=min(original.sent_at, now),
                sender_name=incoming.name,
            )
            result = report_turn(message.caller, turn, used_ids=None, now=now)
            ids = [event.pk for event in result.events]
            IncomingMessage.objects.filter(pk=message.row.pk).update(events=ids)
        elif EventKind.AMBIENT in event_by_kind:
            overhear(message, now=now)


def take_out(message: Written, original: IncomingMessage, *, reason: str, now: datetime) -> list[SessionEvent]:
    """Take a message out of memory and of what is handed out of its conversation; its messages as they were.

    What rests on other messages as well stays. Nothing is made of these messages any more.
    """
    workspace, actor = message.workspace.pk, message.caller.actor
    events = list(SessionEvent.objects.filter(workspace_id=workspace, pk__in=original.events).select_related("session"))
    origins = [event.session.origin_of(event) for event in events]
    of_person = [origin for event, origin in zip(events, origins, strict=True) if event.kind in _TALK]
    if not of_person:
        return events
    resting = visible_entries(message.caller).filter(LIVE).filter(origins__overlap=of_person).select_related("scope")
    alone = [entry for entry in resting if set(entry.origins) <= set(origins)]
    if alone:
        bulk_actions.apply_action(alone, bulk_actions.CLEAR, now=now, actor=actor, reason=reason)
    scopes = {pk for event in events for pk in (event.session.user_scope_id, event.session.chat_scope_id) if pk}
    scopes |= {entry.scope_id for entry in alone}
    entries.cover_messages(workspace, scopes, of_person, run=f"{reason}:{uuid4()}", now=now, actor=actor)
    return events


def _retire(message: Written, now: datetime) -> None:
    """What somebody told a group before leaving it is out of the group's memory, until they return."""
    resolution = addresses.resolve_address(message.caller, message.address)
    statements = (
        visible_entries(message.caller)
        .filter(LIVE)
        .filter(scope__key=resolution.chat_scope, scope__kind=ScopeKind.CHAT)
    )
    rows = list(statements.filter(sender_id=message.incoming.peer).select_related("scope"))
    if not rows:
        return
    with transaction.atomic():
        result = bulk_actions.apply_action(
            rows, bulk_actions.ARCHIVE, now=now, actor=message.caller.actor, reason="left"
        )
        body = {**message.row.body, "batches": [str(batch.uid) for batch in result.batches]}
        IncomingMessage.objects.filter(pk=message.row.pk).update(body=body)


def move_chat(chat: Chat, key: str) -> None:
    """A chat has another id at its platform: its memory stays where it was, and what is to be sent goes there."""
    with transaction.atomic():
        other = Chat.objects.filter(connection_id=chat.connection_id, key=key).first()
        if other is None:
            Chat.objects.filter(pk=chat.pk).update(key=key)
        else:
            OutgoingMessage.objects.filter(chat=chat, state=MessageState.WAITING).update(chat=other)
            if other.place == other.key:
                Chat.objects.filter(pk=other.pk).update(place=chat.place)
    chat.refresh_from_db(fields=["key", "place"])

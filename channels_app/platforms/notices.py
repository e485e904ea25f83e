"""«Saved · undo»: people are told in the chat what was kept of what they wrote, and take it back with one tap.

What somebody asked to have kept is told at once; what was learnt, when it was. How often it is taken back says how
good that is.
"""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from channels_app.models import Chat, Connection, Contact, Notice, NoticeMode
from channels_app.people import linking
from channels_app.platforms import platform_named
from channels_app.platforms.answering import Written, queue, send
from channels_app.platforms.wire import Button, Outgoing
from channels_app.turns import TurnResult
from memories import batches
from memories.audit.models import AuditEvent, AuditRecord
from memories.batches import bulk_actions
from memories.choices import BatchState, EntryType, ScopeKind
from memories.exceptions import PlatformError
from memories.language.confidential import mask
from memories.language.quoting import USER, sides_of
from memories.language.text import smart_truncate
from memories.models import Batch, Entry
from memories.models.state import LIVE
from memories.visibility import visible_entries

UNDO, BACK = "undo:", "back:"
RUN = "operator:"  # how the run of several batches begins
#: Reasons of batches that people make in a chat; the last two replace other words, of which the third are new entries.
FORGOTTEN, CORRECTED, REPLACED = "forgotten in the chat", "corrected in the chat", "replaced in the chat"
#: What is learnt without being asked for; what is kept on purpose is told with its turn.
_LEARNT = (EntryType.FACT, EntryType.USER_EXPLICIT)
#: A transaction under way may have an older number: what is so young waits for the next look.
_UNSETTLED = timedelta(seconds=3)
_MOST, _CHARS = 5, 160
DAILY = timedelta(days=1)


def announce_turn(message: Written, result: TurnResult, *, now: datetime) -> None:
    """Tell of what a turn asked to have kept."""
    if message.connection.notices != NoticeMode.EACH:
        return
    entries = [write.entry for write in result.written if write.is_kept_for_good and write.reason is None]
    if not entries:
        return
    with transaction.atomic():
        announce(message.connection, message.incoming.peer, message.row.chat, entries, is_asked=True, now=now)


def announce_new_memories(connection: Connection, *, now: datetime) -> int:
    """Tell the people of a connection what was learnt of them since the last time; how many were told."""
    if connection.notices == NoticeMode.OFF:
        return 0
    if connection.notices == NoticeMode.DAILY and connection.noticed_at and now - connection.noticed_at < DAILY:
        return 0
    settled = Entry.objects.filter(workspace_id=connection.workspace_id, created_at__lte=now - _UNSETTLED)
    newest = settled.order_by("-pk").values_list("pk", flat=True).first() or 0
    since, people = connection.noticed_entry, 0
    with transaction.atomic():
        mine = Connection.objects.filter(pk=connection.pk, noticed_entry=since)
        if not mine.update(noticed_entry=max(newest, since or 0), noticed_at=now) or since is None or newest <= since:
            return 0
        channel = connection.channel
        new = visible_entries(connection.workspace.caller("notices")).filter(LIVE).filter(
            pk__gt=since, pk__lte=newest, type__in=_LEARNT, scope__kind=ScopeKind.USER, channel=channel.platform
        )  # fmt: skip
        by_peer: defaultdict[str, list[Entry]] = defaultdict(list)
        rows = list(new.exclude(sender_id="").order_by("pk"))
        carried_pks = (
            linking.was_carried(connection.workspace_id, rows) if rows else ()
        )  # was told before, in a memory that was another then
        for entry in rows:
            if entry.pk not in carried_pks:
                by_peer[entry.sender_id].append(entry)
        uids = [entry.uid for rows in by_peer.values() for entry in rows]
        before = Notice.objects.filter(connection=connection, entries__overlap=uids) if uids else Notice.objects.none()
        announced_uids = {uid for notice in before for uid in notice.entries}
        contacts = Contact.objects.filter(connection=connection, peer__in=by_peer)
        chats = {chat.key: chat for chat in Chat.objects.filter(connection=connection, is_group=False)}
        # The direct chat of each of these people, where they wrote in one
        incoming = connection.incoming.filter(peer__in=list(by_peer), chat__is_group=False).order_by("pk")
        latest = dict(incoming.values_list("peer", "chat__key"))
        for contact in contacts:
            chat = chats.get(latest.get(contact.peer, contact.peer))
            rows = [entry for entry in by_peer[contact.peer] if entry.uid not in announced_uids]
            if chat is not None and rows:
                with translation.override(contact.language or connection.workspace.language):
                    announce(connection, contact.peer, chat, rows, is_asked=False, now=now)
                people += 1
    return people


def announce(
    connection: Connection, peer: str, chat: Chat, rows: Sequence[Entry], *, is_asked: bool, now: datetime
) -> None:
    """Put one message with what was kept, and a way to undo it, among what is to be sent to somebody."""
    notice = Notice.objects.create(
        workspace_id=connection.workspace_id,
        connection=connection,
        peer=peer,
        entries=[entry.uid for entry in rows],
        at=now,
    )
    texts = list(dict.fromkeys(shown_words(entry) for entry in rows))
    head = _("Saved:") if is_asked else _("Learnt about you:")
    more = len(texts) - _MOST
    lines = [f"{head} {texts[0]}"] if len(texts) == 1 else [head, *(f"• {words}" for words in texts[:_MOST])]
    if more > 0:
        lines.append(ngettext("… and %(n)d more: /memory", "… and %(n)d more: /memory", more) % {"n": more})
    platform = platform_named(connection.channel.platform)
    if not platform.has_buttons:
        lines.append(_("Not right? Write /undo."))
    buttons = (Button(label=_("Undo"), target=f"{UNDO}{notice.uid}"),) if platform.has_buttons else ()
    private = peer if chat.is_group else ""
    message = Outgoing(chat=chat.key, text="\n".join(lines), buttons=buttons, peer=private)
    queue(connection, chat.pk, message, now=now)


def plain_words(entry: Entry, chars: int = _CHARS) -> str:
    """A memory as its person reads it in a chat: their own words, short, on one line, without secrets."""
    sides = sides_of(entry.content)
    words = (sides and sides[0]) or entry.content.removeprefix(USER)  # nobody has answered
    return " ".join(smart_truncate(mask(words), chars).split())


def shown_words(entry: Entry) -> str:
    """The same between quotation marks."""
    return f"“{plain_words(entry)}”"


def pressed(message: Written, *, now: datetime) -> None:
    """Do what a button stands for, for the person it was shown to and nobody else."""
    target = message.incoming.target
    if target.startswith(UNDO):
        undo_notice(message, target.removeprefix(UNDO), now=now)
    elif target.startswith(BACK):
        bring_back(message, target.removeprefix(BACK), now=now)


def undo_last(message: Written, *, now: datetime) -> None:
    """Undo what was done last: bring back what was forgotten, the words before a correction, or take back what was
    kept.
    """
    mine = Batch.objects.filter(workspace_id=message.workspace.pk, actor=message.actor, state=BatchState.APPLIED)
    of_chats = mine.filter(run__startswith=RUN, reason__in=(FORGOTTEN, CORRECTED, REPLACED))
    batch = of_chats.order_by("-created_at", "-pk").first()
    notice = _open_notices(message).order_by("-pk").first()
    if batch is not None and (notice is None or batch.created_at > notice.at):
        if batch.reason == REPLACED:  # what was written in its place would stand beside it
            send(message, _("There is nothing to undo."), now=now, is_private=True)
        else:
            bring_back(message, batch.run.removeprefix(RUN), now=now)
    else:
        undo_notice(message, str(notice.uid) if notice else "", now=now)


def _open_notices(message: Written) -> QuerySet[Notice]:
    """What somebody was told of and has not taken back."""
    return Notice.objects.filter(connection=message.connection, peer=message.incoming.peer, undone_at=None)


def undo_notice(message: Written, uid: str, *, now: datetime) -> None:
    """Take back what a notice told of."""
    uids = []
    with suppress(ValueError):  # nobody's
        uids.append(UUID(uid))
    notice = _open_notices(message).filter(uid__in=uids).select_for_update().first()
    if notice is None:
        send(message, _("There is nothing to undo."), now=now, is_private=True)
        return
    rows = list(visible_entries(message.caller).filter(LIVE).filter(uid__in=notice.entries).select_related("scope"))
    if rows:
        bulk_actions.apply_action(rows, bulk_actions.EXPIRE, now=now, actor=message.actor, reason="undone in the chat")
    Notice.objects.filter(pk=notice.pk).update(undone_at=now)
    note(message, {"undone": len(rows)}, now=now)
    send(message, _("Undone: it is no longer remembered."), now=now, is_private=True)


def bring_back(message: Written, run: str, *, now: datetime) -> None:
    """Bring back what somebody had forgotten; nothing but what they themselves took out."""
    mine = Batch.objects.filter(workspace_id=message.workspace.pk, actor=message.actor, run=f"{RUN}{run}")
    count = 0
    for batch in mine.filter(state=BatchState.APPLIED).order_by("pk"):
        try:
            undo = batches.plan_undo(batch, actor=message.actor, now=now, reason="undone in the chat")
            count += sum(batches.apply_batch(undo, now=now).counts.values())
        except PlatformError:  # undone already
            continue
    note(message, {"restored": count}, now=now)
    send(message, _("It is remembered again.") if count else _("There is nothing to undo."), now=now, is_private=True)


def note(message: Written, details: dict[str, object], *, now: datetime) -> None:
    """Write down in the audit log what a person did to their memory; no words of it."""
    AuditRecord.note(
        AuditEvent.OWN_MEMORY,
        actor=message.actor,
        at=now,
        workspace_id=message.workspace.pk,
        about=str(message.connection),
        details=details,
    )

"""Accounts that send nothing by themselves: what is for somebody is handed out in the answer to a call of theirs.

The message is stored and worked on as ever, by another process; the call waits for what comes of it. A call that is
not answered in time is made again, up to three times in all, and each waits for the same answer. What is not ready by
then, or does not fit, is kept until that person writes again.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F
from django.utils import translation
from django.utils.translation import gettext as _

from channels_app.models import Connection, IncomingMessage, MessageKind, MessageState, OutgoingMessage
from channels_app.platforms.answering import read_stored
from channels_app.platforms.wire import Received

#: The platform takes an answer for five seconds, then it cuts the call and makes it again: after so long an answer is
#: left to the next call, and after so long this one is certainly cut.
ANSWER_WITHIN, CUT_AFTER = timedelta(seconds=4.5), timedelta(seconds=5.5)
#: A call that comes so long after the first is the last.
LAST_AFTER = timedelta(seconds=9)
LOOK_SECONDS = 0.1
BYTES = 2048  # of an answer
_HELD = {"state": MessageState.HELD}


def answer_to(
    connection: Connection, received: Received, *, clock: Callable[[], datetime], sleep: Callable[[float], None]
) -> str:
    """The text a call is answered with; empty: with none."""
    message = next((message for message in received.messages if message.kind == MessageKind.MESSAGE), None)
    if message is None:
        return ""
    rows = IncomingMessage.objects.filter(connection=connection, key=message.key, peer=message.peer)
    row = rows.select_related("chat", "connection__channel", "connection__workspace").first()
    if row is None:
        return ""
    began = clock()
    while clock() < began + ANSWER_WITHIN:
        is_done = IncomingMessage.objects.filter(pk=row.pk, state__in=(MessageState.DONE, MessageState.FAILED)).exists()
        if is_done and not OutgoingMessage.objects.filter(chat=row.chat_id, state=MessageState.WAITING).exists():
            return _hand_out(row, clock())
        sleep(LOOK_SECONDS)
    if began - row.received_at >= LAST_AFTER:
        return _hand_out(row, clock())
    sleep(max(0.0, (began + CUT_AFTER - clock()).total_seconds()))
    return ""


def _hand_out(row: IncomingMessage, now: datetime) -> str:
    """What waits for somebody, as much as fits; a call that is made again gets the same."""
    mark = f"call:{row.key}"[:200]
    with transaction.atomic(), translation.override(read_stored(row).language):
        earlier_rows = OutgoingMessage.objects.filter(chat=row.chat_id, message=mark).order_by("pk")
        waiting_rows = OutgoingMessage.objects.filter(chat=row.chat_id, **_HELD).select_for_update().order_by("pk")
        rows = list(earlier_rows) or list(waiting_rows)
        fitting = max(
            1, next((n for n in range(len(rows), 0, -1) if len(_text(rows, n, row.key).encode()) <= BYTES), 1)
        )
        pks = [message.pk for message in rows[:fitting]]
        columns = {"state": MessageState.DONE, "message": mark, "sent_at": now, "error": ""}
        OutgoingMessage.objects.filter(pk__in=pks, **_HELD).update(**columns, attempts=F("attempts") + 1)
        return _text(rows, fitting, row.key).encode()[:BYTES].decode(errors="ignore") if rows else ""


def _text(rows: Sequence[OutgoingMessage], count: int, key: str) -> str:
    """The first messages as one text: which of them answer something earlier, and that there are more, is said."""
    parts, is_earlier = [], False
    for row in rows[:count]:
        token = row.body.get("token", key)
        if token != key and not is_earlier:
            parts.append(_("To what you wrote earlier:"))
        elif token == key and is_earlier:
            parts.append(_("To your message:"))
        is_earlier = token != key
        parts.append(str(row.body.get("text", "")))
    if count < len(rows):
        parts.append(_("(There is more: write to me again.)"))
    return "\n".join(parts)

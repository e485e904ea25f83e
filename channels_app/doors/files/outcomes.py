"""Whether a transaction whose end nobody heard has written what it was to write."""

from collections.abc import Sequence
from datetime import datetime

from django.db import DataError, connection, transaction
from django.db.models import BigIntegerField
from django.db.models.expressions import RawSQL

from memories.offline.database import Transaction
from memories.offline.journal import Record
from sessions_app.models import Session, SessionEvent

#: What a call writes to its session: texts, each with its time.
Messages = Sequence[tuple[str, datetime]]
_NUMBERS = 2**32  # of a row: those of transactions, without their epoch


class StillRunning(Exception):
    """The transaction has not ended yet; its record waits, and those behind it."""


def is_written(record: Record, messages: Messages, workspace_id: int) -> bool:
    """Whether the transaction of a record was committed, and wrote one of its messages. Raises StillRunning.

    Its number alone is no proof: a server that crashed gives a number it had not written down yet to another
    transaction. A call without messages, a reset, is applied again: that changes nothing.
    """
    if record.transaction is None or not messages:
        return False
    told = Transaction(**record.transaction)
    status = _status(told.number)
    if status == "in progress":
        raise StillRunning
    return status == "committed" and _has_written(told, messages, workspace_id)


def _status(number: str) -> str | None:
    """What became of a transaction; None: it was never begun, or so long ago that nobody knows."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_xact_status(%s::text::xid8)", [number])
            return str(cursor.fetchone()[0])
    except DataError:  # a number of the future: the server has forgotten that it gave it
        return None


def _has_written(told: Transaction, messages: Messages, workspace_id: int) -> bool:
    place = {"platform": told.platform, "account": told.account, "key": told.session_key}
    session = Session.objects.filter(workspace_id=workspace_id, **place).first()
    if session is None:
        return False
    number = RawSQL("sessions_app_sessionevent.xmin::text::bigint", [], output_field=BigIntegerField())
    rows = SessionEvent.objects.filter(session=session, at__in=[at for _text, at in messages]).annotate(by=number)
    written = set(rows.filter(by=int(told.number) % _NUMBERS).values_list("content", "at"))
    return not written.isdisjoint(messages)

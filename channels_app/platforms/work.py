"""The work of connections: a chat at a time, its messages in their order, each answered and each answer sent once.

The row of a chat is the lease: any number of processes work side by side, and what a killed one leaves behind
another takes up when the lease is over. A process that was away for longer than its lease finds another id in the
row, and leaves the chat to it.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import uuid4

import structlog
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Greatest
from django.utils import translation

from channels_app.models import (
    AT_PLATFORM,
    Chat,
    Connection,
    ConnectionProblem,
    Contact,
    IncomingMessage,
    MessageKind,
    MessageState,
    OutgoingMessage,
    Receiving,
)
from channels_app.platforms import SENT_WHERE_PULLED, answering, commands, following, notices, platform_named
from channels_app.platforms.answering import NoAnswer, Written
from channels_app.platforms.intake import account_of, cleaned
from channels_app.platforms.wire import (
    Account,
    ChatMoved,
    Incoming,
    KeyRefused,
    NotDeliverable,
    OnlyInCall,
    Outgoing,
    Platform,
    PlatformFailure,
    TryLater,
)
from memories.conf import conf
from memories.exceptions import PlatformError, SessionBusy
from memories.offline import replicas
from memories.secrets import SecretUnreadable

log = structlog.get_logger(__name__)
Clock = Callable[[], datetime]
LEASE = timedelta(seconds=20)  # renewed while somebody works
TURN = timedelta(seconds=60)  # of one chat, before another
RETRY_FIRST, RETRY_LONGEST = timedelta(seconds=2), timedelta(minutes=15)
#: A connection whose key is refused is tried again so much later, or when its owner pastes another.
REST = timedelta(minutes=10)
_WRITTEN = (MessageKind.MESSAGE, MessageKind.EDITED)


def claim_chat(*, now: datetime, pulled: Collection[int] = ()) -> Chat | None:
    """Take up a chat in which something is to be done and nobody works; None where there is none.

    It is this process's until LEASE is over; `renew` prolongs that. `pulled`: the connections it receives for.
    """
    bound = Q(connection__channel__platform__in=SENT_WHERE_PULLED, connection__receiving=Receiving.PULL)
    due = Chat.objects.due(now=now).filter(~bound | Q(connection__in=list(pulled))).order_by("retry_at", "pk")
    claimed = due.claim(1, retry_at=now + LEASE, lease=uuid4())
    chats = Chat.objects.select_related("connection__channel", "connection__workspace")
    return chats.get(pk=claimed[0].pk) if claimed else None


def renew(chats: Collection[Chat], *, now: datetime) -> None:
    """Keep chats that are being worked on."""
    mine = Chat.objects.filter(pk__in=[chat.pk for chat in chats], lease__in=[chat.lease for chat in chats])
    mine.update(retry_at=Greatest("retry_at", now + LEASE))


def work_on(chat: Chat, clock: Clock) -> None:
    """Do what is to be done in a chat that was claimed."""
    _Work(chat, clock).until_nothing_waits()


class LeaseLost(Exception):
    """Another process works on this chat now."""


class _Work:
    """What is done in one chat under one lease."""

    def __init__(self, chat: Chat, clock: Clock) -> None:
        self._chat, self._clock = chat, clock
        self._connection: Connection = chat.connection
        self._platform: Platform = platform_named(self._connection.channel.platform)
        self._mine = Chat.objects.filter(pk=chat.pk, lease=chat.lease)

    def until_nothing_waits(self) -> None:
        """Send and answer until nothing is due, or until the platform or the answerer fails."""
        try:
            account = account_of(self._connection)
            until = self._clock() + TURN
            self._keep_lease()
            while self._clock() < until and (self._send_next(account) or self._answer_next(account)):
                self._keep_lease()
        except (LeaseLost, answering.AlreadyAnswered):
            log.warning("channel.lease_lost", chat=self._chat.pk)
            return
        except SecretUnreadable:
            self._stop(ConnectionProblem.SECRET)
        except KeyRefused:
            self._stop(ConnectionProblem.REFUSED)
        except TryLater as refusal:
            pause = timedelta(seconds=refusal.seconds) if refusal.seconds is not None else None
            self._pause(ConnectionProblem.AWAY if pause is None else ConnectionProblem.NONE, pause)
            return
        except NoAnswer as failure:
            self._pause(failure.problem, None)
            return
        self._mine.update(retry_at=None, lease=None, failures=0)

    def _keep_lease(self) -> None:
        """Go on for another while. Raises LeaseLost."""
        if not self._mine.update(retry_at=self._clock() + LEASE):
            raise LeaseLost

    def _send_next(self, account: Account) -> bool:
        """Send what waits longest; whether there was something. Raises KeyRefused, TryLater."""
        row = OutgoingMessage.objects.filter(chat=self._chat, state=MessageState.WAITING).order_by("pk").first()
        if row is None:
            return False
        message = Outgoing.read(self._chat.key, str(row.uid), row.body)
        now = self._clock()
        try:
            message_id = self._platform.send(message, account)
            self._settle(row, state=MessageState.DONE, message=message_id, sent_at=self._clock(), error="")
            Connection.objects.filter(pk=self._connection.pk).clear_problem(AT_PLATFORM)
        except OnlyInCall:
            self._settle(row, state=MessageState.HELD)
        except ChatMoved as moved:
            following.move_chat(self._chat, moved.chat)
        except NotDeliverable as refusal:
            self._settle(row, state=MessageState.FAILED, error=str(refusal)[:200])
            if message.peer:  # what is private to somebody who never wrote to the bot alone: say so, and nothing else
                words = commands.write_to_me_first(message.peer, self._connection)
                other = replace(message, text=words, peer="", buttons=(), file_name="")
                answering.queue(self._connection, self._chat.pk, other, now=now)
        except TryLater as refusal:
            if row.created_at <= now - conf.CHANNEL_GIVE_UP_AFTER:
                self._settle(row, state=MessageState.FAILED, error=str(refusal)[:200])
                return True
            log.warning("channel.send_postponed", message=str(row.uid), reason=str(refusal))
            self._settle(row, error=str(refusal)[:200])
            raise
        return True

    def _settle(self, row: OutgoingMessage, **columns: object) -> None:
        OutgoingMessage.objects.filter(pk=row.pk).update(attempts=F("attempts") + 1, **columns)

    def _answer_next(self, account: Account) -> bool:
        """Answer the next message; whether there was one. Raises NoAnswer, TryLater."""
        now = self._clock()
        rows = IncomingMessage.objects.filter(chat=self._chat).select_related("chat")
        if rows.filter(state=MessageState.OFFERED).exists():
            return False
        row = rows.filter(state=MessageState.WAITING, due_at__lte=now).order_by("sent_at", "sequence", "pk").first()
        if row is None:
            return False
        row.chat, row.connection = self._chat, self._connection
        stored_message = answering.read_stored(row)
        incoming = self._with_name(stored_message.incoming, account)
        answers = OutgoingMessage.objects.filter(chat=self._chat, state=MessageState.DONE, message=incoming.reply_to)
        message = replace(
            stored_message,
            incoming=replace(incoming, is_for_bot=incoming.is_for_bot or bool(incoming.reply_to and answers.exists())),
        )
        IncomingMessage.objects.filter(pk=row.pk).update(attempts=F("attempts") + 1)
        try:
            with translation.override(message.language):
                self._handle(message, account)
        except NoAnswer as failure:
            if not failure.is_final and row.attempts + 1 < conf.CHANNEL_ATTEMPTS:
                IncomingMessage.objects.filter(pk=row.pk).update(error=str(failure)[:200])
                raise
            self._give_up(message, failure)
        except SessionBusy:
            raise TryLater("busy", 1.0) from None
        except PlatformError as refusal:  # what it says cannot be taken; the next may
            log.warning("channel.message_refused", message=str(row.uid), reason=type(refusal).__name__)
            self._done(message, state=MessageState.FAILED, error=type(refusal).__name__)
        return True

    def _handle(self, message: Written, account: Account) -> None:
        """Do what a message asks for. Raises AlreadyAnswered, NoAnswer, TryLater, PlatformError."""
        incoming, now = message.incoming, self._clock()
        match incoming.kind:
            case MessageKind.BUTTON:
                with transaction.atomic():
                    answering.lock_unanswered(message)
                    notices.pressed(message, now=now)
                    self._done(message)
                with suppress(PlatformFailure):  # the button waits, and nobody else
                    self._platform.take_press(incoming, account)
            case MessageKind.MOVED:
                following.move_chat(self._chat, incoming.target)
                self._done(message)
            case MessageKind.EDITED | MessageKind.RECALLED | MessageKind.JOINED | MessageKind.LEFT:
                following.follow(message, now=now)
                self._done(message)
            case _ if not incoming.peer:
                self._done(message, error="nobody")
            case _ if self._connection.has_commands and (command := commands.asked(message, now)):
                with transaction.atomic():
                    answering.lock_unanswered(message)
                    commands.carry_out(message, command, now=now)
                    self._done(message)
            case _ if not incoming.is_for_bot:
                following.overhear(message, now=now)
            case _:
                with suppress(PlatformFailure):  # nobody waits for it
                    self._platform.show_typing(self._chat.key, account)
                result = answering.answer(message, self._clock)
                if result is not None:
                    notices.announce_turn(message, result, now=self._clock())
        replicas.note_write_after_commit(self._chat.workspace_id)

    def _with_name(self, incoming: Incoming, account: Account) -> Incoming:
        """A message with the name of who wrote it, where the platform says that elsewhere."""
        if incoming.name or not incoming.peer or incoming.kind not in _WRITTEN:
            return incoming
        try:
            name = self._platform.name_of(incoming.peer, account)
        except PlatformFailure:  # nobody waits for it
            return incoming
        if not name:
            return incoming
        named_incoming = cleaned(replace(incoming, name=name))
        contact = Contact.objects.filter(connection=self._connection, peer=incoming.peer)
        contact.exclude(name=named_incoming.name).update(name=named_incoming.name)
        return named_incoming

    def _give_up(self, message: Written, failure: NoAnswer) -> None:
        """Keep what was written without an answer, and say that there is none."""
        now = self._clock()
        self._note(failure.problem)
        with translation.override(message.language), transaction.atomic():
            result = answering.store_turn(message, "", recall=None, now=now)
            self._done(message, state=MessageState.FAILED, error=str(failure)[:200])
            answering.send(message, commands.no_answer(), now=now)
            notices.announce_turn(message, result, now=now)

    def _done(self, message: Written, **columns: object) -> None:
        columns = {"state": MessageState.DONE, "error": "", **columns}
        IncomingMessage.objects.filter(pk=message.row.pk).update(**columns)

    def _note(self, problem: ConnectionProblem) -> None:
        rows = Connection.objects.filter(pk=self._connection.pk).exclude(problem=problem)
        rows.update(problem=problem, problem_at=self._clock())

    def _stop(self, problem: ConnectionProblem) -> None:
        self._note(problem)
        Connection.objects.filter(pk=self._connection.pk).update(retry_at=self._clock() + REST)
        log.warning("channel.stopped", connection=self._connection.pk, problem=problem.value)

    def _pause(self, problem: ConnectionProblem, pause: timedelta | None) -> None:
        if problem:
            self._note(problem)
        if pause is not None:
            self._mine.update(retry_at=self._clock() + pause, lease=None)
            return
        self._mine.postpone([self._chat.pk], now=self._clock(), first=RETRY_FIRST, longest=RETRY_LONGEST)
        self._mine.update(lease=None)


def put_back_offered(*, now: datetime) -> int:
    """Offer again what the owner's bot took and did not answer in time; how many."""
    late = IncomingMessage.objects.filter(state=MessageState.OFFERED, offered_at__lte=now - conf.CHANNEL_ANSWER_WITHIN)
    return late.update(offered_at=None)

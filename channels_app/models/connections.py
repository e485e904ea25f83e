"""Connections of channels to their platforms: what came from there, what is to be sent there, and to whom."""

from collections.abc import Iterable
from datetime import datetime
from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Exists, OuterRef, Q, TextChoices
from django.utils.translation import gettext_lazy as _

from channels_app.models.channels import Channel
from memories.models import Recorded, Workspace, record_changes
from memories.models.ids import uuid7
from memories.models.lease import LeaseQuerySet, RetryQuerySet
from memories.models.table import Chapter, Fate, Table
from memories.models.walls import InsideWorkspace, WorkspacePolicy


class Receiving(TextChoices):
    """How messages get here."""

    WEBHOOK = "webhook", _("The platform calls this server")
    PULL = "pull", _("This server asks the platform (no public address needed)")


class Answerer(TextChoices):
    """Who answers what people write."""

    MODEL = "model", _("The model of this server, with memory")
    CALLBACK = "callback", _("Your bot, called at an address of yours")
    POLL = "poll", _("Your bot, which asks for messages")
    NOBODY = "nobody", _("Nobody: it only listens")


class NoticeMode(TextChoices):
    """Whether people are told in the chat what is kept of what they wrote."""

    OFF = "off", _("Never")
    EACH = "each", _("At once, with a way to undo it")
    DAILY = "daily", _("Once a day")


class ConnectionProblem(TextChoices):
    """Why a connection does not work."""

    NONE = "", "—"
    REFUSED = "refused", _("The platform refuses the key: paste a new one.")
    CONFLICT = "conflict", _("Another program receives this bot's messages.")
    AWAY = "away", _("The platform cannot be reached.")
    SECRET = "secret", _("A secret cannot be read: paste it again.")  # noqa: S105 (no password)
    MODEL = "model", _("The model gave no answer.")
    CALLBACK = "callback", _("Your bot did not answer.")


#: Problems with the platform itself; the others are with who answers.
AT_PLATFORM = (
    ConnectionProblem.REFUSED,
    ConnectionProblem.CONFLICT,
    ConnectionProblem.AWAY,
    ConnectionProblem.SECRET,
)


class ConnectionQuerySet(LeaseQuerySet["Connection"]):
    def to_pull(self, *, now: datetime) -> Self:
        """Those that are on, whose messages are fetched, and which nobody fetches now."""
        free = Q(pulled_until__isnull=True) | Q(pulled_until__lte=now)
        return self.filter(free, is_enabled=True, receiving=Receiving.PULL)

    def clear_problem(self, problems: Iterable[ConnectionProblem]) -> None:
        """Note that these problems are over."""
        self.filter(problem__in=problems).update(problem=ConnectionProblem.NONE, problem_at=None, retry_at=None)


class Connection(Recorded):
    """A channel that receives from its platform and sends to it. Its secrets are in `memories_secret`.

    - `connection_one_a_channel`, `connection_in_workspace`.
    - `connection_has_a_callback`: where a bot is called, its address is there.
    """

    table = Table(chapter=Chapter.CHANNELS, fate=Fate.NOTHING)

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="connections")
    channel = models.ForeignKey(
        Channel, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="connections"
    )
    is_enabled = models.BooleanField(_("enabled"), default=True)
    receiving = models.CharField(_("receives"), max_length=10, choices=Receiving, default=Receiving.PULL)
    answerer = models.CharField(_("answered by"), max_length=10, choices=Answerer, default=Answerer.MODEL)
    callback_url = models.CharField(_("address of your bot"), max_length=500, blank=True, default="")
    instructions = models.TextField(_("instructions to the model"), max_length=8_000, blank=True, default="")
    notices = models.CharField(_("tell what is kept"), max_length=10, choices=NoticeMode, default=NoticeMode.EACH)
    has_commands = models.BooleanField(_("commands such as /memory"), default=True)
    retires_leavers = models.BooleanField(_("take out of a group's memory what people said who left"), default=True)
    options = models.JSONField(_("ids at the platform"), default=dict, blank=True)
    cursor = models.JSONField(default=dict, editable=False)
    noticed_entry = models.BigIntegerField(null=True, editable=False, help_text=_("People were told up to this one."))
    noticed_at = models.DateTimeField(null=True, editable=False)
    pulled_until = models.DateTimeField(null=True, editable=False)
    received_at = models.DateTimeField(_("last message"), null=True, editable=False)
    answered_at = models.DateTimeField(_("last answer"), null=True, editable=False)
    problem = models.CharField(_("problem"), max_length=10, choices=ConnectionProblem, blank=True, default="")
    problem_at = models.DateTimeField(_("problem since"), null=True, editable=False)
    retry_at = models.DateTimeField(_("at rest until"), null=True, editable=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    objects = ConnectionQuerySet.as_manager()

    class Meta:
        verbose_name = _("connection")
        verbose_name_plural = _("connections")
        triggers = record_changes(
            ignored=(
                "cursor", "noticed_entry", "noticed_at", "pulled_until", "received_at", "answered_at", "problem",
                "problem_at", "retry_at", "created_at",
            )
        )  # fmt: skip
        constraints = [
            models.UniqueConstraint(fields=["channel"], name="connection_one_a_channel"),
            models.UniqueConstraint(fields=["id", "workspace"], name="connection_in_workspace"),
            models.CheckConstraint(
                condition=~Q(answerer=Answerer.CALLBACK) | ~Q(callback_url=""), name="connection_has_a_callback"
            ),
            models.CheckConstraint(condition=Q(receiving__in=Receiving.values), name="connection_receiving_known"),
            models.CheckConstraint(condition=Q(answerer__in=Answerer.values), name="connection_answerer_known"),
            models.CheckConstraint(condition=Q(notices__in=NoticeMode.values), name="connection_notices_known"),
            InsideWorkspace("channel", name="connection_channel_in_its_workspace", cascade=True),
            WorkspacePolicy(name="connection_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return str(self.channel)

    def secret_name(self, field: str) -> str:
        """Under which memories.secrets keeps a secret of it."""
        return f"connection:{self.pk}:{field}"


class MessageKind(TextChoices):
    """What a platform reports."""

    MESSAGE = "message", _("Message")
    EDITED = "edited", _("Edited")
    RECALLED = "recalled", _("Recalled")
    JOINED = "joined", _("Joined")
    LEFT = "left", _("Left")
    BUTTON = "button", _("Button")
    MOVED = "moved", _("Moved to another chat")


class MessageState(TextChoices):
    """What became of a message."""

    WAITING = "waiting", _("Waiting")
    OFFERED = "offered", _("With your bot")
    HELD = "held", _("Kept until they write again")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")


class ChatQuerySet(RetryQuerySet["Chat"]):
    def due(self, *, now: datetime) -> Self:
        """Those nobody works on, in which something is to be answered or sent now, on connections that work."""
        free = Q(connection__retry_at__isnull=True) | Q(connection__retry_at__lte=now)
        incoming = IncomingMessage.objects.filter(chat=OuterRef("pk"), state=MessageState.WAITING)
        offered = IncomingMessage.objects.filter(chat=OuterRef("pk"), state=MessageState.OFFERED)
        outgoing = OutgoingMessage.objects.filter(chat=OuterRef("pk"), state=MessageState.WAITING)
        waits = Exists(outgoing) | (Exists(incoming.filter(due_at__lte=now)) & ~Exists(offered))
        return self.free(now=now).filter(waits, free, connection__is_enabled=True)


class Chat(models.Model):
    """A chat of a connection: its row is the lease of what is to be done in it, one after the other.

    - `chat_once_a_connection`, `chat_in_workspace`.
    """

    table = Table(chapter=Chapter.CHANNELS, fate=Fate.SEARCHED)

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    connection = models.ForeignKey(
        Connection, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="chats"
    )
    key = models.CharField(_("chat"), max_length=200)
    place = models.CharField(_("chat of its memory"), max_length=200, help_text=_("Stays when the platform moves it."))
    title = models.CharField(_("title"), max_length=200, blank=True, default="")
    is_group = models.BooleanField(_("group"), default=False)
    retry_at = models.DateTimeField(null=True, editable=False)
    lease = models.UUIDField(null=True, editable=False, help_text=_("Of the process that works on it."))
    failures = models.PositiveIntegerField(default=0, editable=False)

    objects = ChatQuerySet.as_manager()

    class Meta:
        verbose_name = _("chat")
        verbose_name_plural = _("chats")
        constraints = [
            models.UniqueConstraint(fields=["connection", "key"], name="chat_once_a_connection"),
            models.UniqueConstraint(fields=["id", "workspace"], name="chat_in_workspace"),
            InsideWorkspace("connection", name="chat_connection_in_its_workspace", cascade=True),
            WorkspacePolicy(name="chat_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return self.title or self.key


class Contact(models.Model):
    """Somebody who wrote to a connection: what the chat's commands have to remember of them.

    - `contact_once_a_connection`.
    """

    table = Table(chapter=Chapter.CHANNELS, fate=Fate.SEARCHED)

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    connection = models.ForeignKey(
        Connection, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="contacts"
    )
    peer = models.CharField(_("peer"), max_length=200)
    name = models.CharField(_("name"), max_length=200, blank=True, default="")
    language = models.CharField(_("language"), max_length=10, blank=True, default="")
    listed = models.JSONField(_("numbers last shown"), default=list, help_text=_("Ids of memories, in their order."))
    asked_to_forget_at = models.DateTimeField(null=True)
    link_code = models.CharField(
        max_length=64, blank=True, default="", help_text=_("Hash of the code by which another account is linked.")
    )
    link_code_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("contact")
        verbose_name_plural = _("contacts")
        constraints = [
            models.UniqueConstraint(fields=["connection", "peer"], name="contact_once_a_connection"),
            InsideWorkspace("connection", name="contact_connection_in_its_workspace", cascade=True),
            WorkspacePolicy(name="contact_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return self.name or self.peer


class IncomingMessage(models.Model):
    """Something a platform reported, once: a redelivery finds its row and changes nothing.

    `body` holds what was read of it, until the row is removed after `MEMORY_CHANNEL_MESSAGE_TTL`.

    - `incomingmessage_once`: by the platform's own key of it.
    """

    table = Table(chapter=Chapter.CHANNELS, fate=Fate.SEARCHED)

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    connection = models.ForeignKey(
        Connection, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="incoming"
    )
    chat = models.ForeignKey(Chat, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="incoming")
    key = models.CharField(_("key of the platform"), max_length=200)
    kind = models.CharField(_("kind"), max_length=10, choices=MessageKind)
    message = models.CharField(_("message"), max_length=200, blank=True, default="")
    peer = models.CharField(_("from"), max_length=200, blank=True, default="")
    body = models.JSONField(_("body"), default=dict)
    sent_at = models.DateTimeField(_("sent"))
    sequence = models.BigIntegerField(_("order within a moment"), default=0)
    received_at = models.DateTimeField(_("received"))
    due_at = models.DateTimeField(_("to be answered from"))
    state = models.CharField(_("state"), max_length=10, choices=MessageState, default=MessageState.WAITING)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    error = models.CharField(_("problem"), max_length=200, blank=True, default="")
    events = ArrayField(models.BigIntegerField(), verbose_name=_("messages of the session"), default=list)
    recall = models.UUIDField(_("recall"), null=True)
    offered_at = models.DateTimeField(_("given to your bot"), null=True)

    class Meta:
        verbose_name = _("incoming message")
        verbose_name_plural = _("incoming messages")
        constraints = [
            models.UniqueConstraint(fields=["connection", "key"], name="incomingmessage_once"),
            models.CheckConstraint(condition=Q(kind__in=MessageKind.values), name="incomingmessage_kind_known"),
            models.CheckConstraint(condition=Q(state__in=MessageState.values), name="incomingmessage_state_known"),
            InsideWorkspace("connection", name="incomingmessage_connection_in_its_workspace", cascade=True),
            InsideWorkspace("chat", name="incomingmessage_chat_in_its_workspace", cascade=True),
            WorkspacePolicy(name="incomingmessage_of_the_workspaces"),
        ]
        indexes = [
            models.Index(
                fields=["chat", "sent_at", "sequence"],
                condition=Q(state__in=[MessageState.WAITING, MessageState.OFFERED]),
                name="incomingmessage_open",
            ),
            models.Index(fields=["chat", "message"], name="incomingmessage_by_message"),
            models.Index(fields=["received_at"], name="incomingmessage_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


class OutgoingMessage(models.Model):
    """A message to be sent to a chat, and what became of it.

    - `outgoingmessage_state_known`.
    """

    table = Table(chapter=Chapter.CHANNELS, fate=Fate.SEARCHED)

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    connection = models.ForeignKey(
        Connection, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="outgoing"
    )
    chat = models.ForeignKey(Chat, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="outgoing")
    body = models.JSONField(_("body"), default=dict)
    state = models.CharField(_("state"), max_length=10, choices=MessageState, default=MessageState.WAITING)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    error = models.CharField(_("problem"), max_length=200, blank=True, default="")
    message = models.CharField(_("message"), max_length=200, blank=True, default="", help_text=_("At the platform."))
    created_at = models.DateTimeField(_("made"))
    sent_at = models.DateTimeField(_("sent"), null=True)

    class Meta:
        verbose_name = _("outgoing message")
        verbose_name_plural = _("outgoing messages")
        constraints = [
            models.CheckConstraint(condition=Q(state__in=MessageState.values), name="outgoingmessage_state_known"),
            InsideWorkspace("connection", name="outgoingmessage_connection_in_its_workspace", cascade=True),
            InsideWorkspace("chat", name="outgoingmessage_chat_in_its_workspace", cascade=True),
            WorkspacePolicy(name="outgoingmessage_of_the_workspaces"),
        ]
        indexes = [
            models.Index(
                fields=["chat", "id"], condition=Q(state=MessageState.WAITING), name="outgoingmessage_waiting"
            ),
            models.Index(fields=["created_at"], name="outgoingmessage_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.state} {self.uid}"


class Notice(models.Model):
    """That somebody was told in a chat what was kept, and whether they took it back: how good extraction is."""

    table = Table(chapter=Chapter.CHANNELS, fate=Fate.SEARCHED)

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    connection = models.ForeignKey(
        Connection, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="notice_rows"
    )
    peer = models.CharField(_("peer"), max_length=200)
    entries = ArrayField(models.UUIDField(), verbose_name=_("memories"), default=list)
    at = models.DateTimeField(_("at"))
    undone_at = models.DateTimeField(_("undone"), null=True)

    class Meta:
        verbose_name = _("notice")
        verbose_name_plural = _("notices")
        constraints = [
            InsideWorkspace("connection", name="notice_connection_in_its_workspace", cascade=True),
            WorkspacePolicy(name="notice_of_the_workspaces"),
        ]
        indexes = [models.Index(fields=["connection", "-at"], name="notice_by_time")]

    def __str__(self) -> str:
        return f"{self.peer} {self.at:%Y-%m-%d %H:%M}"

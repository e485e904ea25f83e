"""Sessions, their messages, the search rows of these, and flushes."""

import re
from collections.abc import Collection, Iterable, Iterator
from copy import copy
from dataclasses import fields
from datetime import datetime
from uuid import UUID

from django.db import models
from django.db.models import Q, TextChoices
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField, SparseVectorField

from memories.choices import Origin, ScopeKind
from memories.conf import conf
from memories.entries.evidence import words_of
from memories.language.confidential import without
from memories.models import EmbeddingModel, Recorded, Scope, Workspace, record_changes
from memories.models.ids import uuid7
from memories.models.index import embedding_has_a_model
from memories.models.lease import RetryQuerySet
from memories.models.table import Chapter, Export, Fate, Table
from memories.models.walls import InsideWorkspace, WorkspacePolicy
from memories.tenancy.resolver import Address, ChannelRules


class EventKind(TextChoices):
    """The role of a message in a session."""

    USER = "user", _("User")
    ASSISTANT = "assistant", _("Assistant")
    TOOL = "tool", _("Tool")
    SUMMARY = "summary", _("Summary")
    AMBIENT = "ambient", _("Ambient")


#: Messages of a conversation itself: a summary covers some of them, and ambient talk is no part of it (B5).
SPOKEN = (EventKind.USER, EventKind.ASSISTANT, EventKind.TOOL)
#: Messages that are searched by words and meaning (C6).
SEARCHED = (EventKind.USER, EventKind.ASSISTANT, EventKind.SUMMARY)
#: Messages a bot may append.
REPORTED = (*SPOKEN, EventKind.AMBIENT)


RESET_COMMANDS = ("/reset", "/重置")
#: How platforms write that a message is meant for the bot: `@bot`, `<at user_id="…">bot</at>`, `/reset@bot`.
_MENTION = re.compile(r"<at\b[^<>]*+(?:(?<=/)>|>[^<]*+</at>)|[@＠][^\s@＠/]++")
RESET_REPLY = {
    "en": "The conversation history is cleared; the next conversation begins from zero.",
    "zh-hans": "已清空对话历史，下次对话将从零开始。",
}

FLUSH_INSTRUCTION = {
    "en": (
        "This conversation will soon be shortened. Before you answer further, take out of it what must not be lost, and"
        " report it with POST /api/v1/sessions/{id}/flush?conversation={conversation} as JSON:"
        ' {{"version": 1, "continue": "what the conversation needs to go on: the goal, decisions, open questions, in'
        ' two or three paragraphs", "candidates": [{{"content": "one fact that was stated, in one sentence",'
        ' "category": "identity|config|decision|solution|event", "rests_on": [positions of its messages]}}]}}.'
        " Only what was said, nothing guessed, no secrets. If there is nothing worth keeping, report"
        ' {{"version": 1, "reply": "NO_REPLY"}}.'
    ),
    "zh-hans": (
        "本次对话即将被压缩。请在继续回答之前，把不能丢失的内容提取出来，"
        "以 JSON 通过 POST /api/v1/sessions/{id}/flush?conversation={conversation} 上报："
        '{{"version": 1, "continue": "继续对话所需的内容：目标、已做的决定、未决问题，两三段", "candidates":'
        ' [{{"content": "一句话陈述一个说过的事实", "category": "identity|config|decision|solution|event",'
        ' "rests_on": [所依据消息的 position]}}]}}。'
        "只写对话中说过的，不要猜测，不要写入密钥。如果没有值得保留的内容，"
        '请上报 {{"version": 1, "reply": "NO_REPLY"}}。'
    ),
}


def in_language(words: dict[str, str], language: str) -> str:
    return words.get(language, words["en"])


def is_reset_command(message: str) -> bool:
    """Whether a message is the command and nothing else: trimmed, the mention of the bot removed."""
    if not conf.RESET_COMMAND or not any(command in message for command in RESET_COMMANDS):
        return False
    return _MENTION.sub(" ", message, count=1).strip() in RESET_COMMANDS


def reset_reply(language: str) -> str:
    return in_language(RESET_REPLY, language)


#: Columns that change with every message or with the budget: their changes are not recorded.
COUNTERS = (
    "tokens",
    "next_position",
    "last_at",
    "cycle",
    "flushed_to",
    "compacted_to",
    "flush_asked_at",
    "compaction_asked_at",
)
#: In the data of a message: where secrets stand in it that were recognised after it was stored.
HIDDEN_SPANS = "hidden"
#: In the data of a summary: the ids of the messages it tells nothing of, for they were taken out when it was made.
LEFT_OUT = "left_out"
#: In the data of a message: what people called its sender when it came.
SENDER_NAME = "sender_name"
#: Tries to embed a message on which the embedder fails although it answers for others.
ATTEMPTS = 5
_ID_DIGITS = 19  # the most an id has


def conversation_path(session: UUID, conversation: int) -> str:
    """The path all messages of a conversation begin with."""
    return f"session_events/{session}/{conversation}"


def event_ids(origins: Iterable[str], conversations: Collection[str] | None = None) -> Iterator[int]:
    """The ids of the messages among what a memory rests on: all, or those of some conversations, by path."""
    for origin in origins:
        path, _slash, number = origin.rpartition("/event-")
        is_id = number.isascii() and number.isdigit() and len(number) < _ID_DIGITS
        if is_id and (conversations is None or path in conversations):
            yield int(number)


class Session(Recorded):
    """One chat's running conversation.

    Platform and account are texts: the package below does not know the channels above it. A session lives through
    numbered conversations: each close ends one, the next message begins another.

    - `session_marks_lie_in_its_conversation`: what was flushed and what is summarised ends before the next message.
    - `session_in_workspace`: the pair others point to.
    """

    table = Table(
        chapter=Chapter.CONVERSATIONS,
        fate=Fate.REMOVED,
        export=Export("session", refers={"user_scope": "scope", "chat_scope": "scope"}),
    )

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="sessions")
    key = models.CharField(_("key"), max_length=100)
    platform = models.CharField(_("platform"), max_length=40, blank=True, default="")
    account = models.CharField(_("account"), max_length=200, blank=True, default="")
    chat_id = models.CharField(_("chat"), max_length=200, blank=True, default="")
    peer = models.CharField(
        _("peer"), max_length=200, blank=True, default="", help_text=_("Whom a direct chat is with.")
    )
    is_group = models.BooleanField(_("group"), default=False)
    conversation = models.PositiveIntegerField(_("conversation"), default=1)
    rules = models.JSONField(_("rules"), default=dict, help_text=_("The channel's rules when it was last used."))
    user_scope = models.ForeignKey(
        Scope, models.DO_NOTHING, db_constraint=False, db_index=False, null=True, blank=True, related_name="+"
    )
    chat_scope = models.ForeignKey(
        Scope, models.DO_NOTHING, db_constraint=False, db_index=False, null=True, blank=True, related_name="+"
    )
    metadata = models.JSONField(_("metadata"), default=dict, blank=True)
    tokens = models.PositiveIntegerField(
        _("tokens"), default=0, help_text=_("Of the open conversation, as it is handed out.")
    )
    next_position = models.PositiveIntegerField(default=1, editable=False)
    cycle = models.PositiveIntegerField(
        _("compaction cycle"), default=1, help_text=_("Of the open conversation; each compaction begins another.")
    )
    flushed_to = models.PositiveIntegerField(
        _("flushed up to"), default=0, help_text=_("The last message it covered, by position.")
    )
    compacted_to = models.PositiveIntegerField(
        _("summarised up to"), default=0, help_text=_("Position; what came later is handed out as it was said.")
    )
    flush_asked_at = models.DateTimeField(_("flush asked for"), null=True, blank=True)
    compaction_asked_at = models.DateTimeField(_("compaction asked for"), null=True, blank=True)
    started_at = models.DateTimeField(_("started"))
    last_at = models.DateTimeField(_("last message"))

    class Meta:
        verbose_name = _("session")
        verbose_name_plural = _("sessions")
        triggers = record_changes(ignored=COUNTERS)
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "platform", "account", "key"], name="session_key_once_in_channel"
            ),
            models.UniqueConstraint(fields=["id", "workspace"], name="session_in_workspace"),
            models.CheckConstraint(condition=~Q(key=""), name="session_has_a_key"),
            models.CheckConstraint(condition=Q(conversation__gte=1), name="session_conversations_count_from_one"),
            models.CheckConstraint(
                condition=Q(flushed_to__lt=models.F("next_position"), compacted_to__lt=models.F("next_position")),
                name="session_marks_lie_in_its_conversation",
            ),
            InsideWorkspace("user_scope", name="session_user_scope_in_its_workspace"),
            InsideWorkspace("chat_scope", name="session_chat_scope_in_its_workspace"),
            WorkspacePolicy(name="session_of_the_workspaces"),
        ]
        indexes = [
            models.Index(fields=["workspace", "-last_at", "-id"], name="session_by_time"),
            models.Index(fields=["last_at"], condition=Q(next_position__gt=1), name="session_to_be_closed"),
            models.Index(fields=["workspace", "chat_id"], condition=Q(is_group=True), name="session_of_group"),
            models.Index(fields=["user_scope"], condition=Q(is_group=False), name="session_of_user"),
            models.Index(fields=["chat_scope"], condition=Q(is_group=True), name="session_of_chat"),
        ]

    def __str__(self) -> str:
        return self.key

    def channel_rules(self) -> ChannelRules:
        """The rules it was last used under; names of other versions are ignored."""
        names = {field.name for field in fields(ChannelRules)}
        return ChannelRules(**{name: value for name, value in self.rules.items() if name in names})

    def max_tokens(self) -> int:
        """How many tokens its history may have: the channel's number, else the platform's."""
        return self.channel_rules().max_tokens or conf.SESSION_MAX_TOKENS

    def is_stale(self, *, now: datetime) -> bool:
        """Whether its conversation has been idle for so long that the next use begins another."""
        limit = conf.SESSION_STALE_AFTER
        return self.next_position > 1 and bool(limit) and self.last_at < now - limit

    def messages(self, conversation: int | None = None) -> "models.QuerySet[SessionEvent]":
        """All messages of a conversation in order; by default of the open one."""
        number = self.conversation if conversation is None else conversation
        return SessionEvent.objects.filter(session=self, conversation=number).order_by("position")

    def spoken(self, conversation: int | None = None) -> "models.QuerySet[SessionEvent]":
        """The same without summaries and ambient talk."""
        return self.messages(conversation).filter(kind__in=SPOKEN)

    def address_of(self, sender: str) -> Address:
        """The address of a message of this sender in this session."""
        return Address(
            platform=self.platform, account=self.account, chat=self.chat_id, peer=sender, is_group=self.is_group
        )

    @property
    def open_cycle(self) -> tuple[int, int]:
        """The numbers of the open conversation and of its compaction cycle."""
        return self.conversation, self.cycle

    def flush_of_cycle(self) -> "models.QuerySet[Flush]":
        """The flush of the open cycle, if there was one."""
        return Flush.objects.filter(session=self, conversation=self.conversation, cycle=self.cycle)

    def origin_of(self, event: "SessionEvent") -> str:
        """The path by which an entry names a message it rests on."""
        return self.origin(event.conversation, event.pk)

    def origin(self, conversation: int, event: int) -> str:
        """The path of a message by its conversation and id."""
        return f"{conversation_path(self.uid, conversation)}/event-{event}"


class SessionEvent(models.Model):
    """One message of a conversation.

    Appended, never changed.
    """

    table = Table(
        chapter=Chapter.CONVERSATIONS, fate=Fate.REMOVED, export=Export("message", refers={"session": "session"})
    )

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    session = models.ForeignKey(Session, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="events")
    conversation = models.PositiveIntegerField(_("conversation"))
    position = models.PositiveIntegerField(_("position"))
    kind = models.CharField(_("kind"), max_length=10, choices=EventKind)
    sender_id = models.CharField(_("sender"), max_length=200, blank=True, default="")
    content = models.TextField(_("content"))
    data = models.JSONField(_("data"), default=dict, blank=True, help_text=_("Tool calls and what else came along."))
    tokens = models.PositiveIntegerField(_("tokens"), default=0)
    at = models.DateTimeField(_("at"))

    class Meta:
        verbose_name = _("session event")
        verbose_name_plural = _("session events")
        constraints = [
            models.UniqueConstraint(fields=["session", "conversation", "position"], name="sessionevent_position_once"),
            models.UniqueConstraint(fields=["id", "workspace"], name="sessionevent_in_workspace"),
            models.CheckConstraint(condition=Q(kind__in=EventKind.values), name="sessionevent_kind_known"),
            InsideWorkspace("session", name="sessionevent_session_in_its_workspace", cascade=True),
            WorkspacePolicy(name="sessionevent_of_the_workspaces"),
        ]
        indexes = [
            models.Index(fields=["at"], name="sessionevent_by_age"),
            models.Index(fields=["session", "-id"], condition=Q(kind=EventKind.AMBIENT), name="sessionevent_ambient"),
            # where somebody speaks: asked for by a search for a name, and by an erasure
            models.Index(
                fields=["workspace", "sender_id", "session"], condition=~Q(sender_id=""), name="sessionevent_by_sender"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.content[:60]}"

    @property
    def trust(self) -> Origin:
        """The least trusted of whose words it is (A19): of a person, the bot, or what its tools gave; a summary is the
        bot's, for it names no messages.
        """
        is_spoken, is_group = self.kind in (EventKind.USER, EventKind.AMBIENT), self.session.is_group
        kind = ScopeKind.CHAT if is_group else ScopeKind.USER
        tools = not is_spoken and (self.kind == EventKind.TOOL or bool(self.data.get("tool_calls")))
        lineage = words_of(kind, spoken=is_spoken, answered=not is_spoken, used_tools=tools, is_about_self=not is_group)
        return Origin(lineage["trust"])

    @property
    def sender_name(self) -> str:
        """What people called the sender when it came; empty where nobody said."""
        return str(self.data.get(SENDER_NAME) or "")

    def handed_out(self) -> "SessionEvent":
        """The message as it is shown and handed out: without what was recognised later as a secret in it."""
        if not self.data.get(HIDDEN_SPANS):
            return self
        message = copy(self)
        message.content = without(self.content, self.data[HIDDEN_SPANS])
        return message


class EventIndex(models.Model):
    """The narrow row a question about the past reads: a message's words, written with it, and its embedding, which
    follows. None of what is ambient, of tools, or of `/reset`. It goes with its message. *Derived*: the embedder makes
    rows that are missing anew when it starts.
    """

    table = Table(chapter=Chapter.CONVERSATIONS, fate=Fate.ALONG)

    event = models.OneToOneField(
        SessionEvent, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="index"
    )
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    session = models.ForeignKey(Session, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    conversation = models.PositiveIntegerField(_("conversation"))
    kind = models.CharField(_("kind"), max_length=10, choices=EventKind)
    at = models.DateTimeField(_("at"))
    keywords = SparseVectorField(help_text=_("Its terms, each once."))
    model = models.ForeignKey(EmbeddingModel, models.DO_NOTHING, null=True, db_index=False, related_name="+")
    embedding = HalfVectorField(null=True)
    failures = models.PositiveSmallIntegerField(_("failures"), default=0)
    retry_at = models.DateTimeField(_("next try"), null=True, help_text=_("Also the lease of who embeds it now."))

    objects = RetryQuerySet["EventIndex"].as_manager()

    class Meta:
        verbose_name = _("search row of a message")
        verbose_name_plural = _("search rows of messages")
        constraints = [
            embedding_has_a_model("eventindex_embedding_has_a_model"),
            InsideWorkspace("event", name="eventindex_event_in_its_workspace", cascade=True),
            InsideWorkspace("session", name="eventindex_session_in_its_workspace", cascade=True),
            WorkspacePolicy(name="eventindex_of_the_workspaces"),
        ]
        indexes = [
            models.Index(fields=["session", "at"], name="eventindex_of_session"),
            models.Index(
                fields=["event"], condition=Q(model__isnull=True, failures__lt=ATTEMPTS), name="eventindex_waiting"
            ),
        ]

    def __str__(self) -> str:
        return str(self.event_id)


class Flush(models.Model):
    """What was taken out of a conversation in one of its compaction cycles.

    Never compacted without.
    """

    table = Table(
        chapter=Chapter.CONVERSATIONS, fate=Fate.CLEARED, export=Export("flush", refers={"session": "session"})
    )

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    session = models.ForeignKey(Session, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="flushes")
    conversation = models.PositiveIntegerField(_("conversation"))
    cycle = models.PositiveIntegerField(_("compaction cycle"))
    up_to = models.PositiveIntegerField(_("up to"), help_text=_("The position of the last message it knew."))
    actor = models.CharField(_("by"), max_length=200)
    no_reply = models.BooleanField(_("nothing to keep"), default=False, help_text=_("The bot answered NO_REPLY."))
    goes_on_with = models.TextField(_("goes on with"), blank=True, default="", help_text=_("For the session."))
    goes_on_to = models.PositiveIntegerField(_("knows up to"), default=0, help_text=_("Where that text was made."))
    model = models.CharField(_("model"), max_length=200, blank=True, default="", help_text=_("Empty: none was asked."))
    counts = models.JSONField(_("counts"), default=dict, help_text=_("Candidates by what became of them."))
    at = models.DateTimeField(_("at"))

    class Meta:
        verbose_name = _("flush")
        verbose_name_plural = _("flushes")
        constraints = [
            models.UniqueConstraint(fields=["session", "conversation", "cycle"], name="flush_once_a_cycle"),
            InsideWorkspace("session", name="flush_session_in_its_workspace", cascade=True),
            WorkspacePolicy(name="flush_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return f"{self.conversation}.{self.cycle} · {self.actor}"

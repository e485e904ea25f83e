"""Everything a bot needs before it answers, in one call and within a budget of tokens (C9, C13, B5, D1).

directives → profile → memories and events → recent talk of the group → notes of the first turn → history, which gets
what is left and goes to the model unabridged (B2, B3)
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from functools import partial

from channels_app import addresses
from channels_app.system_text import (
    EVIDENCE,
    PAST_INSTRUCTION,
    PAST_INSTRUCTION_WITH_TOOLS,
    RESET_INSTRUCTION,
    TOOLS_INSTRUCTION,
    SystemText,
    tokens_of,
)
from memories.choices import NeedMode
from memories.conf import conf
from memories.language import quoting, text
from memories.language.confidential import mask
from memories.language.persons import ASSISTANT, MOST_MESSAGES, USER, RecentMessage
from memories.language.quoting import speaks_to_models
from memories.models import Scope
from memories.models.policy import Policies
from memories.recall import Query, Recall, recall, vector
from memories.recall.answer import NONE, Note, ProfileFact, event_line, memory_line, notes_of, profile_of, with_words
from memories.recall.events import RecalledEvent
from memories.recall.gate import GateDecision
from memories.recall.people import Sender, attributed, sender_of, sender_with_id
from memories.recall.query import ClientHistory, Serve, opening_of
from memories.recall.question import is_about_past
from memories.recall.ranking import Ranked
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Address, Resolution
from sessions_app import conversations
from sessions_app.history.replay import MESSAGE_TOKENS, ReplayedMessage, newest_turns, replay_messages
from sessions_app.models import EventKind, Session, SessionEvent, in_language, is_reset_command, reset_reply

#: Of what is left for the history, how much a summary of its older turns may take.
SUMMARY_SHARE = 1 / 3


@dataclass(frozen=True)
class HistoryMessage:
    """One message of the history."""

    event: ReplayedMessage
    content: str
    tokens: int

    @property
    def is_summary(self) -> bool:
        return self.event.kind == EventKind.SUMMARY


class Conversation:
    """The open conversation of a context; what of it is handed out for sure is settled before memory is asked.

    `client_messages` are those of a client that keeps the conversation itself: nothing is handed out.
    """

    def __init__(
        self,
        session: Session | None,
        token_budget: int,
        max_tokens: int | None,
        sure: int,
        *,
        client_messages: tuple[RecentMessage, ...] | None,
        now: datetime,
    ) -> None:
        self._session, self._max_tokens, self._has_client_messages = session, max_tokens, client_messages is not None
        self._events = replay_messages(session, token_budget) if session else []
        self._sure = self._fitting(sure)
        if client_messages is None:
            # What is handed out unabridged
            events = [message.event for message in self._sure if not message.is_summary]
            user_texts = tuple(event.content for event in events if event.kind == EventKind.USER)
            dialogue = [message for message in self._sure if message.event.kind in (USER, ASSISTANT)][-MOST_MESSAGES:]
            self.recent = tuple(RecentMessage(message.event.kind, message.content) for message in dialogue)
        else:
            # What the client has: those of the stored messages that it tells word for word
            texts = [(message.role, message.content.strip()) for message in client_messages]
            client_texts = {*texts, *((role, mask(content)) for role, content in texts)}
            events = [event for event in self._events if (event.kind, event.content.strip()) in client_texts]
            user_texts = tuple(message.content for message in client_messages if message.role == EventKind.USER)
            self.recent = client_messages[-MOST_MESSAGES:]
        self.client_history: ClientHistory | None = None
        if events or client_messages is not None:  # else nothing stands in the prompt yet
            self.client_history = ClientHistory(
                paths=frozenset(map(self._path, events)),
                since=min((event.at for event in events), default=now),
                user_texts=user_texts,
            )

    def _path(self, event: ReplayedMessage) -> str:
        """The path of a message of the conversation."""
        return self._session.origin(self._session.conversation, event.pk) if self._session else ""

    def _fitting(self, limit: int) -> list[HistoryMessage]:
        if self._session is None or self._has_client_messages:
            return []
        return within_budget(self._events, min(limit, self._max_tokens or self._session.max_tokens()))

    def within(self, limit: int, covered: Collection[str]) -> list[HistoryMessage]:
        """As much of it as there is room for that repeats nothing: beyond what is sure, it begins after all covered.

        `covered` are the paths of the messages on which the memories and events of the context rest.
        """
        longest, sure_ids = self._fitting(limit), {message.event.pk for message in self._sure}
        begin = 0
        for n, message in enumerate(longest):
            is_sure = message.is_summary or message.event.pk in sure_ids
            if not is_sure and self._path(message.event) in covered:
                begin = n + 1
        if begin:  # at what a user says, or where it is sure to begin
            starts = (
                n
                for n in range(begin, len(longest))
                if longest[n].event.kind == EventKind.USER or longest[n].event.pk in sure_ids
            )
            begin = next(starts, len(longest))
        return [*(message for message in longest[:begin] if message.is_summary), *longest[begin:]]


def within_budget(events: Sequence[ReplayedMessage], limit: int) -> list[HistoryMessage]:
    """A history within so many tokens: its summary, shortened if need be, and the newest whole turns that fit."""
    room = max(int(limit * SUMMARY_SHARE) - MESSAGE_TOKENS - 1, 0)
    summary = [
        HistoryMessage(event, content, text.count_tokens(content) + MESSAGE_TOKENS)
        for event in events
        if event.kind == EventKind.SUMMARY and (content := text.first_tokens(event.content, room))
    ]
    tokens_left = limit - sum(message.tokens for message in summary)
    dialogue = [event for event in events if event.kind != EventKind.SUMMARY]
    newest = newest_turns(dialogue, tokens_left, overhead=MESSAGE_TOKENS)
    return summary + [HistoryMessage(event, event.content, event.tokens + MESSAGE_TOKENS) for event in newest]


#: The verdict that takes the most words: room is kept for it before memory is asked.
LONGEST = "in_history"
#: Characters of an ambient message of a group.
RECENT_CHARS = 300


@dataclass
class Context:
    """All that a bot gets before it answers."""

    query: Query
    resolved: Resolution
    latest_session: Session | None  # of the address, as far as the caller may see it
    session: Session | None  # the same while its conversation goes on; None: the next message begins one
    recall: Recall
    max_tokens: int | None = None  # of the history, where the request says so
    has_tools: bool = False  # the model the bot asks can search, read and save by itself
    client_history: tuple[RecentMessage, ...] | None = None  # which the bot keeps itself; None: it is handed out
    profile: list[ProfileFact] = field(default_factory=list)
    memories: list[Ranked] = field(default_factory=list)
    events: list[RecalledEvent] = field(default_factory=list)
    recent_chat: list[SessionEvent] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    history: list[HistoryMessage] = field(default_factory=list)
    directives: list[conversations.BotDirective] = field(default_factory=list)
    text: str = ""
    tokens: int = 0
    reply: str | None = None  # to be given to the user in place of an answer

    @property
    def is_first_turn(self) -> bool:
        return self.session is None or not self.session.tokens


def context_for(
    caller: Caller,
    address: Address,
    message: str,
    *,
    token_budget: int,
    limit: int | None = None,
    need: str = NeedMode.AUTO,
    serve: str | float | None = None,
    include_session_events: bool = True,
    max_tokens: int | None = None,
    recent: tuple[RecentMessage, ...] | None = None,
    tools: bool = False,
    client_history: tuple[RecentMessage, ...] | None = None,
    now: datetime,
) -> Context:
    """All that a bot gets before it answers a message; changes nothing, and asks no model but the embedder.

    `token_budget` is that of everything, `max_tokens` that of the history, if it is not the channel's. `recent` are
    the messages just before; None: those of the history. `tools`: the model has those of memory. `client_history`: what
    the bot keeps and gives its model itself. `serve`: None, as the channel says, else what is likely. Raises
    InvalidAddress, ScopeNotFound, LeaveToFiles.
    """
    vector.begin_embedding(message)
    resolution = addresses.resolve_address(caller, address)
    addresses.check_database_answers(resolution)
    query = addresses.recall_query(
        caller,
        resolution,
        now=now,
        message=message,
        limit=limit,
        need=need,
        serve=serve,
        default_serve=Serve.LIKELY,
        token_budget=token_budget,
        include_session_events=include_session_events,
        cache=True,
    )
    session = addresses.visible_session(caller, resolution)
    current = session if session and _goes_on(session, resolution, now=now) else None
    context = Context(
        query, resolution, session, current, Recall(GateDecision(False, "")), max_tokens, tools, client_history
    )
    if is_reset_command(message):
        return _reset_context(context, caller.language)
    return _fill(context, caller, recent, now)


def _reset_context(context: Context, language: str) -> Context:
    """The answer to a reset: nothing is recalled for it, and no model needs to be asked (B6)."""
    context.reply = reset_reply(language)
    instruction = in_language(RESET_INSTRUCTION, language).format(reply=context.reply)
    context.recall = Recall(GateDecision(False, "reset"))
    context.directives = [conversations.BotDirective("reset", instruction)]
    return context


def _fill(context: Context, caller: Caller, recent: tuple[RecentMessage, ...] | None, now: datetime) -> Context:
    query, zone, language = context.query, caller.zone, caller.language
    policies = opening_of(query, now=now).policies
    page = SystemText(query.token_budget, language)
    _add_directives(context, page, language, LONGEST)
    # The core facts; a line that is only quoted stands with its words
    facts = profile_of(query, policies, now=now)
    year = now.astimezone(zone).year
    scopes = {scope.pk: scope for scope in context.query.scopes}
    asker = context.query.asker
    wordings = [attributed(fact, sender_of(fact, scopes[fact.scope_id], asker)) for fact in facts]
    with_quotes = partial(with_words, language=context.query.language, zone=zone, year=year)
    lines = [
        f"- {with_quotes(line, fact.verification, fact.evidence)}" for line, fact in zip(wordings, facts, strict=True)
    ]
    count = page.put_fitting("profile", lines, page.share(conf.CONTEXT_PROFILE_SHARE))
    context.profile = facts[:count]
    _add_recent_chat(context, page, caller)
    share = page.share(1.0 if page.is_short else conf.CONTEXT_MEMORIES_SHARE)
    conversation = Conversation(
        context.session,
        query.token_budget,
        context.max_tokens,
        page.left - share,
        client_messages=context.client_history,
        now=now,
    )
    page_query = replace(
        query,
        token_budget=page.room("memories", share) + tokens_of(quoting.notice_in(language)),  # recall counts its own
        client_history=conversation.client_history,
        recent=conversation.recent if recent is None else recent,
    )
    context.recall = recall(page_query, now=now, zone=zone)
    _add_directives(context, page, language)
    _add_memories(context, page, share, zone)
    _add_notes(context, page, policies, now=now, zone=zone)
    paths = {origin for item in context.memories for origin in item.entry.origins}
    context.history = conversation.within(page.left, paths | {event.path for event in context.events})
    context.text = str(page)
    context.tokens = page.used + sum(message.tokens for message in context.history)
    return context


def _goes_on(session: Session, resolution: Resolution, *, now: datetime) -> bool:
    """Whether the next message of this address goes on with the open conversation of its session.

    A conversation that was idle for too long ends, and so does one that belongs to another memory.
    """
    if session.is_group != resolution.address.is_group:
        return False
    for scope, key in ((session.user_scope, resolution.user_scope), (session.chat_scope, resolution.chat_scope)):
        if scope is not None and scope.key != key:
            return False
    return not session.is_stale(now=now)


def _add_directives(context: Context, page: SystemText, language: str, verdict: str = "") -> None:
    """Put what the bot has to do first; a directive the text has no room for is still among the directives.

    With a `verdict`, before memory is asked, they reserve the room of those that will come.
    """
    before, context.directives = context.directives, []
    if is_about_past(context.query.message):
        # How well what was recalled answers, and whether that is in the conversation itself
        evidence_key = verdict or context.recall.answerability.verdict
        if not verdict and context.recall.in_history:
            evidence_key = "in_history"
        elif not verdict and evidence_key == NONE and context.session:
            evidence_key = "none_beyond"
        evidence = in_language(EVIDENCE[evidence_key], language)
        how = PAST_INSTRUCTION_WITH_TOOLS if context.has_tools else PAST_INSTRUCTION
        context.directives.append(
            conversations.BotDirective("answer_from_memory", in_language(how, language) + evidence)
        )
    if context.has_tools:
        context.directives.append(conversations.BotDirective("memory_tools", in_language(TOOLS_INSTRUCTION, language)))
    if not verdict:
        context.directives += [directive for directive in before if directive.kind == "flush_required"]
    elif (
        context.session
        and context.client_history is None
        and conversations.is_flush_due(context.session, context.max_tokens)
    ):
        context.directives.append(conversations.flush_directive(context.session, language))
    page.put_fitting("directives", [directive.instruction for directive in context.directives], page.left)


def _add_memories(context: Context, page: SystemText, limit: int, zone: tzinfo) -> None:
    """Memories and events within one share; nothing that the profile or a memory says already."""
    before, events = page.used, context.recall.events
    profile = {fact.pk for fact in context.profile}
    memories = [item for item in context.recall.served if item.in_context and item.entry.pk not in profile]
    proof = {event.memory: f" [{event.path}]" for event in reversed(events)}
    lines = [memory_line(item, zone, context.query.language) + proof.get(str(item.entry.uid), "") for item in memories]
    context.memories = memories[: page.put_fitting("memories", lines, limit)]
    context.events = events
    recalled_uids = {str(item.entry.uid) for item in context.memories}
    new = [event for event in events if event.memory not in recalled_uids]
    count = page.fitting(
        "events", [event_line(event, zone, context.query.language) for event in new], limit - (page.used - before)
    )
    in_order = sorted(new[:count], key=lambda event: (event.at, event.path))
    page.put("events", [event_line(event, zone, context.query.language) for event in in_order])


def _scope_of(context: Context, key: str | None) -> Scope | None:
    """The scope with this key, if it is among those that are searched."""
    return next((place.scope for place in context.query.places if place.ref.key == key), None)


def _add_recent_chat(context: Context, page: SystemText, caller: Caller) -> None:
    """The newest ambient messages of a group, in order, from the sessions of all its members."""
    resolution = context.resolved
    if not (resolution.chat_scope and caller.may_reach(resolution.chat_scope)):
        return
    group = context.session or Session(
        workspace_id=caller.workspace_id,
        platform=resolution.session_platform,
        account=resolution.session_account,
        chat_id=resolution.address.chat,
        is_group=True,
    )
    newest = [event for event in conversations.recent_chat(group)[::-1] if not speaks_to_models(event.content)]
    scope = _scope_of(context, resolution.chat_scope)
    lines = []
    for event in newest:
        # What people called the sender of a message; the id where nobody has a name for them
        sender = Sender(event.sender_id, event.sender_name)
        if scope:
            sender = sender_with_id(event.sender_id, scope, "", name_then=event.sender_name)
        content = quoting.as_item(text.smart_truncate(event.content, RECENT_CHARS))
        lines.append(f"- {sender.label or '?'}: {content}")
    count = page.fitting("recent_chat", lines, page.share(conf.CONTEXT_CHAT_SHARE))
    page.put("recent_chat", lines[:count][::-1])
    context.recent_chat = newest[:count][::-1]


def _add_notes(context: Context, page: SystemText, policies: Policies, *, now: datetime, zone: tzinfo) -> None:
    """At the first turn there is no history yet: the notes of the conversation's own scope may have its room (C9)."""
    own = _scope_of(context, context.resolved.chat_scope or context.resolved.user_scope)
    if own is None or not context.is_first_turn:
        return
    lines: list[str] = []
    for note in notes_of(own, policies, now=now, zone=zone):
        head = f"{note.on.isoformat()}:"
        room = page.room("notes", page.left) - sum(tokens_of(line) for line in [*lines, head])
        # The newest of its items that fit, in their order; of a single one that does not, its end
        newest: list[str] = []
        for item in reversed(note.items):
            tokens = tokens_of(f"- {quoting.as_item(item)}")
            if tokens > room:
                break
            newest.append(item)
            room -= tokens
        if note.items and not newest and (end := text.last_tokens(note.items[-1], room - 4)):
            newest = [end] if tokens_of(f"- {quoting.as_item(end)}") <= room else []
        items = newest[::-1]
        if not items:
            break
        lines += [head, *(f"- {quoting.as_item(item)}" for item in items)]
        context.notes.append(replace(note, items=items, is_cut=note.is_cut or items != note.items))
    page.put("notes", lines)

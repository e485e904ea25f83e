"""Everything a bot needs before it answers, in one call and within a budget of tokens (C9, C13, B5, D1).

directives → profile → memories and events → recent talk of the group → notes of the first turn → history, which gets
what is left
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from functools import partial

from channels_app import addresses
from channels_app.history import Conversation, HistoryMessage
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
from memories.language.references import RecentMessage
from memories.models import Scope
from memories.models.policy import Policies
from memories.recall import Query, Recall, recall, vector
from memories.recall.answer import NONE, Note, ProfileFact, event_line, memory_line, notes_of, profile_of, with_words
from memories.recall.events import RecalledEvent
from memories.recall.gate import GateDecision
from memories.recall.people import Sender, attributed, sender_of, sender_with_id
from memories.recall.query import opening_of
from memories.recall.question import is_about_past
from memories.recall.ranking import Ranked
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Address, Resolution
from sessions_app import conversations
from sessions_app.choices import in_language, is_reset_command, reset_reply
from sessions_app.models import Session, SessionEvent

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
    the bot keeps and gives its model itself. Raises InvalidAddress, ScopeNotFound, LeaveToFiles.
    """
    vector.begin_embedding(message)
    resolved = addresses.resolve_address(caller, address)
    addresses.check_database_answers(resolved)
    query = addresses.recall_query(
        caller,
        resolved,
        now=now,
        message=message,
        limit=limit,
        need=need,
        token_budget=token_budget,
        include_session_events=include_session_events,
        cache=True,
    )
    session = addresses.visible_session(caller, resolved)
    current = session if session and _goes_on(session, resolved, now=now) else None
    context = Context(
        query, resolved, session, current, Recall(GateDecision(False, "")), max_tokens, tools, client_history
    )
    if is_reset_command(message):
        return _of_reset(context, caller.language)
    return _filled(context, caller, recent, now)


def _filled(context: Context, caller: Caller, recent: tuple[RecentMessage, ...] | None, now: datetime) -> Context:
    query, zone, language = context.query, caller.zone, caller.language
    policies = opening_of(query, now=now).policies
    page = SystemText(query.token_budget, language)
    _add_directives(context, page, language, LONGEST)
    # The core facts; a line that is only quoted stands with its words
    facts = profile_of(query, policies, now=now)
    year = now.astimezone(zone).year
    scopes = {scope.pk: scope for scope in context.query.scopes}
    asker = context.query.asker
    said = [attributed(fact, sender_of(fact, scopes[fact.scope_id], asker)) for fact in facts]
    with_quotes = partial(with_words, language=context.query.language, zone=zone, year=year)
    lines = [f"- {with_quotes(line, fact.verification, fact.evidence)}" for line, fact in zip(said, facts, strict=True)]
    count = page.put_fitting("profile", lines, page.share(conf.CONTEXT_PROFILE_SHARE))
    context.profile = facts[:count]
    _add_recent_chat(context, page, caller)
    share = page.share(1.0 if page.is_short else conf.CONTEXT_MEMORIES_SHARE)
    conversation = Conversation(
        context.session, query.token_budget, context.max_tokens, page.left - share, held=context.client_history, now=now
    )
    asked = replace(
        query,
        token_budget=page.room("memories", share) + tokens_of(quoting.notice_in(language)),  # recall counts its own
        client_history=conversation.client_history,
        recent=conversation.recent if recent is None else recent,
    )
    context.recall = recall(asked, now=now, zone=zone)
    _add_directives(context, page, language)
    _add_memories(context, page, share, zone)
    _add_notes(context, page, policies, now=now, zone=zone)
    paths = {origin for item in context.memories for origin in item.entry.origins}
    context.history = conversation.within(page.left, paths | {event.path for event in context.events})
    context.text = str(page)
    context.tokens = page.used + sum(message.tokens for message in context.history)
    return context


def _of_reset(context: Context, language: str) -> Context:
    """The context of /reset: nothing is recalled for it, and no model needs to be asked (B6)."""
    context.reply = reset_reply(language)
    instruction = in_language(RESET_INSTRUCTION, language).format(reply=context.reply)
    context.recall = Recall(GateDecision(False, "reset"))
    context.directives = [conversations.BotDirective("reset", instruction)]
    return context


def _goes_on(session: Session, resolved: Resolution, *, now: datetime) -> bool:
    """Whether the next message of this address goes on with the open conversation of its session.

    A conversation that was idle for too long ends, and so does one that belongs to another memory.
    """
    if session.is_group != resolved.address.is_group:
        return False
    for scope, key in ((session.user_scope, resolved.user_scope), (session.chat_scope, resolved.chat_scope)):
        if scope is not None and scope.key != key:
            return False
    return not session.is_stale(now=now)


def _add_directives(context: Context, page: SystemText, language: str, verdict: str = "") -> None:
    """Put what the bot has to do first; a directive the text has no room for is still among the directives.

    With a `verdict`, before memory is asked, they reserve the room of those that will come.
    """
    before, context.directives = context.directives, []
    if is_about_past(context.query.message):
        evidence = in_language(EVIDENCE[verdict or _verdict(context)], language)
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


def _verdict(context: Context) -> str:
    """How well what was recalled answers, and whether that is in the conversation itself: a name in EVIDENCE."""
    if context.recall.in_history:
        return "in_history"
    verdict = context.recall.answerability.verdict
    return "none_beyond" if verdict == NONE and context.session else verdict


def _add_memories(context: Context, page: SystemText, limit: int, zone: tzinfo) -> None:
    """Memories and events within one share; nothing that the profile or a memory says already."""
    before, events = page.used, context.recall.events
    profile = {fact.pk for fact in context.profile}
    memories = [item for item in context.recall.served if item.in_context and item.entry.pk not in profile]
    proof = {event.memory: f" [{event.path}]" for event in reversed(events)}
    lines = [memory_line(item, zone, context.query.language) + proof.get(str(item.entry.uid), "") for item in memories]
    context.memories = memories[: page.put_fitting("memories", lines, limit)]
    context.events = events
    known = {str(item.entry.uid) for item in context.memories}
    new = [event for event in events if event.memory not in known]
    count = page.fitting("events", [event_line(event, zone) for event in new], limit - (page.used - before))
    in_order = sorted(new[:count], key=lambda event: (event.at, event.path))
    page.put("events", [event_line(event, zone) for event in in_order])


def _scope_of(context: Context, key: str | None) -> Scope | None:
    """The scope with this key, if it is among those that are searched."""
    return next((place.scope for place in context.query.places if place.ref.key == key), None)


def _add_recent_chat(context: Context, page: SystemText, caller: Caller) -> None:
    """The newest ambient messages of a group, in order, from the sessions of all its members."""
    resolved = context.resolved
    if not (resolved.chat_scope and caller.may_reach(resolved.chat_scope)):
        return
    group = context.session or Session(
        workspace_id=caller.workspace_id,
        platform=resolved.session_platform,
        account=resolved.session_account,
        chat_id=resolved.address.chat,
        is_group=True,
    )
    newest = conversations.recent_chat(group)[::-1]
    scope = _scope_of(context, resolved.chat_scope)
    lines = [
        f"- {_name(event, scope)}: {quoting.as_item(text.smart_truncate(event.content, RECENT_CHARS))}"
        for event in newest
    ]
    count = page.fitting("recent_chat", lines, page.share(conf.CONTEXT_CHAT_SHARE))
    page.put("recent_chat", lines[:count][::-1])
    context.recent_chat = newest[:count][::-1]


def _name(event: SessionEvent, scope: Scope | None) -> str:
    """What people called the sender of a message; the id where nobody has a name for them."""
    sender = event.sender_id, event.sender_name
    return (sender_with_id(sender[0], scope, "", called=sender[1]) if scope else Sender(*sender)).label or "?"


def _add_notes(context: Context, page: SystemText, policies: Policies, *, now: datetime, zone: tzinfo) -> None:
    """At the first turn there is no history yet: the notes of the conversation's own scope may have its room (C9)."""
    own = _scope_of(context, context.resolved.chat_scope or context.resolved.user_scope)
    if own is None or not context.is_first_turn:
        return
    lines: list[str] = []
    for note in notes_of(own, policies, now=now, zone=zone):
        head = f"{note.on.isoformat()}:"
        room = page.room("notes", page.left) - sum(tokens_of(line) for line in [*lines, head])
        items = _newest_fitting(note.items, room)
        if not items:
            break
        lines += [head, *(f"- {quoting.as_item(item)}" for item in items)]
        context.notes.append(replace(note, items=items, is_cut=note.is_cut or items != note.items))
    page.put("notes", lines)


def _newest_fitting(items: Sequence[str], room: int) -> list[str]:
    """The newest of these items that fit, in their order; of a single one that does not, its end."""
    kept: list[str] = []
    for item in reversed(items):
        tokens = tokens_of(f"- {quoting.as_item(item)}")
        if tokens > room:
            break
        kept.append(item)
        room -= tokens
    if items and not kept and (end := text.last_tokens(items[-1], room - 4)):
        kept = [end] if tokens_of(f"- {quoting.as_item(end)}") <= room else []
    return kept[::-1]

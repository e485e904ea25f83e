"""Everything a bot needs before it answers, in one call and within a budget of tokens (C9, C13, B5, D1).

directives → profile → memories and events → recent talk of the group → notes of the first turn → history, which gets
what is left
"""

from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo

from channels_app.history import HistoryMessage, handed_out, within_budget, without_repeats
from channels_app.system_text import EVIDENCE, PAST_INSTRUCTION, RESET_INSTRUCTION, SystemText
from memories.conf import conf
from memories.language import text
from memories.models import Scope
from memories.models.policy import Policies
from memories.recall import Query, Recall, recall
from memories.recall.answer import NONE, attributed, event_line, memory_line, one_line
from memories.recall.core_context import Note, ProfileFact, notes_of, profile_of
from memories.recall.gate.decision import GateDecision
from memories.recall.retrievers import RecalledEvent
from memories.recall.scoring import Ranked
from memories.recall.speakers import sender_of, sender_with_id
from memories.recall.temporal import is_about_past
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Resolved
from sessions_app.history.replay import replay_messages
from sessions_app.lifecycle import budget, close, conversations, reset
from sessions_app.messages import in_language
from sessions_app.models import Session, SessionEvent

#: The verdict that takes the most words: room is kept for it before anything is known.
LONGEST = "in_history"
#: Characters of a message of the group that was not meant for the bot.
RECENT_CHARS = 300


@dataclass
class Context:
    """What a bot is given."""

    recall: Recall
    session: Session | None  # None: the next message begins a conversation
    profile: list[ProfileFact] = field(default_factory=list)
    memories: list[Ranked] = field(default_factory=list)
    events: list[RecalledEvent] = field(default_factory=list)
    recent_chat: list[SessionEvent] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    history: list[HistoryMessage] = field(default_factory=list)
    directives: list[budget.BotDirective] = field(default_factory=list)
    text: str = ""
    tokens: int = 0
    max_tokens: int | None = None  # of the history, where the request says so
    reply: str | None = None  # to be given to the user in place of an answer

    @property
    def is_first_turn(self) -> bool:
        return self.session is None or not self.session.tokens


def context_for(
    caller: Caller,
    query: Query,
    resolved: Resolved,
    session: Session | None,
    policies: Policies,
    *,
    now: datetime,
    max_tokens: int | None = None,
) -> Context:
    """What a bot is given before it answers a message; it changes nothing, and asks no model but the embedder.

    `query` asks memory; its token_budget is that of everything. `session` is the one the address means, as far as
    there is one the caller may see; the policies are those of its workspace. `max_tokens` is the budget of the history,
    if it is not the channel's.
    """
    language, zone = caller.language, caller.zone
    going_on = session if session and goes_on(session, resolved, now=now) else None
    if reset.is_reset_command(query.message):
        return _of_a_reset(going_on, language)
    page = SystemText(query.token_budget, language)
    given = Context(Recall(GateDecision(False, "")), going_on, max_tokens=max_tokens)
    _add_directives(given, page, query, language, LONGEST)
    _add_profile(given, page, query, profile_of(query, policies, now=now))
    _add_recent_chat(given, page, caller, query, resolved)
    share = page.share(conf.CONTEXT_MEMORIES_SHARE)
    conversation = _Conversation(given, query.token_budget, page.left - share)
    query = replace(query, token_budget=page.room("memories", share), client_history=conversation.client_history)
    given.recall = recall(query, now=now, zone=zone, policies=policies)
    _add_directives(given, page, query, language)
    _add_found(given, page, share, zone)
    _add_notes(given, page, query, policies, resolved.chat_scope or resolved.user_scope, now=now, zone=zone)
    given.history = conversation.within(page.left)
    given.text = str(page)
    given.tokens = page.used + sum(said.tokens for said in given.history)
    return given


class _Conversation:
    """The open conversation of a context: what of it is sure to be handed out is known before memory is asked."""

    def __init__(self, given: Context, budget: int, sure: int) -> None:
        self._given = given
        self._events = replay_messages(given.session, budget) if given.session else []
        self._sure = self._fitting(sure)
        self.client_history = handed_out(given.session, self._sure) if given.session else None

    def _fitting(self, limit: int) -> list[HistoryMessage]:
        session = self._given.session
        return (
            within_budget(self._events, min(limit, self._given.max_tokens or session.max_tokens())) if session else []
        )

    def within(self, limit: int) -> list[HistoryMessage]:
        """As much of it as there is room for, as far back as nothing is said twice."""
        given = self._given
        if not given.session:
            return []
        told = {origin for item in given.memories for origin in item.entry.origins}
        told |= {event.path for event in given.events}
        return without_repeats(given.session, self._fitting(limit), self._sure, told)


def _of_a_reset(session: Session | None, language: str) -> Context:
    """What there is to do about /reset: nothing is recalled for it, and no model needs to be asked (B6)."""
    reply = reset.reset_reply(language)
    directive = budget.BotDirective("reset", in_language(RESET_INSTRUCTION, language).format(reply=reply))
    return Context(Recall(GateDecision(False, "reset")), session, directives=[directive], reply=reply)


def goes_on(session: Session, resolved: Resolved, *, now: datetime) -> bool:
    """Whether the next message of this address goes on with the open conversation of its session.

    One that was idle for too long ends, and so does one that was said for another memory.
    """
    if session.is_group != resolved.address.is_group:
        return False
    for held, meant in ((session.user_scope, resolved.user_scope), (session.chat_scope, resolved.chat_scope)):
        if held is not None and held.key != meant:
            return False
    return not close.is_stale(session, now=now)


def _add_directives(given: Context, page: SystemText, query: Query, language: str, verdict: str = "") -> None:
    """What the bot has to do comes first. What the text has no room for is asked beside it all the same.

    Before memory was asked they keep the place of those that will come.
    """
    before, given.directives = given.directives, []
    if is_about_past(query.message):
        found = in_language(EVIDENCE[verdict or _verdict(given)], language)
        instruction = in_language(PAST_INSTRUCTION, language) + found
        given.directives.append(budget.BotDirective("answer_from_memory", instruction))
    if not verdict:
        given.directives += [directive for directive in before if directive.kind == "flush_required"]
    elif given.session and budget.is_flush_due(given.session, given.max_tokens):
        given.directives.append(budget.flush_directive(given.session, language))
    lines = [directive.instruction for directive in given.directives]
    page.put("directives", lines[: page.fitting("directives", lines, page.left)])


def _verdict(given: Context) -> str:
    """What was found, and whether it stands in the conversation itself: a name in EVIDENCE."""
    if given.recall.in_history:
        return "in_history"
    none = given.recall.answerability.verdict == NONE
    return "none_beyond" if none and given.session else given.recall.answerability.verdict


def _add_profile(given: Context, page: SystemText, query: Query, core: list[ProfileFact]) -> None:
    scopes = {scope.pk: scope for scope in query.scopes}
    lines = [f"- {attributed(one.content, sender_of(one, scopes[one.scope_id], query.asker))}" for one in core]
    count = page.fitting("profile", lines, page.share(conf.CONTEXT_PROFILE_SHARE))
    page.put("profile", lines[:count])
    given.profile = core[:count]


def _add_found(given: Context, page: SystemText, limit: int, zone: tzinfo) -> None:
    """Memories and what was said, within one share; nothing that the profile or a memory says already."""
    before = page.used
    core = {entry.pk for entry in given.profile}
    memories = [item for item in given.recall.served if item.in_context and item.entry.pk not in core]
    proof = {event.memory: f" [{event.path}]" for event in reversed(given.recall.events)}
    lines = [memory_line(item, zone) + proof.get(str(item.entry.uid), "") for item in memories]
    count = page.fitting("memories", lines, limit)
    page.put("memories", lines[:count])
    given.memories = memories[:count]
    given.events = given.recall.events
    told = {str(item.entry.uid) for item in given.memories}
    new = [event for event in given.events if event.memory not in told]
    count = page.fitting("events", [event_line(event, zone) for event in new], limit - (page.used - before))
    in_order = sorted(new[:count], key=lambda event: (event.at, event.path))
    page.put("events", [event_line(event, zone) for event in in_order])


def _add_recent_chat(given: Context, page: SystemText, caller: Caller, query: Query, resolved: Resolved) -> None:
    """The newest talk of a group that was not meant for the bot, in order; whichever member's session it is in."""
    if not (resolved.chat_scope and caller.may_reach(resolved.chat_scope)):
        return
    group = given.session or Session(
        workspace_id=caller.workspace_id,
        platform=resolved.session_platform,
        account=resolved.session_account,
        chat_id=resolved.address.chat,
        is_group=True,
    )
    newest = conversations.recent_chat(group)[::-1]
    scope = next((place.scope for place in query.places if place.ref.key == resolved.chat_scope), None)
    lines = [f"- {_name(said, scope)}: {_short(said.content)}" for said in newest]
    count = page.fitting("recent_chat", lines, page.share(conf.CONTEXT_CHAT_SHARE))
    page.put("recent_chat", lines[:count][::-1])
    given.recent_chat = newest[:count][::-1]


def _name(said: SessionEvent, scope: Scope | None) -> str:
    """As people call the sender of a message in a chat; by the id where nobody does."""
    known = sender_with_id(said.sender_id, scope, "").label if scope else said.sender_id
    return known or "?"


def _short(content: str) -> str:
    return text.smart_truncate(one_line(content), RECENT_CHARS)


def _add_notes(
    given: Context,
    page: SystemText,
    query: Query,
    policies: Policies,
    own_key: str | None,
    *,
    now: datetime,
    zone: tzinfo,
) -> None:
    """At the first turn there is no history yet: the notes of the conversation's own scope may have its room (C9)."""
    own = next((place.scope for place in query.places if place.ref.key == own_key), None)
    if own is None or not given.is_first_turn:
        return
    lines: list[str] = []
    for note in notes_of(own, policies, now=now, zone=zone):
        head = f"{note.on.isoformat()}:\n"
        room = page.room("notes", page.left) - sum(text.count_tokens(line) + 2 for line in lines)
        content = text.last_tokens(note.content, room - text.count_tokens(head) - 2)
        if room <= text.count_tokens(head) + 2 or not content:
            break
        lines.append(head + content)
        given.notes.append(replace(note, content=content, is_cut=note.is_cut or content != note.content))
    page.put("notes", lines)

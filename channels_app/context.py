"""Everything a bot needs before it answers, in one call and within a budget of tokens (C9, C13, B5, D1).

directives → profile → memories and events → recent talk of the group → notes of the first turn → history, which gets
what is left
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo

from channels_app.system_text import SystemText
from channels_app.wording import EVIDENCE, PAST_INSTRUCTION, in_language
from memories import text
from memories.conf import conf
from memories.models import BotKey
from memories.models.policy import Policies
from memories.retrieval import Query, Recall, recall
from memories.retrieval.context import event_line, memory_line, one_line
from memories.retrieval.legs import Found
from memories.retrieval.past import is_about_the_past
from memories.retrieval.quotas import Ranked
from memories.retrieval.standing import CoreFact, Note, notes_of, profile_of
from memories.scoping import Resolved
from sessions_app import budget, closing, conversations
from sessions_app.choices import EventKind
from sessions_app.models import Flush, Session, SessionEvent
from sessions_app.replaying import MESSAGE_TOKENS, Spoken, replayed
from sessions_app.wording import FLUSH_INSTRUCTION

#: Of what is left for the history, how much a summary of its older turns may take.
SUMMARY_SHARE = 1 / 3
#: Characters of a message of the group that was not meant for the bot.
RECENT_CHARS = 300


@dataclass(frozen=True)
class Said:
    """One message of the history."""

    event: Spoken
    content: str
    tokens: int


@dataclass
class Context:
    """What a bot is given."""

    recall: Recall
    session: Session | None  # None: the next message begins a conversation
    profile: list[CoreFact] = field(default_factory=list)
    memories: list[Ranked] = field(default_factory=list)
    events: list[Found] = field(default_factory=list)
    recent_chat: list[SessionEvent] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    history: list[Said] = field(default_factory=list)
    directives: list[budget.Directive] = field(default_factory=list)
    text: str = ""
    tokens: int = 0

    @property
    def is_first_turn(self) -> bool:
        return self.session is None or not self.session.tokens


def context_for(
    key: BotKey, query: Query, resolved: Resolved, session: Session | None, policies: Policies, *, now: datetime
) -> Context:
    """What a bot is given before it answers a message; it changes nothing, and asks no model but the embedder.

    `query` asks memory; its token_budget is that of everything. `session` is the one the address means, as far as
    there is one the key may see; the policies are those of its workspace.
    """
    language, zone = key.workspace.language, key.workspace.zone()
    page = SystemText(query.token_budget, language)
    room = page.room("memories", page.share(conf.CONTEXT_MEMORIES_SHARE))
    found = recall(replace(query, token_budget=room), now=now, zone=zone, policies=policies)
    given = Context(found, session if session and goes_on(session, resolved, now=now) else None)
    history = replayed(given.session, query.token_budget) if given.session else []
    _add_directives(given, page, query, language)
    _add_profile(given, page, profile_of(query, policies, now=now))
    _add_found(given, page, history, zone)
    _add_recent_chat(given, page, key, resolved)
    _add_notes(given, page, query, resolved.chat_scope or resolved.user_scope, now=now, zone=zone)
    if given.session:
        given.history = fitting(history, min(page.left, given.session.max_tokens()))
    given.text = str(page)
    given.tokens = page.used + sum(said.tokens for said in given.history)
    return given


def goes_on(session: Session, resolved: Resolved, *, now: datetime) -> bool:
    """Whether the next message of this address goes on with the open conversation of its session.

    One that was idle for too long ends, and so does one that was said for another memory.
    """
    if session.is_group != resolved.address.is_group:
        return False
    for held, meant in ((session.user_scope, resolved.user_scope), (session.chat_scope, resolved.chat_scope)):
        if held is not None and held.key != meant:
            return False
    return not closing.is_stale(session, now=now)


def _add_directives(given: Context, page: SystemText, query: Query, language: str) -> None:
    """What the bot has to do comes first. What the text has no room for is asked beside it all the same."""
    if is_about_the_past(query.message):
        verdict = in_language(EVIDENCE[given.recall.evidence.verdict], language)
        instruction = in_language(PAST_INSTRUCTION, language) + verdict
        given.directives.append(budget.Directive("answer_from_memory", instruction))
    if given.session and _is_to_be_flushed(given.session):
        instruction = in_language(FLUSH_INSTRUCTION, language).format(id=given.session.uid)
        given.directives.append(budget.Directive("flush_required", instruction))
    lines = [directive.instruction for directive in given.directives]
    page.put("directives", lines[: page.fitting("directives", lines, page.left)])


def _is_to_be_flushed(session: Session) -> bool:
    """Whether a flush is due and nobody has done it yet; asked for until it is, here (B3)."""
    if session.tokens < session.max_tokens() * conf.SESSION_FLUSH_SHARE:
        return False
    here = {"session": session, "conversation": session.conversation, "cycle": session.cycle}
    return not Flush.objects.filter(**here).exists()


def _add_profile(given: Context, page: SystemText, core: list[CoreFact]) -> None:
    lines = [f"- {one_line(entry.content)}" for entry in core]
    count = page.fitting("profile", lines, page.share(conf.CONTEXT_PROFILE_SHARE))
    page.put("profile", lines[:count])
    given.profile = core[:count]


def _add_found(given: Context, page: SystemText, history: Sequence[Spoken], zone: tzinfo) -> None:
    """Memories and what was said, within one share; nothing that the profile, the history or a memory says already."""
    limit, before = page.share(conf.CONTEXT_MEMORIES_SHARE), page.used
    core = {entry.pk for entry in given.profile}
    memories = [item for item in given.recall.served if item.in_context and item.entry.pk not in core]
    proof = {event.memory: f" [{event.path}]" for event in reversed(given.recall.events)}
    lines = [memory_line(item, zone) + proof.get(str(item.entry.uid), "") for item in memories]
    count = page.fitting("memories", lines, limit)
    page.put("memories", lines[:count])
    given.memories = memories[:count]
    given.events = _not_handed_out(given, history)
    told = {str(item.entry.uid) for item in given.memories}
    new = [event for event in given.events if event.memory not in told]
    count = page.fitting("events", [event_line(event, zone) for event in new], limit - (page.used - before))
    in_order = sorted(new[:count], key=lambda event: (event.at, event.path))
    page.put("events", [event_line(event, zone) for event in in_order])


def _not_handed_out(given: Context, history: Sequence[Spoken]) -> list[Found]:
    """What was said then, without what the open conversation says anyway."""
    if not (given.session and given.recall.events):
        return given.recall.events
    conversation = given.session.conversation
    handed_out = {given.session.origin(conversation, event.pk) for event in history}
    return [event for event in given.recall.events if event.path not in handed_out]


def _add_recent_chat(given: Context, page: SystemText, key: BotKey, resolved: Resolved) -> None:
    """The newest talk of a group that was not meant for the bot, in order; whichever member's session it is in."""
    if not (resolved.chat_scope and key.may_reach(resolved.chat_scope)):
        return
    group = given.session or Session(
        workspace_id=key.workspace_id,
        platform=resolved.session_platform,
        account=resolved.session_account,
        chat_id=resolved.address.chat,
        is_group=True,
    )
    newest = conversations.recent_chat(group)[::-1]
    lines = [f"- {said.sender_id or '?'}: {_short(said.content)}" for said in newest]
    count = page.fitting("recent_chat", lines, page.share(conf.CONTEXT_CHAT_SHARE))
    page.put("recent_chat", lines[:count][::-1])
    given.recent_chat = newest[:count][::-1]


def _short(content: str) -> str:
    return text.smart_truncate(one_line(content), RECENT_CHARS)


def _add_notes(
    given: Context, page: SystemText, query: Query, own_key: str | None, *, now: datetime, zone: tzinfo
) -> None:
    """At the first turn there is no history yet: the notes of the conversation's own scope may have its room (C9)."""
    own = next((place.scope for place in query.places if place.ref.key == own_key), None)
    if own is None or not given.is_first_turn:
        return
    lines: list[str] = []
    for note in notes_of(own, now=now, zone=zone):
        head = f"{note.on.isoformat()}:\n"
        room = page.room("notes", page.left) - sum(text.count_tokens(line) + 2 for line in lines)
        content = text.last_tokens(note.content, room - text.count_tokens(head) - 2)
        if room <= text.count_tokens(head) + 2 or not content:
            break
        lines.append(head + content)
        given.notes.append(replace(note, content=content, is_cut=note.is_cut or content != note.content))
    page.put("notes", lines)


def fitting(events: Sequence[Spoken], limit: int) -> list[Said]:
    """A history within so many tokens: its summary, shortened if need be, and the newest whole turns that fit."""
    summary = [_shortened(event, int(limit * SUMMARY_SHARE)) for event in events if event.kind == EventKind.SUMMARY]
    chosen = [said for said in summary if said.content]
    left = limit - sum(said.tokens for said in chosen)
    spoken = [event for event in events if event.kind != EventKind.SUMMARY]
    begin = len(spoken)
    for n in range(len(spoken) - 1, -1, -1):
        left -= spoken[n].tokens + MESSAGE_TOKENS
        if left < 0:
            break
        if spoken[n].kind == EventKind.USER or n == 0:
            begin = n
    return chosen + [Said(event, event.content, event.tokens + MESSAGE_TOKENS) for event in spoken[begin:]]


def _shortened(summary: Spoken, limit: int) -> Said:
    content = text.first_tokens(summary.content, max(limit - MESSAGE_TOKENS - 1, 0))
    return Said(summary, content, text.count_tokens(content) + MESSAGE_TOKENS)

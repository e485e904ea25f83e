"""A finished turn of a conversation becomes one memory a scope (A1, A3), and a task with tools one more (A6).

Secrets in a conversation: taken out of the messages, and kept apart for whoever gave them away.

What is stored of a turn, its messages, its memories and what a model is shown, holds `[secret]` in their place. The
sentence that holds one is kept as a credential of the speaker, where the channel's rule says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memories import entries
from memories.choices import EntryType, Origin, ScopeKind, SecretsRule, Source
from memories.conf import conf
from memories.entries.draft import Draft, as_credential
from memories.entries.evidence import Provenance, speaker_of, words_of
from memories.language.confidential import ARROW, ToolCall, asked_kinds, find_secrets, mask, redact, sequence_of
from memories.language.quoting import turn_of
from memories.language.secret_forms import FoundSecret, SecretKind
from memories.language.text import asks_to_keep, is_blank, smart_truncate
from memories.models import Entry, Scope
from memories.models.change import acting
from memories.tenancy.resolver import Address, Resolution

#: The slot by which a way of working is recognised.
SEQUENCE = "tool_sequence"
#: Characters of the user's side that are kept where the user asks for it to be kept.
KEPT_CHARS = 2_000
#: Characters of what was done, whose beginning and end are kept.
DONE_CHARS = 1_000


@dataclass(frozen=True, kw_only=True)
class EarlierTurn:
    """The turn before, of which «please remember that» speaks, and the messages it rests on."""

    user: str
    assistant: str
    origins: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A finished turn as a bot reports it."""

    address: Address
    user: str
    assistant: str
    at: datetime
    slots: dict[str, str] = field(default_factory=dict)
    sender_name: str = ""  # what people call the peer
    tool_calls: tuple[ToolCall, ...] = ()
    outcome: str = ""
    recall_id: str = ""  # the recall that was used
    max_tokens: int | None = None  # of the history, where it is not the channel's
    about: EarlierTurn | None = None  # what the user asks to keep, where this turn does not say it

    @property
    def is_empty(self) -> bool:
        return is_blank(self.user) and is_blank(self.assistant)

    def named_slots(self) -> dict[str, str]:
        """The slots with the name of the sender; a speaker among the slots wins."""
        name = " ".join((self.sender_name or "").split())
        return {"speaker": name, **self.slots} if name else self.slots


@dataclass(frozen=True)
class SecretStatement:
    """Words of somebody that hold secrets, as they are kept for them."""

    content: str
    kinds: frozenset[SecretKind]
    side: int  # the message it stood in


def turn_text(user: str, assistant: str, name: str = "", *, user_chars: int | None = None) -> str:
    """Both sides of a turn, each cut to its limit (A1); `name` is that of a member of a group."""
    question = "" if is_blank(user) else smart_truncate(user, user_chars or conf.TURN_USER_CHARS)
    answer = "" if is_blank(assistant) else smart_truncate(assistant, conf.TURN_ASSISTANT_CHARS)
    return turn_of(question, answer, name)


def capturing_scopes(resolved: Resolution, scopes: Mapping[str, Scope]) -> tuple[Scope | None, Scope | None]:
    """The speaker's scope, where there is a speaker, and the chat's, where its channel keeps a memory of groups.

    `scopes` holds the scopes of `resolved` by key.
    """
    own = scopes[resolved.user_scope] if resolved.user_scope and resolved.address.speaker else None
    captures_chat = resolved.chat_scope and resolved.rules.capture_group_memory
    return own, scopes[resolved.chat_scope or ""] if captures_chat else None


def capture(
    turn: Turn,
    resolved: Resolution,
    scopes: Mapping[str, Scope],
    *,
    origins: Sequence[str],
    now: datetime,
    actor: str,
    secrets: Sequence[SecretStatement] = (),
) -> list[entries.WriteResult]:
    """Store a turn in the scopes that capture it, what its tools did, and its secrets; all of it or nothing.

    The turn has its secrets no longer; they go to the speaker alone. The task goes where the turn goes. The order of
    two or more tools goes to the speaker alone, and there once: used again, it is counted. What the user asks to have
    kept is saved on purpose, and has no end (A9). Raises InvalidDraft or ScopeFrozen.
    """
    own, chat = capturing_scopes(resolved, scopes)
    writable = [scope for scope in (own, chat) if scope]
    if not writable or (turn.is_empty and not turn.tool_calls):
        return []
    content = turn_text(turn.user, turn.assistant)
    if is_kept(turn):  # more of its words, and what it speaks of
        sides = [(turn.about.user, turn.about.assistant)] if turn.about else []
        sides.append((turn.user, turn.assistant))
        user, assistant = ("\n".join(filter(None, side)) for side in zip(*sides, strict=True))
        content = turn_text(user, assistant, user_chars=KEPT_CHARS)
    base = Draft(
        scope=writable[0],
        type=EntryType.USER_EXPLICIT if is_kept(turn) else EntryType.CHAT_TURN,
        content=content,
        source=Source.CONVERSATION_CAPTURE,
        at=turn.at,
        slots={**turn.named_slots(), **source_slots(resolved)},
        origins=(*(turn.about.origins if turn.about else ()), *origins),
        **_words_of(turn, writable[0]),
    )
    with acting(actor, savepoint=False):
        locked = None
        drafts = [] if turn.is_empty else [_in_scope(base, scope, resolved) for scope in writable]
        if own:
            drafts += drafts_of(secrets, _in_scope(base, own, resolved), origins)
        if turn.tool_calls:
            locked = entries.lock_scopes(writable)  # before the order of tools is looked up: two at once would miss it
            drafts += _task_drafts(turn, base, own, chat, resolved)
        return entries.remember_many(drafts, now=now, actor=actor, locked=locked, savepoint=False)


def is_kept(turn: Turn) -> bool:
    """Whether the user asks in a turn that it be kept."""
    return turn.about is not None or asks_to_keep(turn.user)


def _words_of(turn: Turn, scope: Scope) -> Provenance:
    """Whose words a turn has in a scope: of its user, and of the bot where it answered."""
    return words_of(
        scope.kind,
        spoken=not is_blank(turn.user),
        answered=not is_blank(turn.assistant),
        used_tools=bool(turn.tool_calls),
        is_about_self=scope.kind == ScopeKind.USER,
    )


def _in_scope(draft: Draft, scope: Scope, resolved: Resolution) -> Draft:
    origin = speaker_of(scope.kind, is_about_self=scope.kind == ScopeKind.USER)
    chats = (resolved.chat,) if scope.kind == ScopeKind.USER else ()
    return replace(draft, scope=scope, chats=chats, origin=Origin.lowest([draft.origin, origin]))


def _task_drafts(
    turn: Turn, base: Draft, own: Scope | None, chat: Scope | None, resolved: Resolution
) -> Iterator[Draft]:
    outcome = turn.assistant if is_blank(turn.outcome) else redact(turn.outcome)
    parts = {
        "Asked": smart_truncate(turn.user, conf.TURN_USER_CHARS),
        "Done": smart_truncate(ARROW.join(call.in_one_line() for call in turn.tool_calls), DONE_CHARS),
        "Outcome": smart_truncate(outcome, conf.TURN_ASSISTANT_CHARS),
    }
    task = replace(
        base,
        type=EntryType.AUTO_CAPTURE,
        source=Source.MEMORY_CAPTURE,
        origin=Origin.BOT,
        trust=Origin.TOOL,
        content="\n".join(f"{name}: {part}" for name, part in parts.items() if part),
    )
    if own:
        yield _in_scope(task, own, resolved)
    if own and len(turn.tool_calls) > 1:
        # the order of tools; in the words it is stored with already, so that it is recognised as the same
        sequence = sequence_of(turn.tool_calls)
        traces = Entry.objects.in_scope(own).live().filter(type=EntryType.WORKFLOW_TRACE)
        traces = traces.filter(sender_id=resolved.address.speaker, chat_id=resolved.address.chat)
        same = traces.filter(slots__name=SEQUENCE, slots__value=sequence).first()
        tools = smart_truncate(ARROW.join(call.name for call in turn.tool_calls), DONE_CHARS)
        content = f"Task: {parts['Asked']}\nTools: {tools}"
        slots = [item for item in turn.named_slots().items() if item[0] != SEQUENCE][: conf.SLOT_LIMIT - 1]
        yield replace(
            _in_scope(task, own, resolved),
            type=EntryType.WORKFLOW_TRACE,
            content=same.content if same else content,
            slots={**({} if same else dict(slots)), SEQUENCE: sequence, **source_slots(resolved)},
        )
    if chat:
        yield _in_scope(task, chat, resolved)


def source_slots(resolved: Resolution) -> dict[str, str]:
    """The slots that name where a message came from and who sent it."""
    address = resolved.address
    return {
        "channel": address.platform,
        "chat_id": address.chat,
        "session_id": resolved.session_key,
        "sender_id": address.speaker,
        "thread_id": address.thread,
    }


#: The tier of a fact that is no part of a profile.
_KNOWLEDGE = 2
#: Of a message that holds a secret: all of it, or what stands around.
_WHOLE_CHARS, _AROUND_CHARS = 300, 120
#: Of many secrets close together: as much as can be read at a glance, and where one piece ends and the next begins.
_PIECE_CHARS, _LINE_ENDS = 2_000, "\n。；;，, "


def without_secrets(
    messages: Sequence[str], rule: str, *, by_user: Sequence[bool]
) -> tuple[list[str], list[SecretStatement]]:
    """Messages of a conversation without their secrets, and what of these is kept apart.

    A bot that repeats a secret, or answers with one it was asked for, tells nothing new.
    """
    if rule == SecretsRule.OFF:
        return list(messages), []
    of_each = [find_secrets(message) for message in messages]
    if not any(of_each):
        return list(messages), []
    values = {secret.value for secrets in of_each for secret in secrets}
    masked = [mask(message, values) for message in messages]
    if rule == SecretsRule.MASK:
        return masked, []
    of_user = [n for n, is_users in enumerate(by_user) if is_users]
    users_values = {secret.value for n in of_user for secret in of_each[n]}
    kinds_asked_for = {kind for n in of_user for kind in asked_kinds(messages[n])}
    statements = []
    for side, (message, secrets, is_users) in enumerate(zip(messages, of_each, by_user, strict=True)):
        new = [
            secret
            for secret in secrets
            if is_users or not (secret.value in users_values or secret.kind in kinds_asked_for)
        ]
        statements += [SecretStatement(content, kinds, side) for content, kinds in _around(message, new)]
    return masked, statements


def _around(message: str, secrets: Sequence[FoundSecret]) -> Iterator[tuple[str, frozenset[SecretKind]]]:
    """The message, or of a long one the lines and words around each secret, in pieces a memory has room for."""
    pieces: list[tuple[int, int, frozenset[SecretKind]]] = []  # which overlap nowhere
    begin, end, kinds = 0, len(message), {secret.kind for secret in secrets}
    if len(message) > _WHOLE_CHARS:
        most = min(_PIECE_CHARS, conf.CONTENT_MAX_CHARS) - _AROUND_CHARS // 2
        free, kinds = 0, set()  # from `free` on the next piece may begin
        for n, secret in enumerate(secrets):
            if kinds and secret.start - _AROUND_CHARS > end:
                pieces.append((begin, end, frozenset(kinds)))
                kinds = set()
            elif kinds and secret.end - begin > most:  # what stands between two secrets belongs to the second
                last = secrets[n - 1].end
                line_ends = (message.find(mark, last, secret.start) + 1 for mark in _LINE_ENDS)
                free = next(filter(None, line_ends), last)
                pieces.append((begin, free, frozenset(kinds)))
                kinds = set()
            if not kinds:  # from a whole word on
                begin = max(free, secret.start - _AROUND_CHARS)
                begin = begin if begin == free else max(message.find(" ", begin, secret.start) + 1, begin)
            end, kinds = min(len(message), secret.end + _AROUND_CHARS // 2), kinds | {secret.kind}
            space = message.rfind(" ", secret.end, end)
            if end < len(message) and space >= 0:  # to a whole word
                end = space
    if kinds:
        pieces.append((begin, end, frozenset(kinds)))
    for begin, end, kinds_of_piece in pieces:
        for at in range(begin, end, conf.CONTENT_MAX_CHARS):  # a single secret may be longer: a key
            if words := message[at : min(at + conf.CONTENT_MAX_CHARS, end)].strip():
                yield words, kinds_of_piece


def turn_without_secrets(turn: Turn, rule: str) -> tuple[Turn, list[SecretStatement]]:
    """A turn without the secrets of its two sides, and what is kept of them."""
    (user, assistant), secrets = without_secrets([turn.user, turn.assistant], rule, by_user=[True, False])
    return replace(turn, user=user, assistant=assistant), secrets


def drafts_of(
    secrets: Sequence[SecretStatement], base: Draft, origins: Sequence[str], *, at: Sequence[datetime] = ()
) -> Iterator[Draft]:
    """What is kept of secrets, beside the memory `base` that was made of the same messages for the same person.

    `at`: of messages that are reported one by one, the moment of each.
    """
    for secret in secrets:
        draft = replace(
            base,
            type=EntryType.FACT,
            tier=_KNOWLEDGE,
            source=Source.CONVERSATION_CAPTURE,
            origin="",  # their own words, whatever was answered
            trust="",
            content=secret.content,
            at=at[secret.side] if at else base.at,
            origins=tuple(origins[secret.side : secret.side + 1]),
        )
        yield as_credential(draft, secret.kinds)

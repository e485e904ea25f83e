"""The turns of a conversation: their extractive summary, and the closing summary that makes them memory (B3, B4, C7).

A closing summary is stored where neither bot nor model chose what to keep. In a direct chat it becomes memory of the
peer. In a group the turns of each speaker become memory of that speaker, and all of them memory of the chat where its
channel captures group memory.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TypeVar

from django.db import transaction

from memories import entries
from memories.choices import SUMMARY_SUBTYPES, EntryType, ScopeKind, Source
from memories.conf import conf
from memories.consolidation.capture import turn_text
from memories.entries.draft import Draft
from memories.entries.evidence import Provenance, words_of
from memories.language import quoting, text
from memories.language.quoting import new_sentences, telling_sentences
from memories.language.summary import Sentence, Utterance, choose, write
from memories.language.text import cut_at_sentence, spoken_sentences
from memories.models import Scope
from memories.tenancy.resolver import Resolution, resolve
from sessions_app.history import retention
from sessions_app.models import EventKind, Session, SessionEvent

T = TypeVar("T")
PARAGRAPHS = 3
HEARD = (EventKind.USER, EventKind.ASSISTANT)  # of whom turns consist
_SENTENCE_CHARS = 240
_LABEL_TOKENS = 4  # of the speaker, added to each sentence
#: Words of what a conversation goes on from: decisions, wishes, numbers.
_TELLING = re.compile(
    r"\d|\b(?:decid|agree|prefer|must|need|want|will|plan|deadline|error|fix|deploy|name|call|remember|like|use)\w*"
    r"|决定|同意|喜欢|偏好|必须|需要|想要|打算|计划|截止|错误|修复|部署|记住|叫|改成|约定|使用",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class TurnEvents:
    """The messages of one turn: of a user, and the answers to them."""

    events: list[SessionEvent]

    @property
    def sender(self) -> str:
        return self.events[0].sender_id if self.events[0].kind == EventKind.USER else ""

    @property
    def sides(self) -> tuple[str, str]:
        """What the user says, and what the bot answers."""
        user, assistant = (
            "\n".join(event.content for event in self.events if event.kind == kind)
            for kind in (EventKind.USER, EventKind.ASSISTANT)
        )
        return user, assistant

    def text(self, name: str = "") -> str:
        """Both sides, each cut to its limit."""
        return turn_text(*self.sides, name=name and quoting.label_of(name))


def turns_of(events: Iterable[SessionEvent]) -> list[TurnEvents]:
    """The turns of a conversation; one begins with a user's message after an answer or another user's."""
    messages = [event for event in events if event.kind in HEARD]
    first = [n for n, event in enumerate(messages) if n == 0 or begins(messages[n - 1], event)]
    return [TurnEvents(messages[begin:end]) for begin, end in pairwise([*first, len(messages)])]


def without_echoes(turns: Sequence[TurnEvents]) -> list[TurnEvents]:
    """The turns that tell something new; all of them where none does (A7)."""
    telling: list[TurnEvents] = []
    before: list[str] = []
    for turn in turns:
        user, assistant = turn.sides
        if telling_sentences(user) or new_sentences(assistant, question=user, memories=before):
            telling.append(turn)
        before += [user, assistant]
    return telling or list(turns)


def begins(before: SessionEvent, event: SessionEvent) -> bool:
    """Whether a turn begins with a message; `before` is the one heard before it."""
    is_another = before.kind != EventKind.USER or before.sender_id != event.sender_id
    return event.kind == EventKind.USER and is_another


def summarise(turns: Sequence[TurnEvents], max_tokens: int, *, before: str = "", names: bool = False) -> str:
    """At most three paragraphs; the first is `before`, the summary of what came before these turns, if there is one.

    With `names` users are called by their ids.
    """
    parts = _parts(turns, PARAGRAPHS - bool(before))
    share = max_tokens // (len(parts) + bool(before) or 1)
    recurring = Counter(term for turn in turns for event in turn.events for term in text.terms(event.content))
    paragraphs = [text.first_tokens(before, share), *(_paragraph(part, share, recurring, names) for part in parts)]
    return text.first_tokens("\n\n".join(filter(None, paragraphs)), max_tokens)


def _parts(whole: Sequence[T], count: int) -> list[Sequence[T]]:
    """A sequence in at most so many pieces of about the same length."""
    count = max(min(count, len(whole)), 1)
    cuts = [len(whole) * n // count for n in range(count + 1)]
    return [whole[begin:end] for begin, end in pairwise(cuts) if begin < end]


def in_paragraphs(content: str, max_tokens: int) -> str:
    """A text of a model in at most three paragraphs."""
    parts = _parts(content.split("\n\n"), PARAGRAPHS)
    return cut_at_sentence("\n\n".join(" ".join(part) for part in parts), max_tokens)


def _paragraph(turns: Sequence[TurnEvents], max_tokens: int, recurring: Counter[int], names: bool) -> str:
    candidates: list[Sentence] = []
    for turn in turns:
        for event in turn.events:
            is_answer = event.kind != EventKind.USER
            label = "Assistant" if is_answer else (turn.sender if names else "") or "User"
            utterance = Utterance(content=event.content, origin="", label=label, is_answer=is_answer)
            for sentence_text in filter(None, spoken_sentences(event.content)):
                content = text.smart_truncate(sentence_text, _SENTENCE_CHARS)
                candidates.append(Sentence(len(candidates), content, utterance, frozenset(text.terms(content))))
    sizes = [text.count_tokens(sentence.content) + _LABEL_TOKENS for sentence in candidates]

    def score(sentence: Sentence, _covered: AbstractSet[int]) -> float:
        """What recurs in the conversation is what it is about; long sentences are not better for being long."""
        theme = sum(min(recurring[term], 5) for term in sentence.terms) / (len(sentence.terms) + 3)
        return theme + 1.5 * bool(_TELLING.search(sentence.content)) + 0.5 * (not sentence.utterance.is_answer)

    sentences = choose(candidates, score, lambda some: sum(sizes[sentence.position] for sentence in some) <= max_tokens)
    return write(sentences, separator=" ")


#: Of a closed conversation its last TURNS are kept, of one that goes on a summary.
EXPIRED, FLUSHED = SUMMARY_SUBTYPES
TURNS = 5


def store_summary(
    session: Session, events: Sequence[SessionEvent], subtype: str, *, now: datetime, actor: str
) -> list[entries.WriteResult]:
    """Store part of one conversation by the rule above, without its redacted messages (A15).

    These are looked up with the scopes locked, so that nobody redacts meanwhile. Raises ScopeFrozen or InvalidDraft.
    """
    if not events:
        return []
    with transaction.atomic():
        locked = entries.lock_scopes(scope for scope, _turns, _sender in _shares(session, turns_of(events)))
        visible_events = retention.redact(events, retention.redacted_events(session, events[0].conversation))
        drafts = []
        for scope, share, sender in _shares(session, turns_of(visible_events)):
            is_chat = scope.kind == ScopeKind.CHAT
            turns = without_echoes(share)
            if subtype == EXPIRED:
                content = "\n".join(turn.text(turn.sender if is_chat else "") for turn in turns)
            else:
                content = summarise(turns, conf.HISTORY_SUMMARY_MAX_TOKENS, names=is_chat)
            draft = Draft(
                scope=scope,
                type=EntryType.AUTO_CAPTURE,
                subtype=subtype,
                content=text.smart_truncate(content, conf.CONTENT_MAX_CHARS),
                source=Source.MEMORY_CAPTURE,
                at=max(event.at for turn in turns for event in turn.events),
                slots=slots_of(session, sender),
                chats=chats_of(session, scope),
                origins=tuple(session.origin_of(event) for turn in turns for event in turn.events),
                **trust_of(scope, [event for turn in turns for event in turn.events], is_about_self=not is_chat),
            )
            drafts.append(draft)
        return entries.remember_many(drafts, now=now, actor=actor, locked=locked)


def trust_of(scope: Scope, events: Sequence[SessionEvent], *, is_about_self: bool) -> Provenance:
    """Whose words these messages are, and the least trusted of them."""
    answers = [event for event in events if event.kind != EventKind.USER]
    return words_of(
        scope.kind,
        spoken=len(answers) < len(events),
        answered=bool(answers),
        used_tools=any(event.kind == EventKind.TOOL or event.data.get("tool_calls") for event in answers),
        is_about_self=is_about_self,
    )


def _shares(session: Session, turns: list[TurnEvents]) -> Iterator[tuple[Scope, list[TurnEvents], str]]:
    """Each scope these turns become memory of, its share of them, and the sender where there is only one."""
    if not turns:
        return
    if not session.is_group:
        if session.user_scope:
            yield session.user_scope, turns, session.peer
        return
    for sender in dict.fromkeys(turn.sender for turn in turns if turn.sender):
        if scope := scope_of_speaker(session, sender):
            yield scope, [turn for turn in turns if turn.sender == sender], sender
    if session.chat_scope and session.channel_rules().capture_group_memory:
        yield session.chat_scope, turns, ""


def slots_of(session: Session, sender: str) -> dict[str, str]:
    """The slots of a memory of this session (E3)."""
    return {
        "channel": session.platform,
        "chat_id": session.chat_id,
        "session_id": session.key,
        "sender_id": sender,
        "source_session_id": str(session.uid),
    }


def chats_of(session: Session, scope: Scope) -> tuple[str, ...]:
    """The chat a memory of a person comes from (A3)."""
    if scope.kind == ScopeKind.CHAT:
        return ()
    chat = session.chat_scope if session.is_group else session.user_scope
    return (chat.key,) if chat else ()


def speaker_in(session: Session, sender: str) -> Resolution:
    """The resolved address of somebody who speaks in this session."""
    return resolve(session.address_of(sender), session.channel_rules(), default_dm_scope=conf.DM_SCOPE)


def scope_of_speaker(session: Session, sender: str) -> Scope | None:
    """The scope of somebody who speaks in a group, begun where needed."""
    key = speaker_in(session, sender).user_scope
    return Scope.objects.begin(session.workspace_id, key, ScopeKind.USER) if key else None

"""The words that facts of models rest on, where nobody kept them: looked for in their messages, and read (D5).

Facts from before models had to quote, and facts nobody read a second time because the reader was off or down. Nothing
is refused any more: what is not borne out stays quoted. The messages are handed in by who keeps them.
"""

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Protocol

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.expressions import BaseExpression

from memories import verification
from memories.choices import Reading, Verification
from memories.consolidation import reading
from memories.consolidation.reading import Claim, Sources
from memories.entries import evidence
from memories.entries.draft import QuotedWords
from memories.exceptions import ScopeFrozen
from memories.language import text
from memories.language.text import nearest_sentence
from memories.models import Entry, Evidence, Scope, Workspace

ACTOR = "job:find-evidence"
CHUNK = 200
#: Of a longer message one sentence is quoted; of many messages the best.
WHOLE_CHARS, QUOTES = 160, 3
#: Facts read with one question, and facts read a night.
READ_TOGETHER, READ_MOST = 20, 200


class Quotable(Protocol):
    """A message whose words may be quoted."""

    content: str
    at: datetime
    sender_id: str

    @property
    def sender_name(self) -> str: ...


class MessageLog(Protocol):
    """The messages that facts rest on, as whoever keeps them hands them out; each has its path."""

    def has_message(self) -> BaseExpression:
        """Whether a message of a user is still there, of an entry."""

    def quotable(self, workspace_id: int, paths: Collection[str]) -> Mapping[str, Quotable]:
        """What users wrote, kept until the transaction ends; nothing that was taken out."""

    def contents(self, workspace_id: int, paths: Collection[str]) -> Mapping[str, str]:
        """The words of all messages."""

    def name_of(self, scope: Scope, sender: str) -> str:
        """What people call a sender."""


def find_evidence(workspace_id: int, messages: MessageLog, *, now: datetime, seconds: float) -> dict[str, int]:
    """Look for the words of facts that have none, for so many seconds, then have facts read that nobody has read."""
    ends = time.monotonic() + seconds
    quoted, last = 0, 0
    while time.monotonic() < ends:
        with transaction.atomic():
            facts = list(
                _facts_without_evidence(workspace_id, messages).filter(pk__gt=last).select_related("scope")[:CHUNK]
            )
            if not facts:
                break
            last = facts[-1].pk
            quotable_messages = messages.quotable(workspace_id, {origin for fact in facts for origin in fact.origins})
            rows = [(fact, words) for fact in facts for words in _words_of(fact, quotable_messages, messages)]
            evidence.add(rows)
            quoted += len({fact.pk for fact, _words in rows})
    counts = Counter(entries=quoted)
    counts.update(_read(Workspace.objects.get(pk=workspace_id), messages, now, ends))
    return dict(counts)


def count_without(workspace_id: int, messages: MessageLog) -> dict[str, int]:
    """How many facts have no words yet though a message of theirs is still there."""
    return {"entries": _facts_without_evidence(workspace_id, messages).count()}


def _quoted_facts(workspace_id: int) -> QuerySet[Entry]:
    return Entry.objects.live().filter(workspace_id=workspace_id, verification=Verification.QUOTED)


def _facts_without_evidence(workspace_id: int, messages: MessageLog) -> QuerySet[Entry]:
    return _quoted_facts(workspace_id).filter(messages.has_message(), evidence__isnull=True).order_by("pk")


def _words_of(fact: Entry, quotable_messages: Mapping[str, Quotable], messages: MessageLog) -> list[QuotedWords]:
    """The words of the messages that say most of a fact, in their order; where none does, of the newest.

    A short message is quoted whole, of a longer one the sentence that says most of the fact.
    """
    quotable: list[QuotedWords] = []
    for origin in fact.origins:
        if (message := quotable_messages.get(origin)) is None:
            continue
        content = message.content
        if len(content) <= WHOLE_CHARS:
            spans = [verification.Span(0, len(content))] if content.strip() else []
        else:
            spans = verification.find_quote(nearest_sentence(fact.content, [content]), content)
        if spans:
            start, end = spans[0].start, spans[-1].end
            speaker = message.sender_name or messages.name_of(fact.scope, message.sender_id) or message.sender_id
            words = QuotedWords(
                origin=origin, start=start, end=end, quote=content[start:end], at=message.at, speaker=speaker
            )
            quotable.append(words)
    own = set(text.terms(fact.content))
    shared = {words: len(own.intersection(text.terms(words.quote))) for words in quotable}
    best = sorted(quotable, key=lambda words: (shared[words], words.at, words.origin), reverse=True)
    chosen_words = [words for words in best[:QUOTES] if shared[words]] or best[:1]
    return [words for words in quotable if words in chosen_words]


def _read(workspace: Workspace, messages: MessageLog, now: datetime, ends: float) -> Counter[str]:
    """Have quoted facts read that were never read; those that are borne out are verified, the others stay as they are.

    A reader that fails, or is not believed, is not asked again before the next night.
    """
    counts: Counter[str] = Counter()
    while reading.is_on() and counts["read"] < READ_MOST and time.monotonic() < ends:
        # Quoted facts with words nobody has read, the newest first
        unread = Evidence.objects.filter(workspace_id=workspace.pk, read_at=None).values("entry")
        facts = list(
            _quoted_facts(workspace.pk)
            .filter(pk__in=unread, scope__frozen=False)
            .select_related("scope")
            .order_by("-pk")[:READ_TOGETHER]
        )
        quoted = evidence.evidence_of([fact.pk for fact in facts], workspace.pk)
        if not facts:
            break
        claims, sources = _claims(facts, quoted, workspace, messages)
        result = reading.read(claims, sources, workspace, now=now)
        if not result.is_believed:
            counts.update(result.counts)
            break
        # Those that are borne out are marked, a scope at a time
        verified = 0
        scopes: dict[int, tuple[Scope, dict[int, int]]] = {}
        for fact, verdict in zip(facts, result.verdicts, strict=True):
            if verdict == Reading.ENTAILED:
                scopes.setdefault(fact.scope_id, (fact.scope, {}))[1][fact.pk] = fact.version
        for _pk, (scope, versions) in sorted(scopes.items()):
            with suppress(ScopeFrozen):
                verified += evidence.verify(scope, versions, now=now, actor=ACTOR)
        counts.update(result.counts, verified=verified)
        Evidence.objects.filter(entry__in=[fact.pk for fact in facts]).update(read_at=now)
    return counts


def _claims(
    facts: Sequence[Entry], quoted: Mapping[int, Sequence[Evidence]], workspace: Workspace, messages: MessageLog
) -> tuple[list[Claim], Sources]:
    """The facts with their words, and the messages these stand in; of a message that is gone the words alone."""
    rows = [words for quotes_of_fact in quoted.values() for words in quotes_of_fact]
    words_by_origin = messages.contents(workspace.pk, {words.origin for words in rows})
    names = {origin: f"m{n}" for n, origin in enumerate(dict.fromkeys(words.origin for words in rows), start=1)}
    texts_by_id = {
        names[words.origin]: {
            "speaker": words.speaker,
            "on": words.at.astimezone(workspace.zone()).date().isoformat(),
            "text": words_by_origin.get(words.origin, words.quote),
        }
        for words in rows
    }
    claims = [
        Claim(fact.content, [(names[words.origin], words.quote) for words in quoted.get(fact.pk, ())]) for fact in facts
    ]
    return claims, Sources(texts_by_id, {words.speaker for words in rows if words.speaker})

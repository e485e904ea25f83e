"""The words that facts of models rest on, where nobody kept them: looked for in their messages, and read (D5).

Facts from before models had to quote, and facts nobody read a second time because the reader was off or down. Nothing
is refused any more: what is not borne out stays quoted.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from memories.choices import Reading, Verification
from memories.consolidation import reading
from memories.consolidation.reading import Claim, Sources
from memories.entries import evidence
from memories.entries.draft import QuotedWords
from memories.exceptions import ScopeFrozen
from memories.language import text
from memories.language.sentences import nearest_sentence
from memories.models import Entry, Evidence, Scope, Workspace
from memories.recall.people import name_in
from memories.verification import quotes
from sessions_app.choices import EventKind
from sessions_app.history import retention
from sessions_app.models import SessionEvent, event_ids

ACTOR = "job:find-evidence"
CHUNK = 200
#: Of a longer message one sentence is quoted; of many messages the best.
WHOLE_CHARS, QUOTES = 160, 3
#: Facts read with one question, and facts read a night.
READ_TOGETHER, READ_MOST = 20, 200
_HAS_MESSAGE = """EXISTS (
    SELECT 1 FROM unnest("memories_entry"."origins") named (origin)
    JOIN sessions_app_sessionevent v ON v.id = substring(named.origin FROM '/event-([0-9]{1,18})$')::bigint
    WHERE v.workspace_id = "memories_entry"."workspace_id" AND v.kind = %s
)"""


def find_evidence(workspace_id: int, *, now: datetime, seconds: float) -> dict[str, int]:
    """Look for the words of facts that have none, for so many seconds, then have facts read that nobody has read."""
    ends = time.monotonic() + seconds
    # Store the words of facts, chunk by chunk; how many facts have some now
    found, last = 0, 0
    while time.monotonic() < ends:
        with transaction.atomic():
            facts = list(_without(workspace_id).filter(pk__gt=last).select_related("scope")[:CHUNK])
            if not facts:
                break
            last = facts[-1].pk
            said = _messages(workspace_id, facts)
            rows = [(fact, words) for fact in facts for words in _words_of(fact, said)]
            evidence.add(rows)
            found += len({fact.pk for fact, _words in rows})
    counts = Counter(entries=found)
    counts.update(_read(Workspace.objects.get(pk=workspace_id), now, ends))
    return dict(counts)


def count_without(workspace_id: int) -> dict[str, int]:
    """How many facts have no words yet though a message of theirs is still there."""
    return {"entries": _without(workspace_id).count()}


def _quoted(workspace_id: int) -> QuerySet[Entry]:
    return Entry.objects.live().filter(workspace_id=workspace_id, verification=Verification.QUOTED)


def _without(workspace_id: int) -> QuerySet[Entry]:
    has_message = RawSQL(_HAS_MESSAGE, (EventKind.USER.value,), BooleanField())  # noqa: S611 (constants)
    return _quoted(workspace_id).filter(has_message, evidence__isnull=True).order_by("pk")


def _messages(workspace_id: int, facts: Sequence[Entry]) -> dict[str, SessionEvent]:
    """What users said of what facts rest on, by path; kept until it is quoted, and nothing that is redacted."""
    origins = {origin for fact in facts for origin in fact.origins}
    events = SessionEvent.objects.filter(workspace_id=workspace_id, pk__in=event_ids(origins), kind=EventKind.USER)
    rows = list(events.select_related("session").select_for_update(of=("self",), no_key=True))
    redacted = retention.redacted_in(workspace_id, {origin.rpartition("/")[0] for origin in origins})
    return {event.session.origin_of(event): event for event in retention.redact(rows, redacted)}


def _words_of(fact: Entry, said: Mapping[str, SessionEvent]) -> list[QuotedWords]:
    """The words of the messages that say most of a fact, in their order; where none does, of the newest."""
    own = set(text.terms(fact.content))
    found = [words for origin in fact.origins if origin in said for words in _words_in(fact, origin, said[origin])]
    shared = {words: len(own.intersection(text.terms(words.quote))) for words in found}
    best = sorted(found, key=lambda words: (shared[words], words.at, words.origin), reverse=True)
    chosen = [words for words in best[:QUOTES] if shared[words]] or best[:1]
    return [words for words in found if words in chosen]


def _words_in(fact: Entry, origin: str, event: SessionEvent) -> Iterator[QuotedWords]:
    """A short message, or of a longer one the sentence that says most of a fact."""
    content = event.content
    if len(content) <= WHOLE_CHARS:
        spans = [quotes.Span(0, len(content))] if content.strip() else []
    else:
        spans = quotes.find(nearest_sentence(fact.content, [content]), content)
    if spans:
        start, end = spans[0].start, spans[-1].end
        speaker = event.sender_name or name_in(fact.scope, event.sender_id) or event.sender_id
        yield QuotedWords(origin=origin, start=start, end=end, quote=content[start:end], at=event.at, speaker=speaker)


def _read(workspace: Workspace, now: datetime, ends: float) -> Counter[str]:
    """Have quoted facts read that were never read; those that are borne out are verified, the others stay as they are.

    A reader that fails, or is not believed, is not asked again before the next night.
    """
    counts: Counter[str] = Counter()
    while reading.is_on() and counts["read"] < READ_MOST and time.monotonic() < ends:
        # Quoted facts with words nobody has read, the newest first
        unread = Evidence.objects.filter(workspace_id=workspace.pk, read_at=None).values("entry")
        facts = list(
            _quoted(workspace.pk)
            .filter(pk__in=unread, scope__frozen=False)
            .select_related("scope")
            .order_by("-pk")[:READ_TOGETHER]
        )
        quoted = evidence.evidence_of([fact.pk for fact in facts], workspace.pk)
        if not facts:
            break
        claims, sources = _claims(facts, quoted, workspace)
        result = reading.read(claims, sources, workspace, now=now)
        if not result.is_believed:
            counts.update(result.counts)
            break
        counts.update(result.counts, verified=_verify(facts, result.verdicts, now))
        Evidence.objects.filter(entry__in=[fact.pk for fact in facts]).update(read_at=now)
    return counts


def _claims(
    facts: Sequence[Entry], quoted: Mapping[int, Sequence[Evidence]], workspace: Workspace
) -> tuple[list[Claim], Sources]:
    """The facts with their words, and the messages these stand in; of a message that is gone the words alone."""
    rows = [one for quotes_of_fact in quoted.values() for one in quotes_of_fact]
    origins = {one.origin for one in rows}
    events = SessionEvent.objects.filter(pk__in=event_ids(origins), workspace_id=workspace.pk)
    kept = {event.session.origin_of(event): event.content for event in events.select_related("session")}
    names = {origin: f"m{n}" for n, origin in enumerate(dict.fromkeys(one.origin for one in rows), start=1)}
    shown = {
        names[one.origin]: {
            "speaker": one.speaker,
            "on": one.at.astimezone(workspace.zone()).date().isoformat(),
            "text": kept.get(one.origin, one.quote),
        }
        for one in rows
    }
    claims = [
        Claim(fact.content, [(names[one.origin], one.quote) for one in quoted.get(fact.pk, ())]) for fact in facts
    ]
    return claims, Sources(shown, {one.speaker for one in rows if one.speaker})


def _verify(facts: Sequence[Entry], verdicts: Sequence[Reading], now: datetime) -> int:
    """Mark those that are borne out; how many."""
    scopes: dict[int, tuple[Scope, dict[int, int]]] = {}
    for fact, verdict in zip(facts, verdicts, strict=True):
        if verdict == Reading.ENTAILED:
            scopes.setdefault(fact.scope_id, (fact.scope, {}))[1][fact.pk] = fact.version
    verified = 0
    for _pk, (scope, versions) in sorted(scopes.items()):
        try:
            verified += evidence.verify(scope, versions, now=now, actor=ACTOR)
        except ScopeFrozen:
            continue
    return verified

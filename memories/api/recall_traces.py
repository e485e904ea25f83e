"""Past recalls: why a bot said that (F5), and which memories its answer used (A14)."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.urls import reverse
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.response import Response

from memories.api import fields
from memories.api.answers import Answer, evidence_field, origin_field, suspect_field, trust_field, verification_field
from memories.api.calls import Call, Method
from memories.api.entries import slots_of
from memories.choices import EntryType, Permission
from memories.entries.history import served_versions, suppressed_entries
from memories.models import Bot, Entry, RecallTrace
from memories.recall import traces
from memories.recall.people import sender_of
from memories.recall.traces import CandidateRecord
from memories.visibility import scope_keys_of, trace_for


class Boosts(Answer):
    """What was added because the question names who said it, or when."""

    speaker = serializers.FloatField()
    date = serializers.FloatField()


class Rerank(Answer):
    """What the owner's reranker made of a memory."""

    rank_before = serializers.IntegerField(help_text="Among those it was asked about, by `score`.")
    rank_after = serializers.IntegerField(help_text="Among the same, by the reranker.")
    score = serializers.FloatField(help_text="On the reranker's own scale.")


class Why(Answer):
    """How a memory was ranked; what is not known is null."""

    keyword = serializers.FloatField(allow_null=True)
    keyword_rank = serializers.IntegerField(allow_null=True, help_text="Among what was looked at.")
    vector = serializers.FloatField(allow_null=True)
    vector_rank = serializers.IntegerField(allow_null=True, help_text="Among what was looked at.")
    similarity, date = serializers.FloatField(allow_null=True), serializers.FloatField(allow_null=True)
    speaker_named = serializers.BooleanField()
    boosts = Boosts()
    fused = serializers.FloatField(allow_null=True)
    decay = serializers.FloatField(allow_null=True)
    recency = serializers.FloatField(allow_null=True)
    whose = serializers.FloatField(allow_null=True, help_text="0.25: another's, where one asks about oneself.")
    relevance = serializers.FloatField(allow_null=True, help_text="How likely it is to answer, 0–1.")
    signs = serializers.DictField(child=serializers.FloatField(), help_text="What the relevance is drawn from.")
    features = serializers.DictField(
        child=serializers.FloatField(), help_text="What each feature added, where the question names a speaker."
    )
    rerank = Rerank(allow_null=True)
    in_context = serializers.BooleanField(allow_null=True, help_text="Whether the token budget had room for it.")


class RecalledMemory(Answer):
    """A memory that bears on the message."""

    id = serializers.UUIDField(allow_null=True, help_text="null: a line of a file, which its slots name.")
    type = serializers.ChoiceField(choices=EntryType.choices)
    scope = serializers.CharField()
    content = serializers.CharField()
    sender = serializers.CharField(allow_null=True, help_text="The id of who said it; null: nobody knows.")
    sender_name = serializers.CharField(allow_null=True, help_text="What people call the sender.")
    slots = serializers.DictField(child=serializers.CharField())
    origin, trust = origin_field(), trust_field()
    verification = verification_field()
    suspect = suspect_field()
    evidence = evidence_field()
    created_at = serializers.DateTimeField(allow_null=True, help_text="null: a line of a file that says no time.")
    score = serializers.FloatField()
    relevance = serializers.FloatField(allow_null=True, help_text="How likely it is to help, 0–1; null: not known.")
    superseded_by_newer = serializers.UUIDField(allow_null=True, help_text="The newer memory that corrects this one.")
    why = Why()


class ExplainedMemory(Answer):
    """A memory of a recall; what is gone or withheld is null."""

    id = serializers.UUIDField(allow_null=True)
    type = serializers.ChoiceField(choices=EntryType.choices, allow_null=True)
    scope = serializers.CharField(allow_null=True)
    content = serializers.CharField(allow_null=True)
    suspect = suspect_field(allow_null=True)
    sender, sender_name = serializers.CharField(allow_null=True), serializers.CharField(allow_null=True)
    slots = serializers.DictField(child=serializers.CharField(), allow_null=True)
    origin, trust = origin_field(allow_null=True), trust_field(allow_null=True)
    created_at = serializers.DateTimeField(allow_null=True)
    score = serializers.FloatField(allow_null=True)
    relevance = serializers.FloatField(allow_null=True, help_text="How likely it is to help, 0–1; null: not known.")
    superseded_by_newer = serializers.UUIDField(allow_null=True, help_text="The newer memory that corrects this one.")
    why = Why(allow_null=True)


class LeftOutMemory(ExplainedMemory):
    """A candidate that was not served, and why."""

    reason = serializers.CharField()


class ThenAndNow(Answer):
    """Where an entry can be read as it is now, and as it was."""

    now = serializers.CharField()
    then = serializers.CharField(help_text="Its history; the step with the same version made it so.")


class RecordedMemory(ExplainedMemory):
    """A memory of a past recall, in the words it had then."""

    version = serializers.IntegerField(allow_null=True, help_text="Of the entry at the time.")
    reworded_since = serializers.BooleanField(allow_null=True)
    withheld = serializers.ChoiceField(
        choices=["gone", "taken_out"], allow_null=True, help_text="Why there is no content."
    )
    links = ThenAndNow(allow_null=True)


class RecordedLeftOut(RecordedMemory):
    """A candidate that was not served, in the words it had then, and why."""

    reason = serializers.CharField()


class EventOfTrace(Answer):
    """A session event a past recall found; its words are in its session."""

    path = serializers.CharField()
    score = serializers.FloatField()
    memory = serializers.UUIDField(allow_null=True, help_text="A served memory that rests on it.")
    words = serializers.FloatField(allow_null=True, help_text="Share of the question's telling words it holds.")
    similarity = serializers.FloatField(allow_null=True, help_text="To the question; null: it was not compared.")
    version = serializers.IntegerField(allow_null=True, help_text="Of the event of a day, at the time.")


class RecallTraceAnswer(Answer):
    """A past recall: its message, what was served and left out, and why."""

    recall_id = serializers.UUIDField(source="uid")
    message = serializers.CharField()
    at = serializers.DateTimeField(source="created_at")
    bot = serializers.CharField(allow_null=True)
    scopes = serializers.ListField(child=serializers.CharField())
    session_key = serializers.CharField()
    mode = serializers.CharField()
    asked = serializers.DictField(help_text="What was asked for besides the message.")
    rule = serializers.CharField(help_text="By which rule it needed memory, or did not.")
    evidence = serializers.DictField(help_text="The verdict and the signs it was drawn from.")
    memories = RecordedMemory(many=True)
    left_out = RecordedLeftOut(many=True)
    events = EventOfTrace(many=True)
    sampled = serializers.BooleanField(help_text="Whether the candidates were kept.")
    weights = serializers.DictField(child=serializers.FloatField())
    cached_from = serializers.UUIDField(allow_null=True, help_text="The recall whose answer was given again.")
    timings = serializers.DictField(child=serializers.FloatField(), help_text="Milliseconds by step.")
    tokens = serializers.IntegerField()
    degraded = serializers.ListField(child=serializers.CharField())
    used = serializers.ListField(child=serializers.UUIDField(), allow_null=True)
    pointed_to = serializers.ListField(
        child=serializers.UUIDField(), allow_null=True, help_text="By the words of the answer."
    )
    note = serializers.CharField()


class FeedbackAnswer(Answer):
    """The feedback on a recall."""

    recall_id = serializers.UUIDField(source="uid")
    used = serializers.ListField(child=serializers.UUIDField())
    note = serializers.CharField()


USED_MAX = 50


class Feedback(fields.StrictSerializer):
    """The served entries an answer used; none of them: an empty list."""

    used = serializers.ListField(child=serializers.UUIDField(), max_length=USED_MAX)
    note = fields.Text(max_length=2_000, allow_blank=True, default="")


class RecallTraceView(Call):
    """A past recall: its message, what was served, what was left out and why."""

    @Method("recall_told", Permission.READ, RecallTraceAnswer)
    def get(self, uid: UUID) -> Response:
        trace = trace_for(self.caller, uid)
        if trace is None:
            raise NotFound
        lines = traces.records_of(trace.candidates)
        # The entries a trace names, as far as they still are in the scopes that were searched
        pks = {*(line.entry for line in lines), *trace.served, *(trace.used or ()), *(trace.overlap or ())}
        here = Entry.objects.filter(workspace_id=trace.workspace_id, scope__in=trace.scopes)
        entries = here.select_related("scope").prefetch_related("slots").in_bulk(pks)
        evidence = {name: value for name, value in trace.evidence.items() if name != "events"}
        bot = Bot.objects.filter(workspace_id=trace.workspace_id, pk=trace.bot_id or 0).first()
        answer = RecallTraceAnswer.of(
            trace,
            bot=bot and bot.name,
            scopes=scope_keys_of(trace),
            mode=trace.query.get("mode", "hybrid"),
            asked={name: value for name, value in trace.query.items() if name not in ("mode", "heard", "asker")},
            cached_from=evidence.pop("cached_from", None),
            evidence=evidence,
            **_candidates(trace, lines, entries),
            events=[EventOfTrace.of(event) for event in traces.events_of(trace)],
            sampled=trace.candidates is not None,
            weights=traces.weights_of(trace.candidates),
            used=_uids(trace.used, entries),
            pointed_to=_uids(trace.overlap, entries),
        )
        return Response(answer)


class FeedbackView(Call):
    """A bot reports which of the served memories its answer used; the last report counts."""

    @Method("recall_feedback", Permission.WRITE, FeedbackAnswer, body=Feedback)
    def post(self, uid: UUID) -> Response:
        trace = trace_for(self.caller, uid)
        if trace is None:
            raise NotFound
        used_uids = list(dict.fromkeys(self.body["used"]))
        traces.record_feedback(trace, used_uids, self.body["note"])
        return Response(FeedbackAnswer.of(trace, used=used_uids))


def _candidates(trace: RecallTrace, lines: Sequence[CandidateRecord], entries: dict[int, Entry]) -> dict[str, Any]:
    by_entry = {line.entry: line for line in lines}
    weights = traces.weights_of(trace.candidates)
    # By candidate its words at the time, whether they are others now, and where both can be read
    versions = {line.entry: line.version for line in lines if line.version}
    then, out = served_versions(trace, entries, versions), suppressed_entries(entries)
    records: dict[int, dict[str, Any]] = {}
    for pk in {*trace.served, *(line.entry for line in lines)}:
        # Words that people took out are withheld (A15); of a purged entry there are none
        entry, version = entries.get(pk), then.get(pk)
        if entry is None or version is None:
            records[pk] = dict.fromkeys(("content", "version", "reworded_since", "links")) | {"withheld": "gone"}
            continue
        own = {"uid": entry.uid}
        records[pk] = {
            "content": None if pk in out else version.words,
            "version": version.version,
            "reworded_since": version.is_reworded,
            "withheld": "taken_out" if pk in out else None,
            "links": ThenAndNow.of(now=reverse("entry", kwargs=own), then=reverse("entry-history", kwargs=own)),
        }
    memories = [
        RecordedMemory.of(**_memory(by_entry.get(pk, CandidateRecord(entry=pk)), entries, weights), **records[pk])
        for pk in trace.served
    ]
    left_out = []
    for line in lines:
        if line.entry not in trace.served:
            record = records[line.entry]
            memory = RecordedLeftOut.of(**_memory(line, entries, weights), **record, reason=line.reason)
            withheld = record if line.reason == "other_scope" else ()
            left_out.append(memory | dict.fromkeys((*withheld, *traces.WITHHELD.get(line.reason, ()))))
    return {"memories": memories, "left_out": left_out}


def _memory(line: CandidateRecord, entries: dict[int, Entry], weights: dict[str, float]) -> dict[str, Any]:
    """A candidate, as far as its entry still exists."""
    entry = entries.get(line.entry)
    sender = sender_of(entry, entry.scope, "") if entry else None
    return {
        "id": entry and entry.uid,
        "type": entry and entry.type,
        "scope": entry and entry.scope.key,
        "suspect": entry and entry.suspect,
        "sender": (sender and sender.id) or None,
        "sender_name": (sender and sender.name) or None,
        "slots": slots_of(entry) if entry and entry.is_live() else None,
        "origin": entry and entry.origin,
        "trust": entry and entry.trust,
        "created_at": entry and entry.created_at,
        "score": line.score,
        "relevance": line.relevance,
        "superseded_by_newer": line.superseded_by,
        "why": traces.why(line, weights),
    }


def _uids(pks: Sequence[int] | None, entries: dict[int, Entry]) -> list[UUID] | None:
    return None if pks is None else [entries[pk].uid for pk in pks if pk in entries]

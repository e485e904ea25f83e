"""GET /recalls/{id}: why a bot said that (F5). POST /recalls/{id}/feedback: which memories its answer used (A14)."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.urls import reverse
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.response import Response

from memories.api import fields
from memories.api.calls import Call, Method
from memories.api.entries.answers import slots_of
from memories.api.recall_traces import answers
from memories.choices import Permission
from memories.entries.history import ServedVersion, served_versions, suppressed_entries
from memories.models import Bot, Entry, RecallTrace
from memories.recall import traces
from memories.recall.people import sender_of
from memories.recall.traces import CandidateRecord
from memories.visibility import scope_keys_of, trace_for

USED_MAX = 50


class Feedback(fields.StrictSerializer):
    """The served entries an answer used; none of them: an empty list."""

    used = serializers.ListField(child=serializers.UUIDField(), max_length=USED_MAX)
    note = fields.Text(max_length=2_000, allow_blank=True, default="")


class RecallTraceView(Call):
    """A past recall: its message, what was served, what was left out and why."""

    @Method("recall_told", Permission.READ, answers.RecallTraceAnswer)
    def get(self, uid: UUID) -> Response:
        trace = trace_for(self.caller, uid)
        if trace is None:
            raise NotFound
        return Response(_trace_answer(trace))


class FeedbackView(Call):
    """A bot reports which of the served memories its answer used; the last report counts."""

    @Method("recall_feedback", Permission.WRITE, answers.FeedbackAnswer, body=Feedback)
    def post(self, uid: UUID) -> Response:
        trace = trace_for(self.caller, uid)
        if trace is None:
            raise NotFound
        used = list(dict.fromkeys(self.body["used"]))
        traces.record_feedback(trace, used, self.body["note"])
        return Response(answers.FeedbackAnswer.of(trace, used=used))


def _trace_answer(trace: RecallTrace) -> dict[str, Any]:
    lines = traces.records_of(trace.candidates)
    # The entries a trace names, as far as they still are in the scopes that were searched
    pks = {*(line.entry for line in lines), *trace.served, *(trace.used or ()), *(trace.overlap or ())}
    here = Entry.objects.filter(workspace_id=trace.workspace_id, scope__in=trace.scopes)
    entries = here.select_related("scope").prefetch_related("slots").in_bulk(pks)
    evidence = {name: value for name, value in trace.evidence.items() if name != "events"}
    bot = Bot.objects.filter(workspace_id=trace.workspace_id, pk=trace.bot_id or 0).first()
    return answers.RecallTraceAnswer.of(
        trace,
        bot=bot and bot.name,
        scopes=scope_keys_of(trace),
        mode=trace.query.get("mode", "hybrid"),
        asked={name: value for name, value in trace.query.items() if name not in ("mode", "heard", "asker")},
        cached_from=evidence.pop("cached_from", None),
        evidence=evidence,
        **_candidates(trace, lines, entries),
        events=[answers.EventOfTrace.of(event) for event in traces.events_of(trace)],
        sampled=trace.candidates is not None,
        weights=traces.weights_of(trace.candidates),
        used=_uids(trace.used, entries),
        pointed_to=_uids(trace.overlap, entries),
    )


def _candidates(trace: RecallTrace, lines: Sequence[CandidateRecord], entries: dict[int, Entry]) -> dict[str, Any]:
    by_entry = {line.entry: line for line in lines}
    weights = traces.weights_of(trace.candidates)
    # By candidate its words at the time, whether they are others now, and where both can be read
    versions = {line.entry: line.version for line in lines if line.version}
    then, out = served_versions(trace, entries, versions), suppressed_entries(entries)
    records = {
        pk: _record(entries.get(pk), then.get(pk), is_out=pk in out)
        for pk in {*trace.served, *(line.entry for line in lines)}
    }
    return {
        "memories": [
            answers.RecordedMemory.of(
                **_memory(by_entry.get(pk, CandidateRecord(entry=pk)), entries, weights), **records[pk]
            )
            for pk in trace.served
        ],
        "left_out": [
            _left_out(line, entries, weights, records[line.entry]) for line in lines if line.entry not in trace.served
        ],
    }


def _memory(line: CandidateRecord, entries: dict[int, Entry], weights: dict[str, float]) -> dict[str, Any]:
    """A candidate, as far as its entry still exists."""
    entry = entries.get(line.entry)
    sender = sender_of(entry, entry.scope, "") if entry else None
    return {
        "id": entry and entry.uid,
        "type": entry and entry.type,
        "scope": entry and entry.scope.key,
        "sender": (sender and sender.id) or None,
        "sender_name": (sender and sender.name) or None,
        "slots": slots_of(entry) if entry and entry.is_live() else None,
        "created_at": entry and entry.created_at,
        "score": line.score,
        "superseded_by_newer": line.superseded_by,
        "why": traces.why(line, weights),
    }


def _left_out(
    line: CandidateRecord, entries: dict[int, Entry], weights: dict[str, float], record: dict[str, Any]
) -> dict[str, Any]:
    memory = answers.RecordedLeftOut.of(**_memory(line, entries, weights), **record, reason=line.reason)
    withheld = record if line.reason == "other_scope" else ()
    return memory | dict.fromkeys((*withheld, *traces.WITHHELD.get(line.reason, ())))


def _record(entry: Entry | None, then: ServedVersion | None, *, is_out: bool) -> dict[str, Any]:
    """Words that people took out are withheld (A15); of a purged entry there are none."""
    if entry is None or then is None:
        return dict.fromkeys(("content", "version", "reworded_since", "links")) | {"withheld": "gone"}
    own = {"uid": entry.uid}
    return {
        "content": None if is_out else then.words,
        "version": then.version,
        "reworded_since": then.is_reworded,
        "withheld": "taken_out" if is_out else None,
        "links": answers.ThenAndNow.of(now=reverse("entry", kwargs=own), then=reverse("entry-history", kwargs=own)),
    }


def _uids(pks: Sequence[int] | None, entries: dict[int, Entry]) -> list[UUID] | None:
    return None if pks is None else [entries[pk].uid for pk in pks if pk in entries]

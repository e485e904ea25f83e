"""POST /sessions/{key}/reset, /flush and /compact: what a bot may have done to a conversation."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.authentication import caller_of
from memories.api.clock import now_of
from memories.api.idempotency import repeatable
from memories.choices import Permission
from memories.entries import WriteResult
from memories.models.change import acting
from sessions_app.api import answers, serializers
from sessions_app.api.answers import session_json
from sessions_app.api.sessions import OneSession
from sessions_app.compaction import compaction, model
from sessions_app.compaction import flush as flushing
from sessions_app.compaction.candidates import FlushCandidate
from sessions_app.lifecycle import locks, reset
from sessions_app.models import Session


class ResetView(OneSession):
    """Closes the conversation; the next message begins another, with no history. Long-term memory stays."""

    required = {"POST": Permission.WRITE}
    queried = {"POST": serializers.Place}

    @extend_schema(
        operation_id="reset_session", parameters=[serializers.Place], request=None, responses=answers.ResetAnswer
    )
    @repeatable
    def post(self, request: Request, key: str) -> Response:
        session = self.session(request, key)
        with acting(caller_of(request).actor):
            locks.lock_session(session)
            reset.reset(session, now=now_of(request))
        reply = reset.reset_reply(caller_of(request).language)
        return Response({"session": session_json(session), "reply": reply})


class FlushView(OneSession):
    """Takes in what must not be lost when a conversation is shortened."""

    required = {"POST": Permission.WRITE}
    queried = {"POST": serializers.Place}

    @extend_schema(
        operation_id="flush_session",
        parameters=[serializers.Place],
        request=serializers.NewFlush,
        responses={200: answers.FlushAnswer, 202: answers.FlushAnswer},
    )
    @repeatable
    def post(self, request: Request, key: str) -> Response:
        asked = serializers.NewFlush(data=request.data)
        asked.is_valid(raise_exception=True)
        told = asked.validated_data
        session, now = self.session(request, key), now_of(request)
        if not (told["reply"] or told["continue"] or told["candidates"]):
            return _flush_by_platform(session, request)
        done = flushing.flush_by_bot(
            session,
            [FlushCandidate(**{**one, "rests_on": tuple(one["rests_on"])}) for one in told["candidates"]],
            goes_on_with=told["continue"] or "",
            no_reply=bool(told["reply"]),
            may_reach=caller_of(request).may_reach,
            now=now,
            actor=caller_of(request).actor,
        )
        became = [_became(*pair) for pair in zip(done.remembered, done.reasons, strict=True)]
        return Response(_recorded(session, done.flush, became))


def _flush_by_platform(session: Session, request: Request) -> Response:
    """At once without a model; with one, soon."""
    if model.is_on():
        with acting(caller_of(request).actor):
            queued = flushing.queue_flush(session, actor=caller_of(request).actor)
        return Response({**_recorded(session, None, []), "queued": queued}, status=202 if queued else 200)
    flush = flushing.flush_by_platform(session, now=now_of(request), actor=caller_of(request).actor)
    return Response(_recorded(session, flush, []))


def _recorded(session: Session, flush: Any, candidates: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "session": session_json(session),
        "id": str(flush.uid) if flush else None,
        "up_to": flush.up_to if flush else session.flushed_to,
        "counts": flush.counts if flush else {},
        "candidates": candidates,
        "queued": False,
    }


def _became(remembered: WriteResult | None, reason: str) -> dict[str, Any]:
    if remembered is None:
        return {"id": None, "type": None, "scope": None, "outcome": None, "reason": reason}
    entry = remembered.entry
    shown = {"id": str(entry.uid), "type": entry.type, "scope": entry.scope.key}
    return {**shown, "outcome": remembered.outcome, "reason": remembered.reason}


class CompactView(OneSession):
    """Has the worker replace older turns by a summary, however full the history is."""

    required = {"POST": Permission.WRITE}
    queried = {"POST": serializers.Place}

    @extend_schema(
        operation_id="compact_session",
        parameters=[serializers.Place],
        request=None,
        responses={202: answers.CompactAnswer},
    )
    @repeatable
    def post(self, request: Request, key: str) -> Response:
        session = self.session(request, key)
        with acting(caller_of(request).actor):
            queued = compaction.queue_compaction(session, now=now_of(request))
        return Response({"session": session_json(session), "queued": queued}, status=202)

"""POST /turns, /recall and /scopes/resolve."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import prefetch_related_objects
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from channels_app import addresses
from channels_app.api import answers
from channels_app.api.serializers import Asked, AskedAddress, NewTurn
from channels_app.turns import take_turn
from memories.api.authentication import caller_of
from memories.api.calls import Call
from memories.api.clock import check_past, now_of
from memories.api.entries.answers import slots_of
from memories.api.idempotency import repeatable
from memories.api.recall_traces.detail import trace_for
from memories.api.scopes import scope_for
from memories.choices import NeedMode, Permission
from memories.consolidation.capture import Turn
from memories.language.redaction import ToolCall
from memories.models import Policy, RecallTrace
from memories.recall import Place, Query, Recall, explanation, feedback, recall
from memories.recall.retrievers import RecalledEvent
from memories.recall.scoring import Ranked
from memories.tenancy.access import Caller
from memories.tenancy.resolver import ScopeRef


class TurnsView(Call):
    """A bot reports a finished turn; it is remembered when this returns."""

    required = {"POST": Permission.WRITE}

    @extend_schema(operation_id="take_turn", request=NewTurn, responses={201: answers.TurnAnswer})
    @repeatable
    def post(self, request: Request) -> Response:
        asked = NewTurn(data=request.data)
        asked.is_valid(raise_exception=True)
        data = asked.validated_data
        now = now_of(request)
        check_past("at", data["at"], now)
        trace = _trace(caller_of(request), data)
        turn = Turn(
            address=data["address"],
            user=data["user"],
            assistant=data["assistant"],
            at=data["at"] or now,
            slots=data["slots"],
            sender_name=data["sender_name"],
            tool_calls=tuple(ToolCall(**call) for call in data["tool_calls"] or ()),
            outcome=data["outcome"] or "",
            recall_id=str(data["recall_id"] or ""),
            max_tokens=data["max_tokens"],
        )
        result = take_turn(caller_of(request), turn, now=now)
        if trace is not None:
            _tell(trace, data)
        session = result.session
        return Response(
            {
                "session": {
                    "id": str(session.uid),
                    "key": session.key,
                    "conversation": session.conversation,
                    "tokens": session.tokens,
                },
                "entries": [
                    {
                        "id": str(one.entry.uid),
                        "type": one.entry.type,
                        "scope": one.entry.scope.key,
                        "outcome": one.outcome,
                        "reason": one.reason,
                    }
                    for one in result.written
                ],
                "directives": [vars(directive) for directive in result.directives],
                "reply": result.reply,
                "degraded": [],
            },
            status=201,
        )


def _trace(caller: Caller, data: dict[str, Any]) -> RecallTrace | None:
    """The recall a turn answers, with what it claims to have used checked before anything is stored.

    A trace may be gone by then (after a crash, after its time): that is no reason to lose a turn.
    """
    trace = trace_for(caller, data["recall_id"]) if data["recall_id"] else None
    if trace is not None and data["used"]:
        feedback.served_ids(trace, data["used"])
    return trace


def _tell(trace: RecallTrace, data: dict[str, Any]) -> None:
    if data["used"] is not None:
        feedback.record_feedback(trace, list(dict.fromkeys(data["used"])))
    feedback.record_answer(trace, question=data["user"], answer=data["assistant"])


class ResolveView(Call):
    """What an address means: its session, its scopes, and what is recalled there."""

    required = {"POST": Permission.READ}

    @extend_schema(operation_id="resolve_address", request=AskedAddress, responses=answers.ResolvedAnswer)
    def post(self, request: Request) -> Response:
        asked = AskedAddress(data=request.data)
        asked.is_valid(raise_exception=True)
        caller = caller_of(request)
        resolved = addresses.resolve_address(caller, asked.validated_data["address"])
        recall = addresses.keys_to_recall(caller, resolved)
        own, chat = (
            scope if scope and caller.may_reach(scope) else None for scope in (resolved.user_scope, resolved.chat_scope)
        )
        return Response({"session_key": resolved.session_key, "user_scope": own, "chat_scope": chat, "recall": recall})


class RecallView(Call):
    """The memories that bear on a message."""

    required = {"POST": Permission.READ}

    @extend_schema(operation_id="recall", request=Asked, responses=answers.RecallAnswer)
    def post(self, request: Request) -> Response:
        asked = Asked(data=request.data)
        asked.is_valid(raise_exception=True)
        caller = caller_of(request)
        query = _query(caller, asked.validated_data)
        result = recall(query, now=now_of(request), zone=caller.zone)
        return Response(_answer(result, explain=query.explain))


def _query(caller: Caller, asked: dict[str, Any]) -> Query:
    need, session_key, asker = asked["need"], "", ""
    scope_keys: Sequence[str] = ()
    if "address" in asked:
        resolved = addresses.resolve_address(caller, asked["address"])
        places, session_key = addresses.places_to_recall(caller, resolved), resolved.session_key
        scope_keys = addresses.keys_to_recall(caller, resolved)
        asker = resolved.address.speaker
        need = NeedMode.OFF if resolved.rules.need == NeedMode.OFF else need
    else:
        scope = scope_for(caller, asked["scope"])
        places = [Place(scope, ScopeRef(key=scope.key, kind=scope.kind))]
    limit = asked["limit"] or int(Policy.objects.of(caller.workspace_id).weight("MAX_RECALLS"))
    return Query(
        workspace_id=caller.workspace_id,
        bot_id=caller.bot_id,
        session_key=session_key,
        scope_keys=scope_keys,
        asker=asker,
        places=places,
        limit=limit,
        need=need,
        filters=asked["filters"] or {},
        **{
            name: asked[name]
            for name in (
                *("message", "mode", "types", "project", "topic", "since", "until", "quotas", "token_budget"),
                *("explain", "cache", "include_session_events"),
            )
        },
    )


def _answer(result: Recall, *, explain: bool) -> dict[str, Any]:
    trace = result.trace
    body: dict[str, Any] = {
        "recall_id": str(trace.uid) if trace else None,
        "need": {"retrieve": result.need.retrieve, "rule": result.need.rule},
        "evidence": result.answerability.verdict,
        "memories": memories_json(result.served, result.weights),
        "events": [event_json(event) for event in result.events],
        "context": result.context,
        "tokens": result.tokens,
        "degraded": result.degraded,
        "cached": result.cached_from is not None,
    }
    if explain:
        left_out = [*(item for item in result.ranked if item.reason != "served"), *result.excluded]
        prefetch_related_objects([item.entry for item in left_out], "slots")
        body["left_out"] = [_left_out(item, result.weights) for item in left_out]
    return body


def memories_json(items: Sequence[Ranked], weights: Mapping[str, float]) -> list[dict[str, Any]]:
    """Memories as clients see them, their slots read at once."""
    prefetch_related_objects([item.entry for item in items], "slots")
    return [memory_json(item, weights) for item in items]


def memory_json(item: Ranked, weights: Mapping[str, float]) -> dict[str, Any]:
    entry = item.entry
    return {
        "id": str(entry.uid),
        "type": entry.type,
        "scope": entry.scope.key,
        "content": entry.content,
        "sender": item.sender.id or None,
        "sender_name": item.sender.name or None,
        "slots": slots_of(entry),
        "created_at": _iso(entry.created_at),
        "score": round(item.score, 4),
        "why": explanation.why(explanation.record_of(item), weights),
    }


def event_json(event: RecalledEvent) -> dict[str, Any]:
    """A message that was said, as clients see it."""
    return {
        "kind": event.kind,
        "path": event.path,
        "scope": event.scope,
        "role": event.role,
        "sender": event.sender_id,
        "sender_name": event.sender.name or None,
        "content": event.content,
        "cut": event.is_cut,
        "at": _iso(event.at),
        "score": round(event.score, 4),
        "words": round(event.covered, 4),
        "similarity": None if event.similarity is None else round(event.similarity, 4),
        "memory": event.memory,
    }


def _left_out(item: Ranked, weights: Mapping[str, float]) -> dict[str, Any]:
    """What was not served, and why; of what may not be served without its words."""
    told = memory_json(item, weights) | {"reason": item.reason}
    return told | dict.fromkeys(explanation.WITHHELD.get(item.reason, ()))


def _iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")

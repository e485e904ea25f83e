"""GET /sessions, a session, its messages and its history."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api import pagination
from memories.api.authentication import caller_of
from memories.api.calls import Call
from memories.api.clock import check_past, now_of
from memories.api.idempotency import repeatable
from memories.choices import Permission
from memories.models.change import acting
from memories.visibility import scope_for
from sessions_app.api import answers, serializers
from sessions_app.api.answers import event_json, message_json, session_json
from sessions_app.choices import EventKind
from sessions_app.history import client_diff
from sessions_app.history.client_diff import ClientMessage
from sessions_app.history.replay import replay_history
from sessions_app.lifecycle import budget, close, conversations, locks
from sessions_app.models import Session
from sessions_app.visibility import check_reach_of_speakers, session_for, visible_sessions


class SessionsView(Call):
    """The conversations a key may see."""

    required = {"GET": Permission.READ}
    queried = {"GET": serializers.SessionQuery}

    @extend_schema(operation_id="list_sessions", parameters=[serializers.SessionQuery], responses=answers.SessionPage)
    def get(self, request: Request) -> Response:
        caller, asked = caller_of(request), self.asked
        sessions = visible_sessions(caller)
        if "scope" in asked:
            scope = scope_for(caller, asked["scope"])
            sessions = sessions.filter(user_scope=scope) | sessions.filter(chat_scope=scope)
        if "open" in asked:
            sessions = sessions.filter(next_position__gt=1) if asked["open"] else sessions.filter(next_position=1)
        place = {name: asked[name] for name in ("platform", "account") if name in asked}
        return pagination.paginated(sessions.filter(**place), request, asked, session_json, by="last_at")


class OneSession(Call):
    """What calls about one session have in common."""

    def session(self, request: Request, key: str) -> Session:
        place: dict[str, str] = {name: self.asked[name] for name in ("platform", "account") if name in self.asked}
        return session_for(caller_of(request), key, place)


class SessionView(OneSession):
    """One session, as it stands."""

    required = {"GET": Permission.READ}
    queried = {"GET": serializers.Place}

    @extend_schema(operation_id="read_session", parameters=[serializers.Place], responses=answers.SessionShown)
    def get(self, request: Request, key: str) -> Response:
        return Response(session_json(self.session(request, key)))


class EventsView(OneSession):
    """The messages of a session: what was said is read, what is said now is appended."""

    required = {"GET": Permission.READ, "POST": Permission.WRITE}
    queried = {"GET": serializers.EventQuery, "POST": serializers.Place}

    @extend_schema(
        operation_id="list_session_events", parameters=[serializers.EventQuery], responses=answers.SessionEventPage
    )
    def get(self, request: Request, key: str) -> Response:
        session = self.session(request, key)
        messages = session.messages(self.asked.get("conversation"))
        found = list(messages.filter(position__gt=self.asked.get("cursor", 0))[: self.asked["limit"] + 1])
        page = found[: self.asked["limit"]]
        following = str(page[-1].position) if len(found) > len(page) else None
        return pagination.page_answer(request, [event_json(event) for event in page], following)

    @extend_schema(
        operation_id="append_session_events",
        parameters=[serializers.Place],
        request=serializers.NewEvents,
        responses={201: answers.Appended},
    )
    @repeatable
    def post(self, request: Request, key: str) -> Response:
        asked = serializers.NewEvents(data=request.data)
        asked.is_valid(raise_exception=True)
        session, now = self.session(request, key), now_of(request)
        for n, told in enumerate(asked.validated_data["events"]):
            check_past(f"events.{n}.at", told["at"], now)
        messages = [_message(told, now) for told in asked.validated_data["events"]]
        check_reach_of_speakers(caller_of(request), session, messages)
        believed = asked.validated_data["history"]
        with acting(caller_of(request).actor):
            locks.lock_session(session)
            conversations.check_speakers(session, messages)
            close.close_if_stale(session, now=now)
            if believed is not None:
                messages = client_diff.missing_messages(
                    session, [ClientMessage(**told) for told in believed], messages, now=now
                )
            events = conversations.append(session, messages, now=now)
            todo = budget.directives(
                session,
                language=caller_of(request).language,
                now=now,
                max_tokens=asked.validated_data["max_tokens"],
            )
        body = {"session": session_json(session), "events": [event_json(event) for event in events]}
        return Response({**body, "directives": [vars(directive) for directive in todo]}, status=201)


def _message(told: dict[str, Any], now: Any) -> conversations.NewMessage:
    return conversations.NewMessage(
        kind=EventKind(told["kind"]),
        content=told["content"],
        sender_id=told["sender"],
        at=told["at"] or now,
        data=told["data"],
    )


class HistoryView(OneSession):
    """The open conversation as it goes to a model."""

    required = {"GET": Permission.READ}
    queried = {"GET": serializers.HistoryQuery}

    @extend_schema(operation_id="replay_session", parameters=[serializers.HistoryQuery], responses=answers.HistoryShown)
    def get(self, request: Request, key: str) -> Response:
        session = self.session(request, key)
        history = replay_history(session, max_tokens=self.asked.get("max_tokens"), now=now_of(request))
        return Response(
            {
                "session": session_json(session),
                "messages": [message_json(event) for event in history.events],
                "tokens": history.tokens,
                "is_cut": history.is_cut,
            }
        )

"""Calls about conversations: the list, a session, its messages and history; reset, flush and compact (C4).

Also one message, by the path that proves it.
"""

from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from rest_framework.response import Response

from memories.api.calls import Call, Method
from memories.api.fields import check_past
from memories.api.pagination import first_rows, page_answer, paginated
from memories.choices import Permission
from memories.language.text import is_blank
from memories.models.change import acting
from memories.tenancy.access import Caller
from memories.visibility import scope_for
from sessions_app import compaction, conversations
from sessions_app import flush as flushing
from sessions_app.api import answers
from sessions_app.api.answers import candidate_answer, session_answer
from sessions_app.api.serializers import (
    FlushQuery,
    NewFlush,
    SessionEventQuery,
    SessionHistoryQuery,
    SessionPlace,
    SessionQuery,
)
from sessions_app.conversation_model import FlushCandidate
from sessions_app.history.replay import replay_history
from sessions_app.models import SENDER_NAME, EventKind, Flush, Session, SessionEvent, reset_reply
from sessions_app.reports import ClientMessage, append_report
from sessions_app.visibility import session_and_scope, session_for, visible_message, visible_sessions


class SessionCall(Call):
    """What calls about sessions have in common."""

    def place(self) -> dict[str, str]:
        """The platform and account that the query string names."""
        return {name: self.query[name] for name in ("platform", "account") if name in self.query}

    def session(self, key: str) -> Session:
        return session_for(self.caller, key, self.place())


class SessionListView(SessionCall):
    """The conversations a key may see."""

    @Method(
        "list_sessions",
        Permission.READ,
        answers.SessionPage,
        query=SessionQuery,
        description="The conversations a key may see.",
    )
    def get(self) -> Response:
        sessions = visible_sessions(self.caller).filter(**self.place())
        if "scope" in self.query:
            scope = scope_for(self.caller, self.query["scope"])
            sessions = sessions.filter(user_scope=scope) | sessions.filter(chat_scope=scope)
        if "open" in self.query:
            sessions = sessions.filter(next_position__gt=1) if self.query["open"] else sessions.filter(next_position=1)
        return paginated(self, sessions, partial(map, session_answer), by="last_at")


class SessionView(SessionCall):
    """One session, as it is now."""

    @Method("read_session", Permission.READ, answers.SessionAnswer, query=SessionPlace)
    def get(self, key: str) -> Response:
        return Response(session_answer(self.session(key)))


class SessionEventsView(SessionCall):
    """The messages of a session; to append some is a call of channels_app, which knows their channel."""

    @Method(
        "list_session_events",
        Permission.READ,
        answers.SessionEventPage,
        query=SessionEventQuery,
        description="The messages of a session.",
    )
    def get(self, key: str) -> Response:
        messages = self.session(key).messages(self.query.get("conversation")).select_related("session")
        page, has_more = first_rows(messages.filter(position__gt=self.query.get("cursor", 0)), self.query["limit"])
        events = map(answers.SessionEventAnswer.of, page)
        return Response(page_answer(self, events, str(page[-1].position) if has_more else None))


def append_events(caller: Caller, session: Session, body: dict[str, Any], *, now: datetime) -> dict[str, Any]:
    """Append the messages of a call to their session; the answer."""
    messages, history = read_events(body, now), body["history"]
    events, directives = append_report(
        caller,
        session,
        messages,
        history=None if history is None else [ClientMessage(**message) for message in history],
        max_tokens=body["max_tokens"],
        now=now,
    )
    return answers.AppendedAnswer.of(
        session=session_answer(session),
        events=[answers.SessionEventAnswer.of(event) for event in events],
        directives=[answers.DirectiveAnswer.of(directive) for directive in directives],
        degraded=[],
    )


def read_events(body: dict[str, Any], now: datetime) -> list[SessionEvent]:
    """The messages of a call, unsaved, without those in which there is nothing to see. Raises ValidationError."""
    for n, event in enumerate(body["events"]):
        check_past(f"events.{n}.at", event["at"], now)
    messages = []
    for event in body["events"]:
        if not event["data"] and is_blank(event["content"]):
            continue
        # What came along, and the name of the sender: one without an id is nobody's to be erased with
        name = " ".join((event["sender_name"] or "").split())
        data = {key: value for key, value in event["data"].items() if key != SENDER_NAME}
        if name and event["sender_id"]:
            data[SENDER_NAME] = name
        kind, at = EventKind(event["kind"]), event["at"] or now
        messages.append(
            SessionEvent(kind=kind, sender_id=event["sender_id"], content=event["content"], data=data, at=at)
        )
    return messages


class SessionHistoryView(SessionCall):
    """The open conversation as it goes to a model."""

    @Method("replay_session", Permission.READ, answers.SessionHistoryAnswer, query=SessionHistoryQuery)
    def get(self, key: str) -> Response:
        session = self.session(key)
        history = replay_history(session, max_tokens=self.query.get("max_tokens"), now=self.now)
        messages = [answers.HistoryMessageAnswer.of(event) for event in history.events]
        return Response(answers.SessionHistoryAnswer.of(history, session=session_answer(session), messages=messages))


class MessageView(Call):
    """The message behind a path that a recall handed out."""

    @Method("read_session_event", Permission.READ, answers.ReadEventAnswer)
    def get(self, session: UUID, conversation: int, event: int) -> Response:
        of, scope = session_and_scope(self.caller, session)
        visible = visible_message(of, scope, conversation, event, now=self.now)
        message = visible.handed_out() if visible else None
        return Response(
            answers.ReadEventAnswer.of(
                path=of.origin(conversation, event),
                found=message is not None,
                scope=scope.key,
                role=message.kind if message else None,
                sender=message.sender_id if message else "",
                content=message.content if message else "",
                at=message.at if message else None,
            )
        )


class ResetView(SessionCall):
    """Closes the conversation; the next message begins another, with no history. Long-term memory stays."""

    @Method("reset_session", Permission.WRITE, answers.ResetAnswer, query=SessionPlace)
    def post(self, key: str) -> Response:
        session = self.session(key)
        with acting(self.caller.actor):
            conversations.lock_session(session)
            conversations.reset(session, now=self.now)
        reply = reset_reply(self.caller.language)
        return Response(answers.ResetAnswer.of(session=session_answer(session), reply=reply))


class FlushView(SessionCall):
    """Takes in what must not be lost when a conversation is shortened."""

    @Method(
        "flush_session",
        Permission.WRITE,
        {200: answers.FlushAnswer, 202: answers.FlushAnswer},
        query=FlushQuery,
        body=NewFlush,
    )
    def post(self, key: str) -> Response:
        session, data, conversation = self.session(key), self.body, self.query.get("conversation")
        flush: Flush | None
        if data["reply"] or data["continue"] or data["candidates"]:
            flush, results = flushing.flush_by_bot(
                session,
                [
                    FlushCandidate(**{**row, "rests_on": tuple(row["rests_on"]), "quote": tuple(row["quote"])})
                    for row in data["candidates"]
                ],
                goes_on_with=data["continue"] or "",
                no_reply=bool(data["reply"]),
                may_reach=self.caller.may_reach,
                conversation=conversation,
                now=self.now,
                actor=self.caller.actor,
            )
            queued = False
            candidates = list(map(candidate_answer, results.written, results.reasons))
        else:
            flush, queued = flushing.flush_or_queue(
                session, conversation=conversation, now=self.now, actor=self.caller.actor
            )
            candidates = []
        answer = answers.FlushAnswer.of(
            session=session_answer(session),
            id=flush.uid if flush else None,
            up_to=flush.up_to if flush else session.flushed_to,
            counts=flush.counts if flush else {},
            candidates=candidates,
            queued=queued,
        )
        return Response(answer, status=202 if queued else 200)


class CompactView(SessionCall):
    """Has the worker replace older turns by a summary, however full the history is."""

    @Method("compact_session", Permission.WRITE, {202: answers.CompactAnswer}, query=SessionPlace)
    def post(self, key: str) -> Response:
        session = self.session(key)
        with acting(self.caller.actor):
            queued = compaction.queue_compaction(session, now=self.now)
        return Response(answers.CompactAnswer.of(session=session_answer(session), queued=queued), status=202)

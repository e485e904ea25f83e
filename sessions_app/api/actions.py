"""POST /sessions/{key}/reset, /flush and /compact: what a bot may have done to a conversation."""

from rest_framework.response import Response

from memories.api.calls import Method
from memories.choices import Permission
from memories.models.change import acting
from sessions_app.api import answers
from sessions_app.api.answers import candidate_answer, session_answer
from sessions_app.api.serializers import NewFlush, SessionPlace
from sessions_app.api.sessions import SessionCall
from sessions_app.compaction import compaction
from sessions_app.compaction import flush as flushing
from sessions_app.compaction.transcript import FlushCandidate
from sessions_app.lifecycle import close, conversations
from sessions_app.models import Flush


class ResetView(SessionCall):
    """Closes the conversation; the next message begins another, with no history. Long-term memory stays."""

    @Method("reset_session", Permission.WRITE, answers.ResetAnswer, query=SessionPlace)
    def post(self, key: str) -> Response:
        session = self.session(key)
        with acting(self.caller.actor):
            conversations.lock_session(session)
            close.reset(session, now=self.now)
        reply = close.reset_reply(self.caller.language)
        return Response(answers.ResetAnswer.of(session=session_answer(session), reply=reply))


class FlushView(SessionCall):
    """Takes in what must not be lost when a conversation is shortened."""

    @Method(
        "flush_session",
        Permission.WRITE,
        {200: answers.FlushAnswer, 202: answers.FlushAnswer},
        query=SessionPlace,
        body=NewFlush,
    )
    def post(self, key: str) -> Response:
        session, data = self.session(key), self.body
        flush: Flush | None
        if data["reply"] or data["continue"] or data["candidates"]:
            flush, results = flushing.flush_by_bot(
                session,
                [
                    FlushCandidate(**{**one, "rests_on": tuple(one["rests_on"]), "quote": tuple(one["quote"])})
                    for one in data["candidates"]
                ],
                goes_on_with=data["continue"] or "",
                no_reply=bool(data["reply"]),
                may_reach=self.caller.may_reach,
                now=self.now,
                actor=self.caller.actor,
            )
            queued = False
            candidates = list(map(candidate_answer, results.written, results.reasons))
        else:
            flush, queued = flushing.flush_or_queue(session, now=self.now, actor=self.caller.actor)
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

"""GET and POST /sessions/{key}/events; to append goes on without the database (C11)."""

from rest_framework.response import Response

from channels_app.doors.files import events
from channels_app.doors.files.queue import replay_soon
from memories.api.calls import Call, Method
from memories.api.offline import Outage
from memories.choices import Permission
from sessions_app.api import answers
from sessions_app.api.serializers import NewEvents, SessionPlace
from sessions_app.api.sessions import SessionEventsView, append_events, read_events


def keep_events_in_files(call: Call, outage: Outage, *, key: str) -> Response:
    """The messages are in the journal when this returns."""
    messages = read_events(call.body, call.now)
    place: dict[str, str] = {name: str(call.query[name]) for name in ("platform", "account") if name in call.query}
    events.keep_events(call.caller, key, place, messages, outage, dict(call.request.data), now=call.now)
    if outage.only_if_pending:
        replay_soon()
    answer = answers.AppendedAnswer.of(session=None, events=[], directives=[], degraded=outage.degraded)
    return Response(answer, status=201)


class EventsView(SessionEventsView):
    """Read the messages of a session, or append to them."""

    @Method(
        "append_session_events",
        Permission.WRITE,
        {201: answers.AppendedAnswer},
        query=SessionPlace,
        body=NewEvents,
        offline=keep_events_in_files,
        description="Append messages to a session.",
    )
    def post(self, key: str) -> Response:
        session = self.session(key)
        events.check_database_takes(self.caller, session, now=self.now)
        return Response(append_events(self.caller, session, self.body, now=self.now), status=201)

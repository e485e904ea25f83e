"""POST /sessions: the session of an address, before anything is said in it; and the list of all."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from channels_app import addresses
from channels_app.api.fields import AddressRequest
from memories.api.authentication import caller_of
from memories.api.clock import now_of
from memories.api.idempotency import repeatable
from memories.choices import Permission
from memories.models.change import acting
from sessions_app.api import answers, sessions


class SessionsView(sessions.SessionsView):
    """The conversations a key may see; and the one an address means, begun if need be."""

    required = {"GET": Permission.READ, "POST": Permission.WRITE}

    @extend_schema(operation_id="meet_session", request=AddressRequest, responses=answers.SessionShown)
    @repeatable
    def post(self, request: Request) -> Response:
        asked = AddressRequest(data=request.data)
        asked.is_valid(raise_exception=True)
        with acting(caller_of(request).actor):
            session, _resolved, _scopes = addresses.open_session(
                caller_of(request), asked.validated_data["address"], now=now_of(request)
            )
        return Response(answers.session_json(session))

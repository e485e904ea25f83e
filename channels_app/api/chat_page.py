"""The chat page: people write to a bot in the browser, see what it remembers, and take it back.

The script of the page asks for messages by itself. Staff are who they are here; where the page is open to anybody,
each other visitor is a person of their own, by a signed cookie.
"""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from hashlib import sha256
from secrets import token_hex
from typing import Any, Concatenate, ParamSpec
from uuid import UUID

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import RequestDataTooBig
from django.db import Error, connections
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from channels_app.models import (
    Connection,
    ConnectionProblem,
    IncomingMessage,
    MessageKind,
    MessageState,
    Notice,
    OutgoingMessage,
)
from channels_app.platforms import answering, commands, intake, notices
from channels_app.platforms.web import Visitor, Web
from memories.conf import conf
from memories.staff.rights import holds
from memories.staff.roles import Right
from memories.tenancy import row_level_security
from memories.visibility import visible_entries

P = ParamSpec("P")
COOKIE, COOKIE_AGE = "memplatform_visitor", timedelta(days=365)
BODY_MAX = 64_000
SHOWN, NOTICES_SHOWN, USED_SHOWN = 50, 5, 5
MINUTE = timedelta(minutes=1)
_OPEN = (MessageState.WAITING, MessageState.OFFERED)


class Refused(Exception):
    """A request is not taken; why, and which field of it is wrong."""

    def __init__(self, status: int, detail: str, field: str = "", seconds: int = 0) -> None:
        super().__init__(detail)
        self.status, self.detail, self.field, self.seconds = status, detail, field, seconds

    def as_response(self) -> JsonResponse:
        headers = {"Retry-After": str(self.seconds)} if self.seconds else None
        return JsonResponse({"detail": self.detail, "field": self.field}, status=self.status, headers=headers)


View = Callable[Concatenate[HttpRequest, Visitor | None, Connection, P], HttpResponse]


def _of_a_page(view: View[P]) -> Callable[Concatenate[HttpRequest, UUID, P], HttpResponse]:
    """Give a view the connection of a page, and who has it open; None: nobody who is known yet."""

    @wraps(view)
    def inner(request: HttpRequest, uid: UUID, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            row_level_security.enter_by_connection(str(uid))
            connection = intake.connection_with(uid)
            if connection is None or connection.channel.platform != Web.name:
                raise Http404
            # Who asks: somebody of the staff, or whoever the cookie names where the page is open to anybody
            visitor: Visitor | None = None
            if holds(request, Right.OPERATE, connection.workspace_id):
                name = request.user.get_full_name() or request.user.get_username()  # type: ignore[union-attr]
                visitor = Visitor(connection, f"staff-{request.user.pk}", name, is_staff=True)
            elif connection.options.get("is_open"):
                key = request.get_signed_cookie(COOKIE, default=None, salt=str(connection.uid))
                visitor = Visitor(connection, f"visitor-{key}") if key else None
            return view(request, visitor, connection, *args, **kwargs)
        except Refused as refusal:
            return refusal.as_response()
        except Error:
            connections["default"].close()
            return Refused(503, _("The database is away."), seconds=5).as_response()

    return inner  # type: ignore[return-value] # called with both by their places


def _required(visitor: Visitor | None) -> Visitor:
    """Raises Refused."""
    if visitor is None:
        raise Refused(403, _("You are no longer logged in, or were never here: load the page again."))
    return visitor


@require_GET
@_of_a_page
def page(request: HttpRequest, visitor: Visitor | None, connection: Connection) -> HttpResponse:
    """The page itself. Who comes for the first time gets a cookie, or is asked to log in."""
    key = ""
    if visitor is None and not connection.options.get("is_open"):
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path(), reverse("admin:login"))
        raise Http404
    if visitor is None:
        key = token_hex(16)
    title = connection.options.get("bot_name") or connection.channel.account
    here = reverse("chat_page", args=[connection.uid])
    page_data = {
        "urls": {name: f"{here}{name}" for name in ("messages", "write", "press")},
        "words": {
            "undo": _("Undo"), "undone": _("Undone"), "you": _("You"), "bot": title,
            "away": _("The server cannot be reached. Trying again …"),
            "not_sent": _("Not sent. Send it again?"), "again": _("Send again"), "download": _("Download %s"),
        },
    }  # fmt: skip
    suggestions = [
        ("/memory", _("What do you know of me?")), ("/why", _("Why did you say that?")), ("/export", _("Export")),
        ("/privacy", _("Who sees it?")), ("/reset", _("New conversation")), ("/help", _("Help")),
    ]  # fmt: skip
    context = {
        "title": title, "given": page_data, "commands": suggestions if connection.has_commands else [],
        "max_length": Web.text_chars, "visitor": visitor, "connection": connection,
    }  # fmt: skip
    response = render(request, "chat_page.html", context)
    if key:
        response.set_signed_cookie(
            COOKIE, key, salt=str(connection.uid), path=here, max_age=COOKIE_AGE, httponly=True, samesite="Lax",
            secure=bool(settings.SESSION_COOKIE_SECURE),
        )  # fmt: skip
    return response


@require_GET
@_of_a_page
def messages(request: HttpRequest, visitor: Visitor | None, connection: Connection) -> HttpResponse:
    """What was written and answered, what the last answer rested on, and what was saved; 204 where nothing is new."""
    visitor = _required(visitor)
    here = {"connection": connection, "chat__key": visitor.peer}
    inbox = list(IncomingMessage.objects.filter(**here, kind=MessageKind.MESSAGE).order_by("-pk")[:SHOWN])
    outbox = list(OutgoingMessage.objects.filter(**here, state=MessageState.DONE).order_by("-pk")[:SHOWN])
    latest = list(Notice.objects.filter(connection=connection, peer=visitor.peer).order_by("-pk")[:NOTICES_SHOWN])
    pairs = [*map(_message, inbox), *map(_message, outbox)]
    problem = ConnectionProblem(connection.problem).label if visitor.is_staff and connection.problem else ""
    body: dict[str, Any] = {
        "messages": [message for _at, message in sorted(pairs, key=lambda pair: pair[0])][-SHOWN:],
        "is_waiting": any(row.state in _OPEN for row in inbox),
        "problem": str(problem),
    }
    state = json.dumps([body, [[str(row.uid), row.undone_at is None] for row in latest]])
    version = sha256(state.encode()).hexdigest()[:20]
    if request.GET.get("version") == version:
        return HttpResponse(status=204)
    # What the last answer rested on, in short
    last = next((row for row in inbox if row.recall is not None), None)
    rows = commands.served_for(answering.caller_of(connection), last) if last else []
    # What was saved of late, with what takes it back
    caller = answering.caller_of(connection)
    entries = visible_entries(caller).filter(uid__in=[uid for row in latest for uid in row.entries])
    words = {entry.uid: notices.plain_words(entry) for entry in entries}
    return JsonResponse(
        {
            **body,
            "version": version,
            "used": [notices.plain_words(entry) for entry in rows[:USED_SHOWN]],
            "saved": [
                {
                    "target": f"{notices.UNDO}{row.uid}",
                    "words": list(dict.fromkeys(words[uid] for uid in row.entries if uid in words)),
                    "is_undone": row.undone_at is not None,
                }
                for row in latest
            ],
        }
    )


def _message(row: IncomingMessage | OutgoingMessage) -> tuple[datetime, dict[str, Any]]:
    """When it was written, and what the page is told of it."""
    text = row.body.get("text", "")
    if isinstance(row, IncomingMessage):
        at = row.received_at
        return at, {"id": row.message, "is_mine": True, "text": text, "at": at.isoformat()}
    at = row.created_at
    message = {"id": str(row.uid), "is_mine": False, "text": text, "at": at.isoformat()}
    return at, message | {"buttons": row.body.get("buttons", []), "file_name": row.body.get("file_name", "")}


@require_POST
@_of_a_page
def write(request: HttpRequest, visitor: Visitor | None, connection: Connection) -> HttpResponse:
    """Store a message; the same id again changes nothing."""
    return _keep(request, visitor, connection, MessageKind.MESSAGE, "text", Web.text_chars)


@require_POST
@_of_a_page
def press(request: HttpRequest, visitor: Visitor | None, connection: Connection) -> HttpResponse:
    """Store that a button was pressed."""
    return _keep(request, visitor, connection, MessageKind.BUTTON, "target", 200)


def _keep(
    request: HttpRequest, visitor: Visitor | None, connection: Connection, kind: MessageKind, field: str, most: int
) -> HttpResponse:
    """Store what was written or pressed: an id, and a field of so many characters at most. Raises Refused."""
    visitor, now = _required(visitor), timezone.now()
    try:
        raw = request.read(BODY_MAX + 1)
    except RequestDataTooBig:
        raw = b" " * (BODY_MAX + 1)
    if len(raw) > BODY_MAX:
        raise Refused(413, _("Too long."))
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise Refused(400, _("A JSON object is needed."))
    for name, chars in (("id", 64), (field, most)):
        value = body.get(name)
        if not isinstance(value, str) or not value.strip():
            raise Refused(400, _("This field is needed."), name)
        if len(value) > chars:
            raise Refused(400, _("At most %(n)d characters.") % {"n": chars}, name)
    # Within a minute so much by this person, and by all
    lately = IncomingMessage.objects.filter(connection=connection, received_at__gt=now - MINUTE)
    own = lately.filter(peer=visitor.peer)
    if own.count() >= conf.CHANNEL_PAGE_RATE or lately.count() >= conf.CHANNEL_PAGE_RATE_ALL:
        raise Refused(429, _("Too many messages within a minute: wait a little."), seconds=10)
    more = {field: body[field]} | ({"message": body["id"]} if kind == MessageKind.MESSAGE else {})
    intake.keep(connection, [visitor.writes(kind, body["id"], now, **more)], now=now)
    return JsonResponse({"id": body["id"]}, status=202)


for _view, _methods in ((page, ("GET",)), (messages, ("GET",)), (write, ("POST",)), (press, ("POST",))):
    _view.methods = _methods  # type: ignore[attr-defined]
urlpatterns = [
    path("", page, name="chat_page"),
    path("messages", messages, name="chat_page_messages"),
    path("write", write, name="chat_page_write"),
    path("press", press, name="chat_page_press"),
]

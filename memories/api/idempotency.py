"""Writes that may be sent again: the same `Idempotency-Key` gets the same answer and changes nothing (24 h)."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any

from django.db import connection, transaction
from django.utils.translation import gettext_lazy as _
from rest_framework import status
from rest_framework.exceptions import APIException, ErrorDetail, ValidationError
from rest_framework.permissions import SAFE_METHODS
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.access import caller_of
from memories.api.requests import now_of
from memories.conf import conf
from memories.models import IdempotencyKey

HEADER = "Idempotency-Key"
PRINTABLE = re.compile(r"[!-~](?:[ -~]{0,198}[!-~])?")
Handler = Callable[..., Response]


@dataclass(frozen=True)
class Repeat:
    """The Idempotency-Key of a request, and what tells the request from others."""

    key: str
    fingerprint: str


class KeyTaken(APIException):
    status_code = status.HTTP_409_CONFLICT
    default_detail = _("This Idempotency-Key was used for another call.")
    default_code = "idempotency_key_taken"


def repeatable(handler: Handler, *, shown_once: tuple[str, ...] = ()) -> Handler:
    """A write that is done once for each Idempotency-Key of a bot.

    The key is claimed in the transaction of the write: a second call under it waits for the first, and takes its place
    if that one failed. Errors are not kept, nor the fields of an answer that are shown once: they are null then.
    """

    @wraps(handler)
    def once(view: Any, request: Request, **kwargs: Any) -> Response:
        repeat = repeat_of(request)
        if repeat is None:
            return handler(view, request, **kwargs)
        caller = caller_of(request)
        workspace_id, bot_id = caller.workspace_id, caller.bot_id
        with transaction.atomic():
            if not claim_for(workspace_id, bot_id, repeat, now=now_of(request)):
                earlier = IdempotencyKey.objects.get(workspace_id=workspace_id, bot=bot_id, key=repeat.key)
                if earlier.request_hash != repeat.fingerprint:
                    raise KeyTaken
                answer: dict[str, str] = earlier.response or {}  # the claim and its answer are committed together
                headers = {"Idempotent-Replayed": "true"} | ({"ETag": answer["etag"]} if answer["etag"] else {})
                return Response(json.loads(answer["body"]), status=earlier.status, headers=headers)
            response = handler(view, request, **kwargs)
            etag = response.headers.get("ETag")
            kept_data = {**response.data, **dict.fromkeys(shown_once)} if shown_once else response.data
            keep_answer(workspace_id, bot_id, repeat.key, response.status_code, kept_data, etag)
        return response

    once.is_repeatable = True  # type: ignore[attr-defined]
    return once


def repeat_of(request: Request) -> Repeat | None:
    """The Idempotency-Key of a write, if it has one. Raises ValidationError.

    The fingerprint tells also what its key may do: a narrower key of the bot must not read the answer.
    """
    key = request.headers.get(HEADER)
    if key is None or request.method in SAFE_METHODS:
        return None
    if not PRINTABLE.fullmatch(key):
        detail = ErrorDetail(str(_("A key has 1 to 200 printable ASCII characters.")), code="invalid")
        raise ValidationError({HEADER: [detail]})
    caller = caller_of(request)
    parts = [request.method, request.path, sorted(request.query_params.lists()), request.data]
    parts += [request.headers.get("If-Match", "*"), sorted(caller.scope_patterns), sorted(caller.permissions)]
    return Repeat(key, hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest())


def claim_for(workspace_id: int, bot_id: int | None, repeat: Repeat, *, now: datetime) -> bool:
    """Whether a write is the first under its key; waits for another one that is not finished."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memories_idempotencykey (workspace_id, bot_id, key, request_hash, created_at)"
            " VALUES (%s, %s, %s, %s, %s) ON CONFLICT (bot_id, key) DO UPDATE"
            " SET request_hash = excluded.request_hash, status = NULL, response = NULL,"
            " created_at = excluded.created_at WHERE memories_idempotencykey.created_at <= %s RETURNING id",
            [workspace_id, bot_id, repeat.key, repeat.fingerprint, now, now - conf.IDEMPOTENCY_TTL],
        )
        return cursor.fetchone() is not None


def keep_answer(workspace_id: int, bot_id: int | None, key: str, status: int, data: Any, etag: str | None) -> None:
    """The answer as it was sent: as a text, since a JSON column would reorder it."""
    answer = {"body": JSONRenderer().render(data).decode(), "etag": etag}
    claimed = IdempotencyKey.objects.filter(workspace_id=workspace_id, bot=bot_id, key=key)
    claimed.update(status=status, response=answer)

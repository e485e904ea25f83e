"""Every other call of OpenAI's form, passed on unread: embeddings, audio, moderations, files, stored responses."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import IO, Any, ClassVar

from django.conf import settings
from django.http import HttpResponseBase, StreamingHttpResponse
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from channels_app.doors.openai import upstream
from channels_app.doors.openai.calls import PLACES, ProxyView, Stream
from channels_app.doors.openai.errors import ModelNotAllowed, NotPassedOn
from channels_app.doors.openai.memory import let_go
from memories.api.access import caller_of
from memories.api.calls import Method
from memories.api.requests import BodyTooLarge
from memories.choices import Permission
from memories.conf import conf
from memories.endpoint import Body
from memories.models import Workspace

#: What leaves nothing behind at the upstream that another bot could list there.
STATELESS = frozenset(
    {"audio", "chat", "completions", "edits", "embeddings", "images", "models", "moderations", "rerank", "responses"}
)
#: What the upstream keeps under the owner's one account, where every bot of the platform would see it.
SHARED = frozenset(
    {"assistants", "batches", "containers", "conversations", "files", "threads", "uploads", "vector_stores", "videos"}
)
_PART = 65_536
#: What of a request's head says what its body is.
_SENT = {"CONTENT_TYPE": "Content-Type", "HTTP_ACCEPT": "Accept", "HTTP_OPENAI_BETA": "OpenAI-Beta"}
_SENT |= {"HTTP_IDEMPOTENCY_KEY": "Idempotency-Key"}


class Unread(BaseParser):
    """A body that nobody here reads."""

    media_type = "*/*"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        return {}


class PassingView(ProxyView):
    """A call, its body and its answer as they come, under the owner's key.

    An account of the upstream is one for all bots. So what is kept there, as files are, is passed on only where the
    platform has one workspace or its owner says so (MEMORY_PROXY_SHARED). Where the owner named models, only what names
    one of them in JSON is passed on: of nothing else is known which model it asks.
    """

    parser_classes = (Unread,)
    methods: ClassVar = {
        "GET": Method("pass_get", Permission.READ, None),
        **{name: Method(f"pass_{name.lower()}", Permission.WRITE, None) for name in ("POST", "PUT", "PATCH", "DELETE")},
    }

    def get(self, request: Request, rest: str) -> HttpResponseBase:
        family = rest.partition("/")[0]
        is_plain = all(part and part not in (".", "..") for part in rest.rstrip("/").split("/"))
        may_share = family in SHARED and (conf.PROXY_SHARED or Workspace.objects.count() == 1)
        if not is_plain or not (family in STATELESS or may_share):
            raise NotPassedOn
        with ExitStack() as resources:
            resources.callback(PLACES.take(caller_of(request).workspace_id, request.auth.pk))
            # What is sent on. Raises ModelNotAllowed, BodyTooLarge.
            has_body = bool(int(request.META.get("CONTENT_LENGTH") or 0))
            parts: Iterator[bytes] = _parts(request._request, conf.PROXY_MAX_BYTES) if has_body else iter(())
            if settings.MEMORY_PROXY_MODELS:
                content = b"".join(parts)
                upstream.check_model(_model_of(rest, content))
                parts = iter((content,))
            headers = {header: request.META[name] for name, header in _SENT.items() if request.META.get(name)}
            if not has_body:
                headers.pop("Content-Type", None)
            elif length := request.META.get("CONTENT_LENGTH"):
                headers["Content-Length"] = str(int(length))
            body = Body(parts, headers)
            let_go()
            query = request.META.get("QUERY_STRING", "")
            response = upstream.ask(str(request.method), f"{rest}?{query}" if query else rest, body=body)
            resources.callback(response.close)
            headers = {**upstream.headers_of(response), "X-Accel-Buffering": "no"}
            return StreamingHttpResponse(
                Stream(upstream.parts(response), resources.pop_all()), status=response.status, headers=headers
            )

    post = put = patch = delete = get


def _parts(request: Any, most: int) -> Iterator[bytes]:
    while part := request.read(_PART):
        most -= len(part)
        if most < 0:
            raise BodyTooLarge
        yield part


def _model_of(rest: str, content: bytes) -> Any:
    """The model a call asks: named in its path or its JSON. Raises ModelNotAllowed where neither says so."""
    family, _slash, name = rest.partition("/")
    if family == "models" and name:
        return name
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise ModelNotAllowed from None
    if not isinstance(data, dict) or "model" not in data:
        raise ModelNotAllowed
    return data["model"]

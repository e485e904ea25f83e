"""POST /v1/chat/completions and GET /v1/models, as OpenAI's clients call them."""

import json
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import IO, Any, ClassVar, cast

from django.conf import settings
from django.http import HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.views import APIView

from channels_app.doors.openai import upstream
from channels_app.doors.openai.errors import ProxyFull, TooManyChats, answer_error
from channels_app.doors.openai.exchange import Exchange
from channels_app.doors.openai.memory import Memory, let_go
from channels_app.doors.openai.messages import read, with_memory
from channels_app.doors.openai.speaker import address_of, is_on
from channels_app.doors.openai.tools import MemoryTools
from memories.api.access import caller_of
from memories.api.calls import Method
from memories.api.requests import LONE_SURROGATE, BodyTooLarge, check_length, check_values, too_deep
from memories.choices import Permission
from memories.conf import conf

TOOLS, OFF = "X-Memplatform-Tools", "X-Memplatform-Memory"
DEEPEST = 100  # of a chat: schemas of tools come along
KEY_SHARE, WORKSPACE_SHARE = 1 / 2, 3 / 4
_EVERYBODY = "everybody"
DEGRADED, RECALL = "X-Memplatform-Degraded", "X-Memplatform-Recall"


class ChatParser(BaseParser):
    """A JSON object of at most PROXY_MAX_BYTES: pictures come along; whether the rest is right, the upstream says.

    What cannot be sent on is refused: NaN and its like, and halves of surrogate pairs.
    """

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        body = stream.read(conf.PROXY_MAX_BYTES + 1)
        if len(body) > conf.PROXY_MAX_BYTES:
            raise BodyTooLarge(_("The body is larger than %(limit)d bytes.") % {"limit": conf.PROXY_MAX_BYTES})
        try:
            data = json.loads(body)
        except RecursionError as error:
            raise too_deep() from error
        except ValueError as error:
            raise ParseError(_("This is not JSON: %(error)s") % {"error": error}) from error
        if not isinstance(data, dict):
            raise ParseError(_("The body is a JSON object."))
        check_values(data, deepest=DEEPEST, refused=LONE_SURROGATE)
        return data


class AnyContent(BaseContentNegotiation):
    """Clients ask for JSON or for a stream of events; what they get, the body of the request says."""

    def select_parser(self, request: Request, parsers: Iterable[Any]) -> Any:
        return next(iter(parsers))

    def select_renderer(self, request: Request, renderers: Iterable[Any], format_suffix: str | None = None) -> Any:
        return (first := next(iter(renderers))), first.media_type


class Places:
    """How many chats go on in this process; one that finds no place is refused, so that the API keeps its threads.

    A key has half of them at most, a workspace three quarters: whoever floods leaves places to the others.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()

    def take(self, workspace: int, key: int) -> Callable[[], None]:
        """Take a place; the answer gives it back. Raises ProxyFull, and TooManyChats where the share is used up."""
        shares = {
            _EVERYBODY: conf.PROXY_CHATS,
            f"workspace {workspace}": math.ceil(conf.PROXY_CHATS * WORKSPACE_SHARE),
            f"key {key}": math.ceil(conf.PROXY_CHATS * KEY_SHARE),
        }
        with self._lock:
            full = next((holder for holder, most in shares.items() if self._taken[holder] >= most), None)
            if full is not None:
                raise ProxyFull if full == _EVERYBODY else TooManyChats
            self._taken.update(shares.keys())
        return partial(self._give_back, list(shares))

    @property
    def taken(self) -> int:
        """How many chats go on."""
        return self._taken[_EVERYBODY]

    def _give_back(self, holders: Sequence[str]) -> None:
        with self._lock:
            self._taken.subtract(holders)
            self._taken = +self._taken  # without those that hold none


PLACES = Places()


class Stream:
    """The bytes of a stream; what it holds is given back at its end, or when the bot goes away."""

    def __init__(self, parts: Iterator[bytes], held: ExitStack) -> None:
        self._parts, self._held = parts, held

    def __iter__(self) -> Iterator[bytes]:
        return self._parts

    def close(self) -> None:
        self._held.close()


class ProxyView(APIView):
    """What both calls have in common: off until an upstream is named, and refused in OpenAI's words."""

    methods: ClassVar[dict[str, Method]]
    schema = None
    parser_classes = (ChatParser,)
    content_negotiation_class = AnyContent

    def get_exception_handler(self) -> Any:
        return answer_error

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        upstream.check_is_on()
        super().initial(request, *args, **kwargs)

    def perform_authentication(self, request: Request) -> None:
        super().perform_authentication(request)
        if request.auth is not None:
            check_length(request, conf.PROXY_MAX_BYTES)


class ChatView(ProxyView):
    """A chat with memory: the context before, the turn afterwards."""

    methods: ClassVar = {"POST": Method("chat", Permission.WRITE, None)}

    def post(self, request: Request) -> HttpResponseBase:
        body = cast(dict[str, Any], request.data)
        upstream.check_model(body.get("model"))
        with ExitStack() as held:
            held.callback(PLACES.take(caller_of(request).workspace_id, request.auth.pk))
            asked = None if is_off(request) else read(body.get("messages"))
            memory = Memory(request, address_of(request.headers, body.get("user")), asked)
            wants_tools = memory.is_on and is_on(request.headers, TOOLS)
            text = memory.context(tools=wants_tools)
            payload = {**body, "messages": with_memory(body["messages"], text)} if text else body
            tools = MemoryTools(memory, payload, caller_of(request).language) if wants_tools else None
            let_go()
            exchange = Exchange(memory, payload, tools)
            if exchange.is_stream:
                held.callback(exchange.remember)
                held.callback(exchange.close)  # first: a model nobody listens to any more is to stop
                response: HttpResponseBase = _streaming(exchange, held.pop_all())
            else:
                response = exchange.whole()
                exchange.remember()
        for name, value in ((DEGRADED, ", ".join(memory.degraded)), (RECALL, memory.recall_id)):
            if value:
                response[name] = value
        return response


def _streaming(exchange: Exchange, held: ExitStack) -> StreamingHttpResponse:
    headers = {
        **upstream.headers_of(exchange.response),
        "X-Accel-Buffering": "no",
    }  # proxies in front hold nothing back
    return StreamingHttpResponse(Stream(exchange.parts(), held), status=exchange.response.status, headers=headers)


def is_off(request: Request) -> bool:
    """Whether a chat says that it is to be neither remembered nor helped by memory."""
    return request.headers.get(OFF, "").lower() in ("off", "no", "false", "0")


class ModelsView(ProxyView):
    """The models there are: those the owner named, or all of the upstream's."""

    methods: ClassVar = {"GET": Method("list_models", Permission.READ, None)}

    def get(self, request: Request) -> HttpResponseBase:
        let_go()
        if names := settings.MEMORY_PROXY_MODELS:
            models = [{"id": name, "object": "model", "created": 0, "owned_by": "upstream"} for name in names]
            return JsonResponse({"object": "list", "data": models})
        response = upstream.ask("GET", "models")
        return HttpResponse(upstream.read(response), status=response.status, headers=upstream.headers_of(response))

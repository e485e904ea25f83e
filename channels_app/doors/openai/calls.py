"""POST /v1/chat/completions and GET /v1/models, as OpenAI's clients call them."""

import json
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import IO, Any, ClassVar, cast

import httpx
import structlog
from django.conf import settings
from django.http import HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.views import APIView

from channels_app.doors import address_of, is_on
from channels_app.doors.openai import upstream
from channels_app.doors.openai.answers import (
    Answer,
    Events,
    data_of,
    message_in,
    read_answer,
    read_messages,
    with_memory,
)
from channels_app.doors.openai.errors import ProxyFull, TooManyChats, UpstreamBroken, answer_error, openai_error
from channels_app.doors.openai.memory import Memory, MemoryTools, let_go
from memories.api.access import caller_of
from memories.api.calls import Method
from memories.api.requests import LONE_SURROGATE, BodyTooLarge, check_length, check_values, too_deep
from memories.choices import Permission
from memories.conf import conf

log = structlog.get_logger(__name__)
PATH = "chat/completions"


class Exchange:
    """What is asked upstream, in rounds where the model uses the tools of memory, and what is said."""

    def __init__(self, memory: Memory, payload: dict[str, Any], tools: MemoryTools | None) -> None:
        self._memory, self._tools = memory, tools
        self._payload = payload if tools is None else tools.offered_in(payload)
        self._texts: list[str] = []
        self._answer = Answer()
        self.response = upstream.ask("POST", PATH, self._payload)

    @property
    def is_stream(self) -> bool:
        return str(self.response.headers.get("content-type")).startswith("text/event-stream")

    def close(self) -> None:
        self.response.close()

    def remember(self) -> None:
        """Keep the turn as far as the bot has its answer; one that goes on with tools of the bot is not finished."""
        if 200 <= self.response.status < 300 and not self._answer.calls:
            self._memory.remember("".join([*self._texts, self._answer.text]))

    def whole(self) -> HttpResponse:
        """The answer of the last round as it came, but for calls the bot has no part in."""
        while True:
            content = upstream.read(self.response)
            answer = read_answer(content)
            self._answer = Answer()
            self._answer.add(answer)
            message = message_in(answer)
            if not (self._tools and self._answer.calls):
                return self._passed(content)
            if not self._goes_on(message):
                answer["choices"][0]["message"] = self._tools.without_own(message)
                return self._passed(json.dumps(answer).encode())

    def parts(self) -> Iterator[bytes]:
        """The stream of the model; its bytes as they come, unless it may use the tools of memory.

        One that breaks off ends with an error: what a server does with an exception here may look like the end.
        """
        try:
            yield from self._as_it_comes() if self._tools is None else self._with_tools(self._tools)
        except (httpx.RequestError, *upstream.FAILURES) as error:
            log.warning("proxy.broken", problem=type(error).__name__)
            yield b"\n\ndata: " + json.dumps(openai_error(UpstreamBroken())).encode() + b"\n\n"

    def _as_it_comes(self) -> Iterator[bytes]:
        events = Events()
        for part in upstream.parts(self.response):
            for event in events.cut(part):
                self._answer.add(data_of(event))
            yield part
        self._answer.add(data_of(events.rest))

    def _with_tools(self, tools: MemoryTools) -> Iterator[bytes]:
        """What the model says as it comes; from its first call on, events wait until whose calls they are is known."""
        while True:
            held: list[bytes] = []
            for event in self._events():
                self._answer.add(data_of(event))
                if self._answer.calls:
                    held.append(event)
                else:
                    yield event
            if not self._answer.calls:
                return
            answer = self._answer
            if not self._goes_on(answer.message):
                yield from tools.events_for_bot(held, answer)
                return
            if not 200 <= self.response.status < 300:
                yield b"data: " + b"".join(upstream.read(self.response).splitlines()) + b"\n\n"
                return

    def _events(self) -> Iterator[bytes]:
        events = Events()
        for part in upstream.parts(self.response):
            yield from events.cut(part)
        if events.rest:
            yield events.rest

    def _goes_on(self, message: dict[str, Any]) -> bool:
        """Whether the model was asked again, with what memory answered to its calls."""
        payload = self._tools.next_round(self._payload, message) if self._tools else None
        if payload is None:
            return False
        self.response.close()
        self._texts.append(self._answer.text if self.is_stream else "")
        self._payload, self._answer = payload, Answer()
        self.response = upstream.ask("POST", PATH, payload)
        return True

    def _passed(self, content: bytes) -> HttpResponse:
        return HttpResponse(content, status=self.response.status, headers=upstream.headers_of(self.response))


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
    parser_classes: tuple[type[BaseParser], ...] = (ChatParser,)
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
            asked = None if is_off(request) else read_messages(body.get("messages"))
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
                # Proxies in front hold nothing back
                headers = {**upstream.headers_of(exchange.response), "X-Accel-Buffering": "no"}
                stream = Stream(exchange.parts(), held.pop_all())
                response: HttpResponseBase = StreamingHttpResponse(
                    stream, status=exchange.response.status, headers=headers
                )
            else:
                response = exchange.whole()
                exchange.remember()
        for name, value in ((DEGRADED, ", ".join(memory.degraded)), (RECALL, memory.recall_id)):
            if value:
                response[name] = value
        return response


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

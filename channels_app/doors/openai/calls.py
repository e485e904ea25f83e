"""POST /v1/chat/completions and GET /v1/models, as OpenAI's clients call them."""

import json
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import IO, Any, ClassVar, Generic, Protocol, TypeVar, cast

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
    Asked,
    Events,
    data_of,
    message_in,
    read_answer,
    read_messages,
    with_memory,
)
from channels_app.doors.openai.errors import ProxyFull, ProxyOff, TooManyChats, UpstreamBroken, answer_error
from channels_app.doors.openai.memory import ChatTools, Memory, MemoryTools, let_go
from memories.api.access import caller_of
from memories.api.calls import Method
from memories.api.requests import LONE_SURROGATE, BodyTooLarge, check_length, check_values, not_json, too_deep
from memories.choices import Permission
from memories.conf import conf

log = structlog.get_logger(__name__)


class Output(Protocol):
    """What a model has said so far, and which tools it called."""

    @property
    def text(self) -> str: ...

    def add(self, data: Any) -> None: ...


OutputOf = TypeVar("OutputOf", bound=Output)
ToolsOf = TypeVar("ToolsOf", bound=MemoryTools)


class Exchange(Generic[OutputOf, ToolsOf]):
    """What is asked upstream, in rounds where the model uses the tools of memory, and what is said."""

    path: ClassVar[str]

    def __init__(
        self, memory: Memory, payload: dict[str, Any], tools: ToolsOf | None, output: Callable[[], OutputOf]
    ) -> None:
        self._memory, self._tools, self._new_output = memory, tools, output
        self._ask(payload if tools is None else tools.offered_in(payload))

    @property
    def is_stream(self) -> bool:
        """Whether events come."""
        return str(self.response.headers.get("content-type")).startswith("text/event-stream")

    def close(self) -> None:
        """Have the model stop."""
        self.response.close()

    def remember(self) -> None:
        """Keep the turn as far as the bot has its answer; one that goes on with tools of the bot is not finished."""
        raise NotImplementedError

    def whole(self) -> HttpResponse:
        """The answer of the last round."""
        raise NotImplementedError

    def parts(self) -> Iterator[bytes]:
        """The stream of the model; its bytes as they come, unless it may use the tools of memory.

        One that breaks off ends with an error: what a server does with an exception here may look like the end.
        """
        try:
            if self._tools is not None:
                yield from self._with_tools(self._tools)
                return
            events = Events()
            for part in upstream.parts(self.response):
                for event in events.cut(part):
                    self._output.add(data_of(event))
                yield part
            self._output.add(data_of(events.rest))
        except (httpx.RequestError, *upstream.FAILURES) as error:
            log.warning("proxy.broken", problem=type(error).__name__)
            broken = UpstreamBroken()
            problem = {"message": str(broken.detail), "type": "server_error", "param": None}
            yield self._error_event({**problem, "code": broken.default_code})

    def _ask(self, payload: dict[str, Any]) -> None:
        self._payload, self._output = payload, self._new_output()
        self.response = upstream.ask("POST", self.path, payload)

    def _with_tools(self, tools: ToolsOf) -> Iterator[bytes]:
        """What the bot is to see of the rounds."""
        raise NotImplementedError

    def _error_event(self, problem: dict[str, Any]) -> bytes:
        """An error in the middle of a stream, as OpenAI's clients read it."""
        raise NotImplementedError

    def _events(self) -> Iterator[bytes]:
        """The events of a round, each added to what the model has said."""
        events = Events()
        for part in upstream.parts(self.response):
            for event in events.cut(part):
                self._output.add(data_of(event))
                yield event
        if events.rest:
            self._output.add(data_of(events.rest))
            yield events.rest

    def _passed(self, content: bytes) -> HttpResponse:
        return HttpResponse(content, status=self.response.status, headers=upstream.headers_of(self.response))


class ChatExchange(Exchange[Answer, ChatTools]):
    """The rounds of a chat completion."""

    path = "chat/completions"

    def __init__(self, memory: Memory, payload: dict[str, Any], tools: ChatTools | None) -> None:
        self._texts: list[str] = []  # of the rounds before this one
        super().__init__(memory, payload, tools, Answer)

    def remember(self) -> None:
        if 200 <= self.response.status < 300 and not self._output.calls:
            self._memory.remember("".join([*self._texts, self._output.text]))

    def whole(self) -> HttpResponse:
        """The answer of the last round as it came, but for calls the bot has no part in."""
        while True:
            content = upstream.read(self.response)
            answer = read_answer(content)
            self._output = Answer()
            self._output.add(answer)
            message = message_in(answer)
            if not (self._tools and self._output.calls):
                return self._passed(content)
            if not self._goes_on(message):
                answer["choices"][0]["message"] = self._tools.without_own(message)
                return self._passed(json.dumps(answer).encode())

    def _with_tools(self, tools: ChatTools) -> Iterator[bytes]:
        """What the model says as it comes; from its first call on, events wait until it is clear whose call it is."""
        while True:
            held_events: list[bytes] = []
            for event in self._events():
                if self._output.calls:
                    held_events.append(event)
                else:
                    yield event
            if not self._output.calls:
                return
            answer = self._output
            message = {"role": "assistant", "content": answer.text or None, "tool_calls": answer.calls}
            if not self._goes_on(message):
                yield from tools.events_for_bot(held_events, answer)
                return
            if not 200 <= self.response.status < 300:
                yield b"data: " + b"".join(upstream.read(self.response).splitlines()) + b"\n\n"
                return

    def _error_event(self, problem: dict[str, Any]) -> bytes:
        return b"\n\ndata: " + json.dumps({"error": problem}).encode() + b"\n\n"

    def _goes_on(self, message: dict[str, Any]) -> bool:
        """Whether the model was asked again, with what memory answered to its calls."""
        payload = self._tools.next_round(self._payload, message) if self._tools else None
        if payload is None:
            return False
        self.response.close()
        self._texts.append(self._output.text if self.is_stream else "")
        self._ask(payload)
        return True


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
            raise not_json(error) from error
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

    def __init__(self, parts: Iterator[bytes], resources: ExitStack) -> None:
        self._parts, self._resources = parts, resources

    def __iter__(self) -> Iterator[bytes]:
        return self._parts

    def close(self) -> None:
        self._resources.close()


class ProxyView(APIView):
    """What both calls have in common: off until an upstream is named, and refused in OpenAI's words."""

    methods: ClassVar[dict[str, Method]]
    schema = None
    parser_classes: tuple[type[BaseParser], ...] = (ChatParser,)
    content_negotiation_class = AnyContent

    def get_exception_handler(self) -> Any:
        return answer_error

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if not settings.MEMORY_PROXY_BASE_URL:
            raise ProxyOff
        super().initial(request, *args, **kwargs)

    def perform_authentication(self, request: Request) -> None:
        super().perform_authentication(request)
        if request.auth is not None:
            check_length(request, conf.PROXY_MAX_BYTES)


class MemoryView(ProxyView):
    """A call with memory: the context before, the turn afterwards."""

    user_fields: ClassVar[tuple[str, ...]] = ("user",)  # of the body, that say who speaks

    def asked_in(self, request: Request, body: dict[str, Any]) -> Asked | None:
        """What is asked, and what was said before it; None where no user says a word."""
        raise NotImplementedError

    def exchange(
        self, memory: Memory, prompt: Asked | None, body: dict[str, Any], *, text: str, has_tools: bool
    ) -> Exchange[Any, Any]:
        """Ask the model, with a text of memory and its tools."""
        raise NotImplementedError

    def post(self, request: Request) -> HttpResponseBase:
        body = cast(dict[str, Any], request.data)
        upstream.check_model(body.get("model"))
        with ExitStack() as resources:
            resources.callback(PLACES.take(caller_of(request).workspace_id, request.auth.pk))
            # A chat may say that it is to be neither remembered nor helped by memory
            is_off = request.headers.get(OFF, "").lower() in ("off", "no", "false", "0")
            prompt = None if is_off else self.asked_in(request, body)
            user = next(filter(None, map(body.get, self.user_fields)), None)
            memory = Memory(request, address_of(request.headers, user), prompt)
            wants_tools = memory.is_on and is_on(request.headers, TOOLS)
            text = memory.context(tools=wants_tools)
            exchange = self.exchange(memory, prompt, body, text=text, has_tools=wants_tools)
            if exchange.is_stream:
                resources.callback(exchange.remember)
                resources.callback(exchange.close)  # first: a model nobody listens to any more is to stop
                # Proxies in front hold nothing back
                headers = {**upstream.headers_of(exchange.response), "X-Accel-Buffering": "no"}
                stream = Stream(exchange.parts(), resources.pop_all())
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


class ChatView(MemoryView):
    """A chat with memory."""

    methods: ClassVar = {"POST": Method("chat", Permission.WRITE, None)}

    def asked_in(self, request: Request, body: dict[str, Any]) -> Asked | None:
        return read_messages(body.get("messages"))

    def exchange(
        self, memory: Memory, prompt: Asked | None, body: dict[str, Any], *, text: str, has_tools: bool
    ) -> ChatExchange:
        payload = {**body, "messages": with_memory(body["messages"], text)} if text else body
        theirs = payload.get("tools") or []
        tools = ChatTools(memory, theirs, caller_of(self.request).language) if has_tools else None
        let_go()
        return ChatExchange(memory, payload, tools)


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

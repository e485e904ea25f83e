"""What all calls have in common: each method is declared once, for those who read a request and for its description."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property, wraps
from typing import Any, ClassVar, cast

from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories.api.access import caller_of, method_of
from memories.api.fields import StrictSerializer
from memories.api.idempotency import repeatable
from memories.api.offline import either, from_replica, noted, stale_or
from memories.api.requests import DatabaseAway, check_length, now_of
from memories.choices import Permission
from memories.offline import database, replicas
from memories.offline.open_connections import is_spared
from memories.tenancy.access import Caller

Handler = Callable[..., Response]


@dataclass(frozen=True)
class Method:
    """A method of a call: decorates its handler, which is given only what the path holds.

    A method that needs more than READ, or may write all the same, may be sent again under its Idempotency-Key.
    """

    name: str
    needs: Permission
    answers: Any  # the shape of an answer, or shapes by status
    query: type[StrictSerializer] = StrictSerializer
    body: type[StrictSerializer] | None = None
    description: str | None = None  # None: the docstring of the call
    parameters: tuple[Any, ...] = ()  # described in place of those of `query`
    tagged: bool = False  # the answer has an ETag
    versioned: bool = False  # the same, and If-Match is read
    offline: Handler | None = None  # answers while the database cannot (memories.api.offline)
    from_replica: bool = False  # it only reads, and may be answered from a replica (memories.api.offline)
    only_reads: bool = False  # what not every key may read
    may_write: bool = False  # it reads, unless what it is asked to do needs more
    shown_once: tuple[str, ...] = ()  # fields of its answer that are secrets, and null when it is sent again

    @property
    def is_repeatable(self) -> bool:
        return self.may_write or (self.needs != Permission.READ and not self.only_reads)

    def __call__(self, handler: Handler) -> Handler:
        @wraps(handler)
        def read(call: "Call", request: Request, **path: Any) -> Response:
            self.read_body(call, request)
            return handler(call, **path)

        decorated: Any = noted(repeatable(read, shown_once=self.shown_once)) if self.is_repeatable else read
        offline = stale_or(read, self.offline) if self.from_replica else self.offline
        if self.from_replica:
            decorated = from_replica(decorated)
        if offline is not None:
            decorated = either(decorated, offline, self.read_body, refused=self.needs != Permission.READ)
        decorated.declared = self
        return cast(Handler, decorated)

    def read_body(self, call: "Call", request: Request) -> None:
        """Give a call its body, where it has one."""
        if self.body is not None:
            call.body = _validated_data(self.body, request.data)


class Call(APIView):
    """A call of the API, with its methods by name."""

    methods: ClassVar[dict[str, Method]] = {}
    #: Names of the query string that may be given more than once; of these all values are read.
    lists: ClassVar[frozenset[str]] = frozenset()
    #: The query string and the body of this request, as read.
    query: dict[str, Any]
    body: dict[str, Any]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        handlers = {name.upper(): getattr(cls, name, None) for name in cls.http_method_names}
        declared = {name: getattr(handler, "declared", None) for name, handler in handlers.items()}
        cls.methods = {name: method for name, method in declared.items() if method}

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """A call that a replica can answer does not wait for a slow database."""
        method = self.methods.get(request.method or "")
        token = is_spared.set(method is not None and method.from_replica)
        try:
            return super().dispatch(request, *args, **kwargs)
        finally:
            is_spared.reset(token)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        method = self.methods.get(method_of(request))
        needs_database = method is None or not (method.offline or (method.from_replica and replicas.are_there()))
        if needs_database and database.is_away():
            raise DatabaseAway
        super().initial(request, *args, **kwargs)
        if needs_database and (getattr(request.auth, "is_from_cache", False) or database.is_away()):
            raise DatabaseAway
        # The query string, in which no name may be given twice
        lists = dict(request.query_params.lists())
        if twice := [name for name, values in lists.items() if len(values) > 1 and name not in self.lists]:
            detail = ErrorDetail(str(_("This is given twice.")), code="twice")
            raise ValidationError({name: [detail] for name in twice})
        parameters = {name: values if name in self.lists else values[0] for name, values in lists.items()}
        self.query = _validated_data(method.query if method else StrictSerializer, parameters)

    def perform_authentication(self, request: Request) -> None:
        """Whoever has a key is told of a body that is too large by every call, also by those that read none."""
        super().perform_authentication(request)
        if request.auth is not None:
            check_length(request)

    def options(self, request: Request, *args: Any, **kwargs: Any) -> Response:  # type: ignore[override]
        return Response(status=204)  # the Allow header says it all

    @cached_property
    def caller(self) -> Caller:
        return caller_of(self.request)

    @cached_property
    def now(self) -> datetime:
        return now_of(self.request)


def _validated_data(kind: type[StrictSerializer], data: Any) -> dict[str, Any]:
    """What a request says, read by one serializer for all requests; what is wrong with it is told by one of its own."""
    validated: dict[str, Any]
    try:
        validated = _reader(kind).run_validation(data)
    except ValidationError:
        serializer = kind(data=data)
        serializer.is_valid(raise_exception=True)
        validated = serializer.validated_data
    return validated


@cache  # to make one copies every field
def _reader(kind: type[StrictSerializer]) -> StrictSerializer:
    return kind()

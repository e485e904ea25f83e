"""POST /recall: the memories that bear on a message. GET /recalls/comparison: what only one of both ways finds (A4)."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count, F, Sum
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers
from rest_framework.response import Response

from channels_app import addresses
from channels_app.api.addresses import PlaceRequest
from channels_app.cards import keep_channels
from channels_app.doors.files.answers import RecalledLine, folders_of_scope, place_of, recall_from_files
from channels_app.doors.files.comparison import compare, length_of
from channels_app.models import PathComparison
from memories.api import fields
from memories.api.answers import Answer, EvidenceAnswer, StaleAnswer
from memories.api.calls import Call, Method
from memories.api.entries import with_columns
from memories.api.offline import Outage
from memories.api.recall_traces import LeftOutMemory, RecalledMemory
from memories.choices import EntryType, NeedMode, Origin, Permission
from memories.conf import conf
from memories.exceptions import InvalidMoment, ScopeNotFound
from memories.language.persons import ASSISTANT, MOST_MESSAGES, USER, RecentMessage
from memories.recall import Mode, Recall, recall, traces, vector
from memories.recall.eligibility import Past
from memories.recall.events import RecalledEvent
from memories.recall.query import Serve
from memories.recall.ranking import Ranked
from memories.recall.traces import CandidateRecord


def line_answer(line: RecalledLine) -> dict[str, Any]:
    """A line of a file as clients see it: it has no id, and its slots tell where it stands."""
    match = line.match
    return RecalledMemory.of(
        id=None,
        type=EntryType.NOTE,
        scope=line.scope,
        content=match.text,
        sender=None,
        sender_name=None,
        slots=line.slots,
        origin=Origin.FILE,
        trust=Origin.FILE,
        verification="",
        suspect="",
        evidence=[],
        created_at=match.at,
        score=round(match.score, 4),
        relevance=None,
        superseded_by_newer=None,
        why=traces.why(CandidateRecord(entry=0, keyword=round(match.score, 4), in_context=line.in_context), {}),
    )


MODES = tuple(mode.value for mode in Mode)
#: What a request says of a query as it is.
OPTIONS = (
    *("message", "mode", "types", "project", "topic", "since", "until", "need", "serve", "quotas"),
    *("token_budget", "explain", "cache", "include_session_events", "as_of"),
)


@extend_schema_serializer(component_name="RecentMessage")
class RecentMessageField(fields.StrictSerializer):
    """A message just before the one that is asked; of a long one its beginning and its end are read."""

    role = fields.Word(choices=[USER, ASSISTANT])
    content = fields.LongText(allow_blank=True)


def recent_messages() -> serializers.ListField:
    """The field of the messages just before, by which «she» and «there» are understood."""
    return serializers.ListField(
        child=RecentMessageField(),
        max_length=MOST_MESSAGES,
        allow_null=True,
        default=None,
        help_text="The messages just before, oldest first, by which «she», «there» or «and when?» are understood.",
    )


def read_recent(messages: Sequence[Mapping[str, str]] | None) -> tuple[RecentMessage, ...]:
    """The messages of a request."""
    return tuple(RecentMessage(message["role"], message["content"]) for message in messages or ())


@extend_schema_field(
    {"oneOf": [{"type": "string", "enum": list(Serve)}, {"type": "number", "minimum": 0, "maximum": 1}]}
)
class ServeField(serializers.Field[Any, Any, Any, Any]):
    """How likely a memory has to help to be served: `likely`, `wide`, or from which relevance on."""

    default_error_messages = {"invalid": _("Say “likely”, “wide”, or a number from 0 to 1.")}

    def to_internal_value(self, data: Any) -> str | float:
        if isinstance(data, str) and data in tuple(Serve):
            return Serve(data)
        if isinstance(data, bool) or not isinstance(data, (int, float)) or not 0 <= data <= 1:
            self.fail("invalid")
        return float(data)

    def to_representation(self, value: Any) -> Any:
        return value


class RecallRequest(PlaceRequest):
    """A question to memory: from an address, or about one scope."""

    message = fields.LongText(allow_blank=True)
    limit = fields.Whole(min_value=1, max_value=50, allow_null=True, default=None)
    mode = fields.Word(choices=MODES, default="hybrid")
    types = serializers.ListField(
        child=fields.Word(choices=EntryType.choices), allow_null=True, default=None, max_length=10
    )
    filters = fields.Slots(allow_null=True, default=dict)
    project = fields.Text(max_length=100, allow_null=True, default=None)
    topic = fields.Text(max_length=100, allow_null=True, default=None)
    since = fields.Moment(allow_null=True, default=None)
    until = fields.Moment(allow_null=True, default=None)
    as_of = fields.Moment(allow_null=True, default=None, help_text="Memory as it was at this moment; null: as it is.")
    need = fields.Word(choices=NeedMode.choices, default=NeedMode.AUTO)
    serve = ServeField(
        allow_null=True,
        default=None,
        help_text="What is `likely` to help, all that may, or from which relevance on; null: the channel's, else wide.",
    )
    quotas = fields.YesNo(default=True)
    token_budget = fields.Whole(min_value=0, max_value=100_000, default=lambda: conf.CONTEXT_TOKENS)
    include_session_events = fields.YesNo(default=lambda: conf.INCLUDE_SESSION_EVENTS)
    explain = fields.YesNo(default=False)
    cache = fields.YesNo(default=True)
    recent = recent_messages()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if attrs["since"] and attrs["until"] and attrs["since"] > attrs["until"]:
            raise serializers.ValidationError({"until": [_("This is before `since`.")]})
        return attrs


class NeedAnswer(Answer):
    """Whether the message needed memory, and by which rule."""

    retrieve = serializers.BooleanField()
    rule = serializers.CharField()


@extend_schema_serializer(component_name="RecalledEvent")
class RecalledEventAnswer(Answer):
    """A message, or an event of a day, with the path that proves it."""

    kind = serializers.ChoiceField(choices=["session_event", "daily_event"])
    path = serializers.CharField(help_text="session_events/<session>/<conversation>/event-<id>, or daily_events/<id>")
    scope = serializers.CharField()
    role = serializers.ChoiceField(choices=["user", "assistant", "summary"])
    sender = serializers.CharField(source="sender_id")
    sender_name = serializers.CharField(allow_null=True, help_text="What people call the sender.")
    content = serializers.CharField(help_text="Shortened when it is long.")
    cut = serializers.BooleanField(source="is_cut")
    at = serializers.DateTimeField()
    score = serializers.FloatField(help_text="By words, meaning and days; 0.1: by its day only.")
    words = serializers.FloatField(help_text="Share of the question's telling words it holds.")
    similarity = serializers.FloatField(allow_null=True, help_text="To the question; null: it was not compared.")
    memory = serializers.UUIDField(allow_null=True, help_text="A served memory that rests on it.")


class RecallAnswer(StaleAnswer):
    """The memories that bear on a message."""

    recall_id = serializers.UUIDField(allow_null=True)
    need = NeedAnswer()
    evidence = serializers.ChoiceField(choices=["found", "weak", "none"])
    memories = RecalledMemory(many=True)
    events = RecalledEventAnswer(many=True, help_text="Of a question about the past: messages, word for word.")
    context = serializers.CharField()  # type: ignore[assignment]
    tokens = serializers.IntegerField()
    degraded = serializers.ListField(child=serializers.CharField())
    cached = serializers.BooleanField(help_text="Asked a moment ago; nothing has changed since.")
    as_of = serializers.DateTimeField(allow_null=True, help_text="The moment memory was asked as of.")
    erased_since = serializers.IntegerField(
        allow_null=True, help_text="With `as_of`: memories erased since, which can only be counted."
    )
    left_out = LeftOutMemory(many=True, required=False, help_text="With `explain`.")


def recall_of_files(call: Call, outage: Outage) -> Response:
    """A search by words in the files."""
    body, caller = call.body, call.caller
    if body["as_of"] is not None:
        raise InvalidMoment(gettext("Files answer at the moment, and tell nothing of the past."))
    if "scope" in body:
        folders = folders_of_scope(caller, body["scope"])
    else:
        folders = place_of(caller, body["address"], has_database=outage.has_database, now=call.now).folders
    from_files = recall_from_files(
        [] if body["filters"] else folders,  # a line has no slots to go by
        body["message"],
        limit=body["limit"] or conf.MAX_RECALLS,
        zone=caller.zone,
        language=caller.language,
        **{name: body[name] for name in ("need", "token_budget", "types", "since", "until")},
    )
    answer = RecallAnswer.of(
        recall_id=None,
        need=NeedAnswer.of(from_files.need),
        evidence=from_files.evidence,
        memories=list(map(line_answer, from_files.lines)),
        events=[],
        as_of=None,
        erased_since=None,
        context=from_files.context,
        tokens=from_files.tokens,
        degraded=outage.degraded,
        cached=False,
        **({"left_out": []} if body["explain"] else {}),
    )
    return Response(answer)


class RecallView(Call):
    """The memories that bear on a message."""

    @Method("recall", Permission.READ, RecallAnswer, body=RecallRequest, from_replica=True, offline=recall_of_files)
    def post(self) -> Response:
        body = self.body
        if body["mode"] in (Mode.HYBRID, Mode.VECTOR):
            vector.begin_embedding(body["message"])
        resolution = addresses.resolve_address(self.caller, body["address"]) if "address" in body else None
        if resolution:
            addresses.check_database_answers(resolution)
        options = {name: body[name] for name in OPTIONS} | {"filters": body["filters"] or {}}
        options |= {"recent": read_recent(body["recent"]), "limit": body["limit"]}
        if resolution:
            query = addresses.recall_query(self.caller, resolution, now=self.now, **options)
        else:
            query = addresses.scope_query(self.caller, body["scope"], now=self.now, **options)
        result = recall(query, now=self.now, zone=self.caller.zone)
        keep_channels(self.caller.workspace_id, now=self.now)
        if resolution and query.as_of is None:
            compare(self.caller, query, result, resolution, now=self.now)
        return Response(_answer(result, explain=query.explain))


def _answer(result: Recall, *, explain: bool) -> dict[str, Any]:
    excluded: dict[str, Any] = {"left_out": []} if explain else {}
    for item in (*result.ranked, *result.excluded) if explain else ():
        # A candidate that was not served, and why; of what may not be served without its words
        if item.reason == "served":
            continue
        answer = LeftOutMemory.of(**_memory(item, result.weights), reason=item.reason)
        is_untold = result.past is not None and result.past.withholds(item.entry)
        withheld = [*traces.WITHHELD.get(item.reason, ()), *(("content", "slots") * is_untold)]
        excluded["left_out"].append(answer | dict.fromkeys(withheld))
    return RecallAnswer.of(
        result,
        recall_id=result.trace.uid if result.trace else None,
        need=NeedAnswer.of(result.need),
        evidence=result.answerability.verdict,
        memories=memory_answers(result.served, result.weights, result.past),
        events=list(map(event_answer, result.events)),
        cached=result.cached_from is not None,
        as_of=result.past and result.past.moment,
        erased_since=result.past and result.past.erased_since,
        **excluded,
    )


#: Of a memory of then whose words may not be told any more.
_UNTOLD: Mapping[str, Any] = {"content": "", "slots": {}, "evidence": []}


def memory_answers(
    items: Sequence[Ranked], weights: Mapping[str, float], past: Past | None = None
) -> list[dict[str, Any]]:
    """Memories as clients see them; of a moment of the `past`, those that may not be told any more without words."""
    answers = []
    for item in items:
        answer = _memory(item, weights) | {"evidence": list(map(EvidenceAnswer.of, item.evidence))}
        if past is not None and past.withholds(item.entry):
            answer |= _UNTOLD
        answers.append(RecalledMemory.of(**answer, verification=item.entry.verification))
    return answers


def _memory(item: Ranked, weights: Mapping[str, float]) -> dict[str, Any]:
    entry = item.entry
    return {
        "id": entry.uid,
        "type": entry.type,
        "scope": entry.scope.key,
        "content": entry.content,
        "suspect": entry.suspect,
        "sender": item.sender.id or None,
        "sender_name": item.sender.safe_name,
        "slots": with_columns(entry, item.candidate.slots),
        "origin": entry.origin,
        "trust": entry.trust,
        "created_at": entry.created_at,
        "score": round(item.score, 4),
        "relevance": None if item.relevance is None else round(item.relevance, 4),
        "superseded_by_newer": item.superseded_by,
        "why": traces.why(traces.record_of(item), weights),
    }


def event_answer(event: RecalledEvent) -> dict[str, Any]:
    """A message, or an event of a day, as clients see it."""
    return RecalledEventAnswer.of(
        event,
        sender_name=event.sender.safe_name,
        score=round(event.score, 4),
        words=round(event.covered, 4),
        similarity=None if event.similarity is None else round(event.similarity, 4),
    )


class ComparisonQuery(fields.StrictSerializer):
    """Which comparisons are wanted."""

    since = fields.Moment(required=False)
    platform = serializers.CharField(required=False, max_length=40)
    account = serializers.CharField(required=False, allow_blank=True, max_length=200)
    examples = serializers.IntegerField(required=False, min_value=0, max_value=100, default=20)


class OnlyInDatabase(Answer):
    """A memory the files did not give."""

    id = serializers.UUIDField()
    path = serializers.CharField(help_text="Of a line of a file; else empty.")
    line = serializers.IntegerField(allow_null=True)
    content = serializers.CharField()


class OnlyInFiles(Answer):
    """A line of a file the database did not give."""

    path = serializers.CharField()
    line = serializers.IntegerField()
    content = serializers.CharField()


class ComparisonExample(Answer):
    """A recall for which the two differ."""

    at = serializers.DateTimeField(source="created_at")
    platform = serializers.CharField()
    account = serializers.CharField()
    recall_id = serializers.UUIDField(source="trace", allow_null=True)
    message = serializers.CharField()
    both = serializers.IntegerField()
    only_database = OnlyInDatabase(many=True)
    only_files = OnlyInFiles(many=True)


class ComparisonAnswer(Answer):
    """How the two ways to recall compare."""

    recalls = serializers.IntegerField(help_text="That were asked of both.")
    differing = serializers.IntegerField(help_text="Recalls for which the two do not give the same.")
    both = serializers.IntegerField(help_text="Memories both found.")
    only_database = serializers.IntegerField()
    only_files = serializers.IntegerField()
    examples = ComparisonExample(many=True, help_text="Of the differing ones, the newest.")


class ComparisonView(Call):
    """What only the database finds, and what only the files find, of channels under `dual_write`."""

    @Method("compare_paths", Permission.ADMIN, ComparisonAnswer, query=ComparisonQuery, only_reads=True)
    def get(self) -> Response:
        if not self.caller.reaches_everything:  # examples quote memories of any scope
            raise ScopeNotFound
        conditions: dict[str, Any] = {name: self.query[name] for name in ("platform", "account") if name in self.query}
        if "since" in self.query:
            conditions["created_at__gte"] = self.query["since"]
        rows = PathComparison.objects.filter(workspace_id=self.caller.workspace_id, **conditions)
        differing_rows = rows.exclude(only_database=[], only_files=[])
        examples = differing_rows.order_by("-created_at", "-pk")[: self.query["examples"]]
        answer = ComparisonAnswer.of(
            **rows.aggregate(recalls=Count("pk"), **{name: Sum(count, default=0) for name, count in _COUNTS.items()}),
            differing=differing_rows.count(),
            examples=list(map(ComparisonExample.of, examples)),
        )
        return Response(answer)


_COUNTS: dict[str, Any] = {
    "both": F("both"), "only_database": length_of("only_database"), "only_files": length_of("only_files")
}  # fmt: skip

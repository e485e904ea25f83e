"""The recall lab: any question as any chat or person, at any moment, by these policies and by others."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from unfold.widgets import UnfoldAdminDecimalFieldWidget, UnfoldAdminIntegerFieldWidget, UnfoldAdminTextInputWidget

from channels_app import addresses
from memories.admin.access import actor_of, in_workspaces, workspace_choice
from memories.admin.forms import LineField, SelectField, SwitchField, TextField
from memories.admin.pages import own_page, row_number
from memories.admin.recall_traces import CHANGES, EMBED_SECONDS, MODES, RULES, STEPS, CandidateRow, query_label
from memories.choices import EntryType, NeedMode, Permission, PolicyKind, ScopeKind, type_rule
from memories.entries.history import ServedVersion
from memories.evaluation.pinned import asked_of, whom_of
from memories.exceptions import InvalidDraft, PlatformError, ScopeNotFound
from memories.models import Entry, PinnedTest, Policy, RecallTrace, Scope, Workspace
from memories.models.change import acting
from memories.models.policy import WEIGHTS, Policies, Subject
from memories.recall import Query, Recall, recall, traces
from memories.recall.ranking import Ranked
from memories.staff.rights import holds, needs, workspaces_of
from memories.staff.roles import Right
from memories.tenancy.resolver import Address
from sessions_app.models import Session

#: Labels of the weights, by their names in a policy.
WEIGHT_LABELS = {
    "alpha": _("meaning beside words (0–1)"),
    "min_similarity": _("least similarity"),
    "speaker_boost": _("added for the speaker who is named"),
    "date_boost": _("added for the day that is named"),
    "recency": _("added for what was just said"),
    "max_recalls": _("memories at most"),
    "relevance_likely": _("least relevance in a prompt (0–1)"),
    "relevance_wide": _("least relevance in a search (0–1)"),
}
_TYPES, _SCOPES = dict(EntryType.choices), dict(ScopeKind.choices)
_PLAIN = {"widget": UnfoldAdminTextInputWidget}


def quota_keys() -> list[tuple[str, str]]:
    """The types and kinds of scope that have a number of places in a recall."""
    return [(kind, scope) for kind in EntryType for scope in ScopeKind if scope in type_rule(kind).quotas]


class LabForm(forms.Form):
    """A question, as whom and as of when it is asked, and the numbers that are tried."""

    message = TextField(label=_("Question"), max_length=4_000, rows=2, has_focus=True)
    whom = LineField(
        label=_("As whom"),
        required=False,
        max_length=255,
        help_text=_("The key of a scope or of a session; or an address, below."),
        attrs={"list": "lab-whom", "autocomplete": "off"},
    )
    platform = forms.CharField(label=_("platform"), required=False, max_length=40, **_PLAIN)
    account = forms.CharField(label=_("account"), required=False, max_length=200, **_PLAIN)
    peer = forms.CharField(label=_("peer"), required=False, max_length=200, **_PLAIN)
    chat = forms.CharField(label=_("chat"), required=False, max_length=200, **_PLAIN)
    is_group = SwitchField(label=_("group"))
    at = forms.DateTimeField(
        label=_("As of"),
        required=False,
        help_text=_("Memory as it was then, in the workspace's time zone. Empty: now."),
        widget=UnfoldAdminTextInputWidget(attrs={"type": "datetime-local", "step": 1}),
    )
    mode = SelectField(label=_("Manner"), choices=list(MODES.items()))
    always = SwitchField(label=_("Search even where no memory is needed"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in WEIGHTS:
            most = 50 if name == "MAX_RECALLS" else 1 if name.startswith("RELEVANCE") else 10
            self.fields[name.lower()] = forms.FloatField(
                label=WEIGHT_LABELS[name.lower()],
                required=False,
                min_value=1 if name == "MAX_RECALLS" else 0,
                max_value=most,
                widget=UnfoldAdminDecimalFieldWidget(attrs={"step": "any"}),
            )
        for kind, scope in quota_keys():
            self.fields[f"quota_{kind}_{scope}"] = forms.IntegerField(
                label=f"{_TYPES[kind]}, {_SCOPES[scope]}",
                required=False,
                min_value=0,
                max_value=50,
                widget=UnfoldAdminIntegerFieldWidget,
            )

    def clean_at(self) -> datetime | None:
        at: datetime | None = self.cleaned_data["at"]
        if at is not None and at > timezone.now():
            raise forms.ValidationError(_("This moment is still to come."))
        return at

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if not (data.get("whom") or data.get("platform")):
            self.add_error("whom", _("Name a scope, a session or an address."))
        return data

    def asker(self) -> str:
        """As whom it is asked, as people call it."""
        data = self.cleaned_data
        parts = [data[name] for name in ("platform", "account", "chat", "peer")] if data["platform"] else [data["whom"]]
        return " · ".join(filter(None, parts))

    def changes(self) -> dict[Subject, float | None]:
        """The numbers that are tried in place of the workspace's."""
        data = self.cleaned_data
        weights = {(PolicyKind.WEIGHT.value, "", "", name.lower()): data.get(name.lower()) for name in WEIGHTS}
        quotas = {
            (PolicyKind.QUOTA.value, kind, scope, ""): data.get(f"quota_{kind}_{scope}") for kind, scope in quota_keys()
        }
        return {key: value for key, value in (weights | quotas).items() if value is not None}

    def numbers(self, policies: Policies) -> Iterator[tuple[Any, Any]]:
        """The fields of the numbers, each with the value that holds today."""
        for name in WEIGHTS:
            yield self[name.lower()], f"{policies.weight(name):g}"
        for kind, scope in quota_keys():
            quota = policies.quota(kind, scope)
            yield self[f"quota_{kind}_{scope}"], "∞" if quota is None else quota


#: What an answer's weights are called there, beside their names in a policy.
_WEIGHTS = WEIGHT_LABELS | {
    "boost": WEIGHT_LABELS["speaker_boost"],
    "floor": WEIGHT_LABELS["min_similarity"],
    "relevance_line": _("least relevance here"),
}


@dataclass(frozen=True)
class LabAnswer:
    """One answer, as the page shows it."""

    result: Recall
    served: list[CandidateRow]
    left_out: list[CandidateRow]
    context: str

    @property
    def rule(self) -> Any:
        """In words, why memory was or was not searched."""
        return RULES.get(self.result.need.rule, self.result.need.rule)

    @property
    def weights(self) -> list[tuple[Any, float]]:
        """The weights of the answer, by what they weigh."""
        return [(_WEIGHTS.get(name, name), value) for name, value in self.result.weights.items()]

    @property
    def highest(self) -> float:
        return max((row.score or 0.0 for row in (*self.served, *self.left_out)), default=0.0) or 1.0

    @property
    def steps(self) -> list[tuple[Any, float]]:
        took = self.result.timings
        return [(STEPS.get(name, name), took[name]) for name in took if name not in ("total", "trace")]

    @property
    def signs(self) -> str:
        return query_label({k: v for k, v in self.result.answerability.as_json().items() if k != "verdict"})

    @property
    def is_reranked(self) -> bool:
        return any(row.line.rerank for row in (*self.served, *self.left_out))


@dataclass(frozen=True)
class Move:
    """One memory and its place in both answers."""

    row: CandidateRow
    before: int | None
    now: int | None
    label: Any
    color: str | None
    score_before: float | None
    score_now: float | None


def query_of(workspace: Workspace, actor: str, data: Mapping[str, Any], *, need: str, now: datetime) -> Query:
    """The query of a filled form. Raises ScopeNotFound, InvalidAddress."""
    caller = workspace.caller(actor, permissions=[Permission.READ])
    options = {
        "message": data["message"],
        "now": now,
        "mode": data["mode"],
        "need": need,
        "as_of": data["at"],
        "explain": True,
        "include_session_events": True,
    }
    # The address that is filled in, or that of the session with this key
    address = None
    if data["platform"]:
        address = Address(**{name: data[name] for name in ("platform", "account", "peer", "chat", "is_group")})
    elif session := Session.objects.filter(workspace=workspace, key=data["whom"]).order_by("-last_at").first():
        address = Address(
            platform=session.platform,
            account=session.account,
            peer=data["peer"] or session.peer,
            chat=session.chat_id,
            is_group=session.is_group,
        )
    if address is not None:
        return addresses.recall_query(caller, addresses.resolve_address(caller, address), **options)
    if not data["whom"]:
        raise ScopeNotFound
    return addresses.scope_query(caller, data["whom"], **options)


def ask(query: Query, workspace: Workspace, *, now: datetime) -> LabAnswer:
    """The answer, of which nothing is kept: no trace, no figure. Raises InvalidMoment."""
    result = recall(query, now=now, zone=workspace.zone(), embed_seconds=EMBED_SECONDS, recorded=False)
    left_out = [item for item in [*result.ranked, *result.excluded] if item.reason != "served"]
    return LabAnswer(
        result,
        [_row(item, result.weights) for item in result.served],
        [_row(item, result.weights) for item in left_out],
        result.context,
    )


def _row(item: Ranked, weights: Mapping[str, float]) -> CandidateRow:
    record, entry = traces.record_of(item), item.entry
    return CandidateRow(
        line=record,
        entry=entry,
        then=ServedVersion(entry.version, entry.content, False, entry.stated_at),
        state=None,
        is_served=item.reason == "served",
        boosts=traces.boosts(record, weights),
    )


def moves(now: LabAnswer, changed_answer: LabAnswer) -> list[Move]:
    """What is served by the other numbers in its order, then what no longer is."""
    before = {row.entry_id: place for place, row in enumerate(now.served, start=1)}
    after = {row.entry_id: place for place, row in enumerate(changed_answer.served, start=1)}
    rows = {row.entry_id: row for row in (*now.served, *changed_answer.served)}
    old = {row.entry_id: row.score for row in (*now.left_out, *now.served)}
    new = {row.entry_id: row.score for row in (*changed_answer.left_out, *changed_answer.served)}
    differences = []
    for entry in dict.fromkeys([*after, *before]):
        change = traces.RankChange(entry, before.get(entry), after.get(entry))
        label, color = CHANGES[change.change]
        differences.append(Move(rows[entry], change.before, change.now, label, color, old.get(entry), new.get(entry)))
    return differences


def tried(changes: Mapping[Subject, float | None], query: Query) -> Query:
    """The same query by other policies."""
    most = changes.get((PolicyKind.WEIGHT.value, "", "", "max_recalls"))
    by_others = partial(lambda policies, changes: Policies.of_values({**policies.values, **changes}), changes=changes)
    return replace(query, limit=int(most or query.limit), adjusted=by_others)


MUST, MUST_NOT, ANSWER = "must", "must_not", "answer"
ANSWER_MOST = 200
#: Words of one test, and characters of each.
WORDS_MOST, WORDS_CHARS = 20, 300
_ROW = "row_"


def pin(workspace: Workspace, actor: str, query: Query, form: LabForm, post: QueryDict) -> PinnedTest:
    """The pinned test of what is ticked on the page and of the words that are named. Raises InvalidDraft."""
    # The answer that stood on the page, best first: each entry with the version that was read there
    parts = [row.partition(".") for row in post.getlist(ANSWER)[:ANSWER_MOST]]
    rows = [(row_number(pk), row_number(version)) for pk, _dot, version in parts]
    there = _reachable_entries(query, [pk for pk, _version in rows if pk is not None])
    test = PinnedTest(
        workspace=workspace,
        message=query.message,
        mode=query.mode,
        need=query.need,
        scope_keys=list(query.scope_keys) or [scope.key for scope in query.scopes],
        whom=whom_of(query, form.asker()),
        asked=asked_of(query, workspace),
        answer=[[pk, version] for pk, version in rows if pk and version and version <= there.get(pk, 0)],
        must_entries=_ticked_entries(query, post, MUST),
        must_not_entries=_ticked_entries(query, post, MUST_NOT),
        must_words=_lines(post.get("must_words", "")),
        must_not_words=_lines(post.get("must_not_words", "")),
        created_by=actor,
        created_at=timezone.now(),
    )
    if not (test.must_entries or test.must_not_entries or test.must_words or test.must_not_words):
        raise InvalidDraft(gettext("Tick what must or must not be returned, or name words."))
    with acting(actor):
        test.save()
    return test


def _ticked_entries(query: Query, post: QueryDict, value: str) -> list[int]:
    """The entries that are ticked so, as far as they are of the scopes that are asked."""
    names = (name.removeprefix(_ROW) for name, ticked in post.items() if name.startswith(_ROW) and ticked == value)
    return sorted(_reachable_entries(query, [pk for pk in map(row_number, names) if pk is not None]))


def _reachable_entries(query: Query, ids: list[int]) -> dict[int, int]:
    """The entries of these that are of the scopes that are asked, each with its version."""
    there = Entry.objects.filter(workspace_id=query.workspace_id, scope__in=query.scope_ids, pk__in=ids)
    return dict(there.values_list("pk", "version"))


def _lines(text: str) -> list[str]:
    lines: Iterable[str] = (line.strip()[:WORDS_CHARS] for line in text.splitlines())
    return [line for line in lines if line][:WORDS_MOST]


#: Scopes and sessions that are proposed, those used last.
PROPOSED = 40


@never_cache
@require_http_methods(["GET", "POST"])
@needs(Right.READ)
def page(request: HttpRequest) -> HttpResponse:
    """A question and its answers; asked by POST, so that no address of a page holds its words."""
    parameters = request.POST if request.method == "POST" else request.GET
    trace = _trace(request, parameters.get("trace", ""))
    mine, workspace = workspace_choice(request)
    if request.method == "POST":
        workspace = next((row for row in mine if str(row.pk) == request.POST.get("of")), None)
    workspace = trace.workspace if trace else workspace
    context: dict[str, Any] = {"title": gettext("Recall lab"), "workspaces": mine, "workspace": workspace}
    if workspace is not None:
        timezone.activate(workspace.zone())
        initial: dict[str, Any] = {"mode": "hybrid"}
        if trace is not None:
            initial = {"message": trace.message, "whom": _whom(trace), "mode": trace.query.get("mode", "hybrid")}
            initial["always"] = trace.query.get("need") == "off"
        form = LabForm(request.POST) if request.method == "POST" else LabForm(initial=initial)
        answers: dict[str, Any] = {}
        if request.method == "POST" and form.is_valid():
            try:
                answers = _answers(request, workspace, trace, form)
            except PlatformError as refusal:
                field = refusal.field if refusal.field in form.fields else "at" if refusal.field == "as_of" else "whom"
                form.add_error(field, str(refusal))
        sessions = Session.objects.filter(workspace=workspace).order_by("-last_at").values_list("key", flat=True)
        scopes = Scope.objects.filter(workspace=workspace).order_by("-created_at").values_list("key", flat=True)
        context |= {
            "form": form,
            "trace": trace,
            "numbers": list(form.numbers(Policy.objects.of(workspace.pk))),
            "proposed": list(dict.fromkeys([*sessions[:PROPOSED], *scopes[:PROPOSED]])),
            "has_address": bool(form["platform"].value()),
            **answers,
        }
    if (pinned := context.get("pinned")) is not None:
        messages.success(request, gettext("Saved. It is run once a day; “Run now” runs it at once."))
        return HttpResponseRedirect(reverse("admin:memories_pinnedtest_change", args=[pinned.pk]))
    return own_page(request, "admin/memplatform/lab.html", context)


def _answers(request: HttpRequest, workspace: Workspace, trace: RecallTrace | None, form: LabForm) -> dict[str, Any]:
    """Both answers, and what moved between them; one where no other number is tried."""
    now, data = timezone.now(), form.cleaned_data
    may_pin, pinned, pin_error = holds(request, Right.CURATE, workspace.pk), None, ""
    need = NeedMode.OFF if data["always"] else NeedMode.AUTO
    if trace and data["whom"] == _whom(trace):
        changed = {"message": data["message"], "mode": data["mode"], "as_of": data["at"], "need": need}
        query = replace(traces.query_of(trace), **changed)
    else:
        query = query_of(workspace, actor_of(request), data, need=need, now=now)
    answers = [ask(query, workspace, now=now)]
    if may_pin and request.POST.get("do") == "pin":
        try:
            pinned = pin(workspace, actor_of(request), query, form, request.POST)
        except InvalidDraft as refusal:
            pin_error = str(refusal)
    if changes := form.changes():
        answers.append(ask(tried(changes, query), workspace, now=now))
    differences = moves(*answers) if len(answers) > 1 else []
    return {
        "answers": list(zip([gettext("Now"), gettext("With other numbers")], answers, strict=False)),
        "moves": differences,
        "is_the_same": bool(differences) and all(move.before == move.now for move in differences),
        "query": query,
        "may_pin": may_pin,
        "pinned": pinned,
        "pin_error": pin_error,
        "answer": answers[0],
        "pinnable": [*answers[0].served, *answers[0].left_out],
        # What a form beside it sends again: all that was filled in, as it was sent
        "asked": [(name, form.data[name]) for name in form.fields if form.data.get(name)],
    }


def _trace(request: HttpRequest, number: str) -> RecallTrace | None:
    """The recall this begins from, of the workspaces this person may read."""
    pk = row_number(number)
    if pk is None:
        return None
    rows: Any = in_workspaces(RecallTrace.objects.select_related("workspace"), workspaces_of(request))
    trace: RecallTrace | None = rows.filter(pk=pk).first()
    return None if trace is None or trace.is_purged else trace


def _whom(trace: RecallTrace) -> str:
    return str(trace.session_key or ", ".join(trace.scope_keys))

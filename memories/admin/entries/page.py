"""The admin of entries: find them, see where they come from and who heard them, add, correct and bring them back."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext, pgettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST
from unfold.contrib.filters.admin import BooleanRadioFilter, ChoicesDropdownFilter
from unfold.decorators import display

from memories import entries
from memories.admin.access import RestrictedAdmin, actor_of
from memories.admin.actions import Question
from memories.admin.batches.detail import batch_url
from memories.admin.entries import columns
from memories.admin.entries.actions import OF_ENTRIES
from memories.admin.entries.columns import SAVED_VIEWS, beneath, excerpt, short_moment
from memories.admin.entries.forms import (
    LIFETIMES,
    TYPE_CHOICES,
    TYPES,
    EntryForm,
    SlotInline,
    edit_of,
    ends_in,
    scope_field,
)
from memories.admin.events import found_events, source_lines
from memories.admin.files import card_of, index_url
from memories.admin.forms import LineField, ReasonForm, SelectField, SwitchField, TextField
from memories.admin.history import FieldChange, HistoryStep, RevertibleHistory, field_change, slot_change
from memories.admin.lists import (
    AudienceFilter,
    CsvList,
    DaysFilter,
    DueFilter,
    ProjectFilter,
    ReachableFilter,
    SpeakerFilter,
    StateFilter,
    SubjectFilter,
    SuspicionFilter,
    TierFilter,
    TrustFilter,
    TypedFilter,
    VerificationFilter,
    ViewedChangeList,
    WordSearch,
)
from memories.admin.masking import MASK, is_secret
from memories.admin.pages import column, own_page, return_url, with_return_url
from memories.batches import bulk_actions
from memories.batches.descriptions import note_of
from memories.choices import Category, ChangeState, LinkKind, Operation, Outcome, Source, Verification
from memories.entries import update
from memories.entries.draft import SLOT_FIELD, UnscopedDraft
from memories.entries.evidence import evidence_of
from memories.entries.history import history_of
from memories.exceptions import InvalidDraft, LineChanged, PlatformError
from memories.models import Batch, Entry, Evidence, Link, Policy, RecallTrace
from memories.models.state import state_of
from memories.staff.rights import EDIT, Needs
from memories.staff.roles import Right

_PIN = '<span class="material-symbols-outlined mp-pin" title="{}">keep</span> '
LINKS_SHOWN = 20
TRACES_SHOWN = 10
#: How far back traces are looked through: an entry nobody recalled lately must not cost a scan of them all.
TRACES_READ = 5_000

#: How the other entry relates to this one: as the link's end, and as its beginning.
_RELATIONS = {
    LinkKind.SOURCE_OF: (_("became"), _("rests on")),
    LinkKind.SUPERSEDES: (_("replaced"), _("replaced by")),
    LinkKind.ALIKE: (_("resembles"), _("resembles")),
    LinkKind.MERGED_FROM: (_("merged from"), _("merged into")),
}


@dataclass(frozen=True)
class QuoteLine:
    """Words an entry rests on, with the page of the conversation they stand in, where it is still there."""

    quote: Evidence
    url: str


def quote_lines(entries: Collection[int], workspace_id: int) -> dict[int, list[QuoteLine]]:
    """The words entries rest on, in the order they were written."""
    quotes = evidence_of(entries, workspace_id)
    events = found_events(workspace_id, sorted({quote.origin for rows in quotes.values() for quote in rows}))
    return {
        pk: [QuoteLine(quote, events[quote.origin].url if quote.origin in events else "") for quote in rows]
        for pk, rows in quotes.items()
    }


class AddForm(ReasonForm):
    """A memory, and why it is added."""

    content = TextField(label=_("content"), rows=4, has_focus=True)
    type = SelectField(label=_("type"), choices=TYPE_CHOICES, initial="user_explicit")
    category = SelectField(label=_("category"), choices=[("", _("None")), *Category.choices], required=False)
    term = SelectField(label=_("Term"), choices=LIFETIMES, required=False, initial="")
    project = LineField(label=_("project"), required=False)
    pinned = SwitchField(label=_("pinned"))
    slots = TextField(label=_("slots"), required=False, help_text=_("One a line: name = value."), rows=2)
    field_order = ["scope", "content", "type", "category", "term", "project", "pinned", "slots", "reason"]

    def __init__(self, data: Any = None, *, scope: forms.Field, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.fields["scope"] = scope
        self.fields["reason"].widget.attrs.pop("autofocus", None)
        self.order_fields(self.field_order)

    def clean_slots(self) -> dict[str, str]:
        lines = [line for line in self.cleaned_data["slots"].splitlines() if line.strip()]
        pairs = [line.partition("=") for line in lines]
        if odd := next((name for name, sign, _value in pairs if not sign), None):
            raise forms.ValidationError(gettext("“%(line)s” is not name = value.") % {"line": odd[:60]})
        return {name.strip(): value.strip() for name, _sign, value in pairs}

    def draft(self, *, now: Any) -> UnscopedDraft:
        """The memory a valid form describes."""
        data = self.cleaned_data
        return UnscopedDraft(
            content=data["content"].replace("\r\n", "\n"),
            source=Source.MANUAL,
            at=now,
            category=data["category"],
            project=data["project"],
            pinned=data["pinned"],
            expires_at=ends_in(data["term"], now),
            slots=data["slots"],
            **TYPES[data["type"]][1],
        )


class EntryList(ViewedChangeList):
    """Gives each row of the page its state, with the policies of its workspace read once."""

    saved_views, all_rows = SAVED_VIEWS, pgettext_lazy("entries", "All")
    view_parameters = ("p", "state", "due", "pinned__exact")

    def describe_rows(self, rows: Sequence[Any]) -> None:
        """With their state and end, and what the list leaves out of each of them."""
        super().describe_rows(rows)
        now, policies = timezone.now(), Policy.objects.of_each({row.workspace_id for row in rows})
        same = columns.constant(self.request)
        for row in rows:
            row.same, row.ends_at = same, policies[row.workspace_id].end_of(row)
            row.state = state_of(row, row.ends_at, now)

    @property
    def column_choices(self) -> list[tuple[str, Any, bool]]:
        """The columns to choose from, by name and label, and whether each is chosen."""
        chosen_names = columns.chosen(self.request)
        return [(name, label, name in chosen_names) for name, label in columns.CHOICES.items()]

    @property
    def typed(self) -> list[TypedFilter]:
        """The filters with words in them, which a link may have brought: of whom, by whom, before whom."""
        return [spec for spec in self.filter_specs if isinstance(spec, TypedFilter) and spec.value()]

    @property
    def widened(self) -> str:
        """The address of the list without them."""
        return self.get_query_string({str(spec.parameter_name): None for spec in self.typed})


@admin.register(Entry)
class EntryAdmin(WordSearch, CsvList, RevertibleHistory, RestrictedAdmin):
    """The main page of the platform. Everything here goes through memories.entries, and so into the history."""

    when_empty = _(
        "What bots are told appears here: connect one, import what another program knows, or add a memory by hand."
    )
    members_may: Needs = {**EDIT, "add": Right.CURATE}
    declared = OF_ENTRIES
    changelist = EntryList
    show_add_link = False  # its button stands above the list
    form = EntryForm
    inlines = [SlotInline]
    list_display = [columns.ALWAYS, *columns.CHOICES]
    list_display_links = ["text"]
    list_filter = [
        StateFilter,
        DueFilter,
        VerificationFilter,
        SuspicionFilter,
        ("type", ChoicesDropdownFilter),
        ("category", ChoicesDropdownFilter),
        TierFilter,
        ("scope", ReachableFilter),
        ProjectFilter,
        ("source", ChoicesDropdownFilter),
        ("origin", ChoicesDropdownFilter),
        TrustFilter,
        SubjectFilter,
        SpeakerFilter,
        AudienceFilter,
        ("pinned", BooleanRadioFilter),
        ("created_at", DaysFilter),
    ]
    ordering = ["-created_at", "-id"]
    sortable_by = ["created"]
    search_fields = ["content"]
    search_help_text = _("Words in English or Chinese, “a phrase as written”, or an id")
    fieldsets: Any = [
        (
            None,
            {
                "fields": [
                    "content", ("category", "importance"), ("project", "topic"), ("subject", "names"), "pinned",
                    "expires_at", "review_at",
                ],
            },
        ),
        (
            _("Where it was said"),
            {
                "classes": ["tab"],
                "fields": [
                    "scope", ("channel", "chat_id"), ("session_id", "thread_id"), ("sender_id", "speaker"),
                    ("origin", "trust"), "chats", "origins",
                ],
            },
        ),
        (
            _("Life"),
            {
                "classes": ["tab"],
                "fields": [
                    ("type", "subtype", "tier"), "source", ("created_at", "stated_at", "updated_at"),
                    ("expired_at", "archived_at", "suppressed_at"), "superseded_by", ("verified_at", "verified_by"),
                    ("path", "line_from", "line_to"), ("uid", "version"),
                ],
            },
        ),
    ]  # fmt: skip
    readonly_fields = flatten_fieldsets(fieldsets[1:])
    list_before_template = "admin/memories/entries_head.html"
    change_form_outer_before_template = "admin/memories/entry_state.html"
    change_form_outer_after_template = "admin/memories/entry_related.html"

    csv_name = "memories"
    csv_columns = (
        "id", "workspace", "scope", "state", "type", "tier", "category", "project", "topic", "importance", "pinned",
        "content", "about", "comes from", "lowest source", "speaker", "chat", "source", "created", "last stated",
        "ends", "checked", "checked by", "recalled", "last recalled",
    )  # fmt: skip
    colored_state = column(_("state"), lambda entry: entry.state.label, label=columns.COLORS)
    # When it ends, by its own term or its policy.
    ends = column(_("ends"), lambda entry: short_moment(entry.ends_at))
    # When a person last looked at it, and who.
    checked = column(
        _("checked"), lambda entry: beneath(short_moment(entry.verified_at), entry.verified_by.removeprefix("user:"))
    )

    # what is shown

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("scope", "workspace", "access").defer("terms")

    def get_list_display(self, request: HttpRequest) -> list[str]:
        """The columns of this browser, without those that the filters make the same in every row."""
        same = columns.constant(request)
        return [columns.ALWAYS, *(name for name in columns.chosen(request) if name not in same)]

    def get_urls(self) -> list[Any]:
        page = self.admin_site.admin_view(require_POST(columns.choose))
        return [path("columns/", page, name="memories_entry_columns"), *super().get_urls()]

    # the cells of the list, of rows with what EntryList gives them

    def csv_rows(self, changelist: Any, rows: list[Any]) -> Iterator[Iterable[Any]]:
        changelist.describe_rows(rows)
        for entry in rows:
            access = getattr(entry, "access", None)
            yield (
                entry.uid, entry.workspace.name, entry.scope.key, entry.state.value, entry.type, entry.tier,
                entry.category, entry.project, entry.topic, entry.importance, "yes" if entry.pinned else "no",
                MASK if is_secret(entry) else entry.content, entry.subject, entry.origin, entry.trust,
                entry.speaker or entry.sender_id, entry.chat_id, entry.source, entry.created_at, entry.stated_at,
                entry.ends_at, entry.verified_at, entry.verified_by,
                access.access_count if access else 0, access.last_accessed if access else None,
            )  # fmt: skip

    @display(description=_("content"))
    def text(self, entry: Any) -> str:
        """Two lines of it, the searched words marked; the style sheet cuts what is longer."""
        pin = format_html(_PIN, gettext("Pinned")) if entry.pinned else ""
        content_html = MASK if is_secret(entry) else excerpt(entry.content, entry.searched, columns.SHOWN_CHARS)
        return format_html('<span class="mp-clamp">{}{}</span>', pin, content_html)

    @display(description=_("scope"))
    def place(self, entry: Any) -> str:
        """The scope, and below it the type and category; without what is the same in every row."""
        several = [entry.workspace.name] if entry.is_one_of_several else []
        scope = [] if columns.SCOPE in entry.same else [*several, str(entry.scope)]
        kind = [] if columns.TYPE in entry.same else [entry.get_type_display()]
        category = [] if columns.CATEGORY in entry.same or not entry.category else [entry.get_category_display()]
        return beneath(" · ".join(scope), " · ".join([*kind, *category]))

    @display(description=_("created"), ordering="created_at")
    def created(self, entry: Entry) -> str:
        """When it was written, and below it how often it was served."""
        access = getattr(entry, "access", None)
        times = access.access_count if access else 0
        return beneath(
            short_moment(entry.created_at),
            ngettext("recalled %(n)d time", "recalled %(n)d times", times) % {"n": times},
        )

    @display(description=_("comes from"))
    def voice(self, entry: Entry) -> str:
        """Who it comes from, and below it the least trusted of all it rests on, where that is another."""
        lowest = "" if entry.trust == entry.origin else gettext("rests on: %(lowest)s")
        return beneath(entry.get_origin_display(), lowest % {"lowest": entry.get_trust_display()})

    @display(description=_("last recalled"))
    def recalled(self, entry: Entry) -> str:
        access = getattr(entry, "access", None)
        return short_moment(access.last_accessed if access else None)

    # editing

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        frozen = isinstance(obj, Entry) and obj.scope.frozen
        return super().has_change_permission(request, obj) and not frozen

    def get_form(self, request: HttpRequest, obj: Entry | None = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        form.refusal = request.__dict__.get("_refusal")
        if obj and obj.path and (content := form.base_fields.get("content")):
            content.help_text = _("A line of a file: what you change here is changed there, too.")
        return form

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """The version the form was opened with travels in it."""
        first, *others = super().get_fieldsets(request, obj)
        if not self.has_change_permission(request, obj):
            return [first, *others]
        return [(first[0], {**first[1], "fields": [*first[1]["fields"], "opened_version"]}), *others]

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        """A refused change comes back as an error of the form, with everything that was typed."""
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except PlatformError as refusal:
            request.__dict__["_refusal"] = refusal
            conflict = refusal if isinstance(refusal, LineChanged) else None
            answer = super().changeform_view(
                request, object_id, form_url, {**(extra_context or {}), "conflict": conflict}
            )
            if conflict:
                answer.status_code = HTTPStatus.CONFLICT
            return answer

    def page_context(self, request: HttpRequest, row: Entry) -> dict[str, Any]:
        """Its state, its relatives and its traces."""
        ends_at = Policy.objects.of(row.workspace_id).end_of(row)
        # The newest answers that served it, among the last TRACES_READ of its workspace
        recent = RecallTrace.objects.filter(workspace_id=row.workspace_id).order_by("-created_at", "-id")
        served_it = recent.filter(pk__in=recent.values("pk")[:TRACES_READ], served__contains=[row.pk])
        # The linked entries of its workspace, each with its relation to this one
        links = Link.objects.filter(Q(from_entry=row) | Q(to_entry=row), workspace_id=row.workspace_id)
        relatives: list[tuple[Any, Entry]] = []
        for link in links.select_related("from_entry__scope", "to_entry__scope").order_by("-id")[:LINKS_SHOWN]:
            from_this, to_this = _RELATIONS[LinkKind(link.kind)]
            is_from = link.from_entry_id == row.pk
            relatives.append((from_this, link.to_entry) if is_from else (to_this, link.from_entry))
        if row.superseded_by:
            relatives.append((_("replaced by"), row.superseded_by))
        return {
            "entry": row,
            "state": state_of(row, ends_at, timezone.now()),
            "ends_at": ends_at,
            "access": getattr(row, "access", None),
            "verification": Verification(row.verification).label if row.verification else "",
            "evidence": quote_lines([row.pk], row.workspace_id).get(row.pk, []),
            "contradiction": entries.contradiction_of(row),
            "sources": source_lines(row.workspace_id, row.origins),
            "relatives": [(how, other) for how, other in relatives if other.workspace_id == row.workspace_id],
            "traces": list(served_it.only("message", "created_at", "session_key")[:TRACES_SHOWN]),
            "file_card": card_of(row),
            "index_url": index_url(),
        }

    def save_model(self, request: HttpRequest, obj: Entry, form: Any, change: bool) -> None:
        """Saved with its slots, in one change."""

    def save_related(self, request: HttpRequest, form: Any, formsets: list[Any], change: bool) -> None:
        edit = edit_of(form, formsets)
        if edit.columns or edit.slots:
            opened = form.cleaned_data["opened_version"]
            update(form.instance, edit, now=timezone.now(), actor=actor_of(request), expected_version=opened)

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        """None: the history of entries is kept by the database, and words of users do not go into a second one."""

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """See construct_change_message."""

    # adding by hand

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        bound = request.POST if request.method == "POST" else None
        initial = {"scope": request.GET.get("scope", "")}
        form = AddForm(bound, scope=scope_field(self, request), initial=initial)
        if bound is not None and form.is_valid():
            try:
                scope = form.cleaned_data["scope"]
                now = timezone.now()
                row = bulk_actions.create(
                    scope, form.draft(now=now), now=now, actor=actor_of(request), reason=form.cleaned_data["reason"]
                )
                # What became of it: remembered, or part of what was there
                is_new = row.state == ChangeState.APPLIED and row.note not in Outcome.values
                _code, outcome = note_of(row) or ("", "")
                if is_new:
                    outcome = gettext("It is remembered, and can be recalled at once.")
                link = '{} <a class="mp-link underline" href="{}">{}</a>'
                label = gettext("Look at it or undo it")
                messages.success(request, format_html(link, outcome, batch_url(row.batch), label))
                if row.entry is None:
                    return HttpResponseRedirect(batch_url(row.batch))
                page = reverse("admin:memories_entry_change", args=[row.entry.pk])
                return HttpResponseRedirect(with_return_url(request, page))
            except InvalidDraft as refusal:
                field = str(refusal.field or "").partition(".")[0]
                form.add_error(field if field in form.fields else None, str(refusal))
            except PlatformError as refusal:
                form.add_error("scope", str(refusal))
        back = return_url(request, reverse("admin:memories_entry_changelist"))
        context = {"title": gettext("Add a memory"), "back": back, "form": form}
        return own_page(request, "admin/memories/add_entry.html", context, self)

    # the history: word by word, with the batch of each change; slots can be brought back, too

    def history_steps(self, row: Entry) -> list[HistoryStep]:
        revisions = history_of(row)
        batch_ids = {revision.batch_id for revision in revisions if revision.batch_id}
        batches = Batch.objects.filter(workspace_id=row.workspace_id).in_bulk(batch_ids)
        steps = []
        for revision in reversed(revisions):
            pairs = {name: pair for name, pair in revision.columns.items() if name != "content" or not revision.wording}
            lines = [field_change(Entry, name, *pair) for name, pair in pairs.items()]
            if revision.operation == Operation.INSERT:
                headline = gettext("Remembered")
            elif "expired_at" in revision.columns:
                is_over = revision.columns["expired_at"][1]
                headline = gettext("Taken out of use") if is_over else gettext("Brought back into use")
            elif "archived_at" in revision.columns and revision.columns["archived_at"][1]:
                headline = gettext("Archived")
            else:
                headline = gettext("Reworded") if revision.wording else pgettext("history", "Changed")
            steps.append(
                HistoryStep(
                    version=revision.version,
                    at=revision.at,
                    actor=revision.actor,
                    headline=headline,
                    lines=lines + [slot_change(name, *pair) for name, pair in revision.slots.items()],
                    wording=[] if is_secret(row) else revision.wording,
                    batch=batches.get(revision.batch_id) if revision.batch_id else None,
                    is_present=revision.version == row.version,
                )
            )
        return steps

    def differences(self, row: Entry, version: int) -> dict[str, tuple[Any, Any]]:
        """Words, attributes and slots; liveness has its own verbs."""
        return entries.differences(row, version)

    def difference_line(self, name: str, was: Any, present: Any) -> FieldChange:
        if name.startswith(SLOT_FIELD):
            return slot_change(name.removeprefix(SLOT_FIELD), present, was)
        return field_change(Entry, name, present, was)

    def revert_question(self, row: Entry, version: int, pairs: dict[str, tuple[Any, Any]]) -> Question:
        text = gettext(
            "The entry gets back what is ticked. What it says now stays in the history. "
            "Whether it is in use does not change."
        )
        rows = [pairs.get("content", [row.content])[0]]
        return replace(super().revert_question(row, version, pairs), text=text, rows=rows)

    def revert(self, request: HttpRequest, row: Entry, version: int, values: dict[str, Any]) -> None:
        entries.revert(row, version, only=list(values), now=timezone.now(), actor=actor_of(request))

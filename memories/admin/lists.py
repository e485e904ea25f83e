"""What lists of the admin share: filters, saved views, a search by words, and the list as a file."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from io import StringIO
from typing import Any
from uuid import UUID

from django.contrib.admin.options import IncorrectLookupParameters
from django.db import connection
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils import timezone
from django.utils.timezone import localtime
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter, DropdownFilter, RangeDateFilter, TextFilter
from unfold.utils import parse_date_str

from memories.admin.access import in_workspaces
from memories.admin.auditing import note
from memories.admin.pages import BoundedChangeList, admin_url
from memories.audit.models import AuditEvent
from memories.choices import Due, Origin, Suspicion, Verification
from memories.language import text
from memories.lifecycle import expiry
from memories.models import Batch, Policy, Scope
from memories.models.state import State, in_state
from memories.staff.rights import needs, workspaces_of
from memories.staff.roles import Right
from memories.tenancy import row_level_security

Condition = Q | Callable[[HttpRequest], Q]


def resolve(condition: Condition, request: HttpRequest) -> Q:
    """The condition as it stands for a request."""
    return condition if isinstance(condition, Q) else condition(request)


def condition_filter(name: Any, parameter: str, options: Mapping[str, tuple[Any, Condition]]) -> type[DropdownFilter]:
    """A filter that offers conditions: by the value in the address, the label of each and the condition itself."""

    class ConditionFilter(DropdownFilter):
        title = name
        parameter_name = parameter

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
            return [(value, label) for value, (label, _condition) in options.items()]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            if self.value() not in options:
                return queryset
            return queryset.filter(resolve(options[self.value()][1], request))

    return ConditionFilter


def state_condition(state: State) -> Condition:
    """That an entry is in a state now, by the policies of its workspace."""
    return lambda request: in_state(state, Policy.objects.over(timezone.now()))


def due_condition(due: Due) -> Condition:
    """That an entry is due now, for this reason."""
    return lambda request: expiry.due(due, timezone.now(), Policy.objects.over)


def expired_last_night(request: HttpRequest, now: datetime, right: Right = Right.READ) -> QuerySet[Batch]:
    """The batches of the expiry job of the last day, in the workspaces where this person holds the right."""
    where = workspaces_of(request, right)
    batches: QuerySet[Batch] = in_workspaces(expiry.expiry_batches(since=now - expiry.NIGHT), where)
    return batches


def last_night_condition(request: HttpRequest) -> Q:
    """That the nightly job expired an entry within the last day."""
    return expiry.is_expired_by(expired_last_night(request, timezone.now()))


#: Where entries stand now.
StateFilter = condition_filter(
    _("state"), "state", {state.value: (state.label, state_condition(state)) for state in State}
)
#: What somebody should look at, and what the job took out last.
DueFilter = condition_filter(
    _("due"),
    "due",
    {due.value: (due.label, due_condition(due)) for due in Due}
    | {"last_night": (_("Expired last night"), last_night_condition)},
)
#: Which layer of the memory; only facts have one.
TierFilter = condition_filter(
    _("tier"),
    "tier",
    {
        "1": (_("1 · profile"), Q(tier=1)),
        "2": (_("2 · knowledge"), Q(tier=2)),
        "none": (_("None"), Q(tier__isnull=True)),
    },
)


#: What no second reading has borne out.
VerificationFilter = condition_filter(
    _("verification"),
    "verification",
    {value: (Verification(value).label, Q(verification=value)) for value in filter(None, Verification.values)}
    | {"none": (Verification.NONE.label, Q(verification=Verification.NONE))},
)

#: What speaks to a model, by how.
SuspicionFilter = condition_filter(
    _("suspect"),
    "suspect",
    {value: (Suspicion(value).label, Q(suspect=value)) for value in filter(None, Suspicion.values)}
    | {"any": (_("In any way"), ~Q(suspect=""))},
)


#: By the least trusted of all it rests on: what rests on a tool, whoever repeated it.
TrustFilter = condition_filter(
    _("lowest source"), "trust", {origin.value: (origin.label, Q(trust=origin)) for origin in Origin}
)


class TypedFilter(TextFilter):
    """By what somebody types: a list of all values would be a scan of the table."""


def text_filter(
    name: Any, parameter: str, narrowed: Callable[[Any, str, HttpRequest], QuerySet[Any]] | None = None
) -> type[TypedFilter]:
    """A filter by what is typed; without `narrowed` by the exact value of the column the parameter is called after."""

    class NamedFilter(TypedFilter):
        title = name
        parameter_name = parameter

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            text = (self.value() or "").strip().replace("\0", "")
            if not text:
                return queryset
            return narrowed(queryset, text, request) if narrowed else queryset.filter(**{parameter: text})

    return NamedFilter


ProjectFilter = text_filter(_("project"), "project")
#: By whom or what it is about.
SubjectFilter = text_filter(_("about"), "subject", lambda rows, name, _request: rows.about(name))
#: By who said it: the platform's id of them, or what people call them.
SpeakerFilter = text_filter(
    _("said by"), "by", lambda rows, who, _request: rows.filter(Q(sender_id=who) | Q(speaker=who))
)
#: By who may hear it: the key of a memory, or of a group that may hear a person's. Not by a join: it would look up the
#: scope of every memory that is passed over.
AudienceFilter = text_filter(
    _("heard in"),
    "heard",
    lambda rows, where, _request: rows.filter(
        Q(scope__in=Scope.objects.filter(key=where).values("pk")) | Q(chats__contains=[where])
    ),
)


class ReachableFilter(AutocompleteSelectFilter):
    """A related row by its name, among those this person may see; unfold's own would name any row whose id is asked."""

    def choices(self, changelist: Any) -> Iterator[dict[str, Any]]:
        for choice in super().choices(changelist):
            choice["form"].fields[self.lookup_kwarg].queryset = self.model_admin.reachable(self.field, self.request)
            yield choice


class DaysFilter(RangeDateFilter):
    """From one day to another, both included, by the clock the operator reads: a range of the index."""

    #: What is compared, where it is not the field itself.
    column = ""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        moment = self.column or self.field_path
        for end, lookup, days in (("from", "gte", 0), ("to", "lt", 1)):
            # what was typed, if it is a day
            day: date | None = parse_date_str(str(self.used_parameters.get(f"{self.parameter_name}_{end}") or ""))
            if day and 1 < day.year < 9_999:
                midnight = timezone.make_aware(datetime.combine(day + timedelta(days=days), time.min))
                queryset = queryset.filter(**{f"{moment}__{lookup}": midnight})
        return queryset


#: Names the view in the address of the list.
_PARAMETER = "view"


@dataclass(frozen=True)
class SavedView:
    """A condition with its label; `has_one_state` where every row is in the same state."""

    label: Any
    condition: Condition
    has_one_state: bool = False


def saved_view(views: Mapping[str, SavedView], request: HttpRequest) -> SavedView | None:
    """The view the address of the list names; None: all rows."""
    return views.get(request.GET.get(_PARAMETER, ""))


class ViewedChangeList(BoundedChangeList):
    """A list with saved views; `view_parameters` are parameters of the address that a view takes the place of."""

    saved_views: Mapping[str, SavedView]
    all_rows: Any
    view_parameters: tuple[str, ...]
    request: HttpRequest

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """The rows that are in the view of the request."""
        self.request = request
        rows, view = super().get_queryset(request, exclude_parameters), saved_view(self.saved_views, request)
        return rows.filter(resolve(view.condition, request)) if view else rows

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        self.describe_rows(self.result_list)

    def describe_rows(self, rows: Sequence[Any]) -> None:
        """Give rows what the columns of the list read of them."""
        workspaces = workspaces_of(self.request)
        for row in rows:
            row.is_one_of_several = workspaces is None or len(workspaces) > 1  # then the workspace is named
            row.searched = self.query

    def get_filters_params(self, params: Any = None) -> dict[str, Any]:
        return {name: value for name, value in super().get_filters_params(params).items() if name != _PARAMETER}

    @property
    def view_tabs(self) -> list[tuple[str, Any, bool]]:
        """All rows and each view as links that keep the search and the other filters, and whether it is shown."""
        labels = {"": self.all_rows} | {name: view.label for name, view in self.saved_views.items()}
        view_name = self.params.get(_PARAMETER, "")
        view_name = view_name if view_name in labels else ""
        return [
            (self.get_query_string({_PARAMETER: name or None}, self.view_parameters), label, name == view_name)
            for name, label in labels.items()
        ]


#: So many rows are looked up by their ids; of more the newest are read until a page is full.
FEW = 10_000
QUOTED = re.compile(r'["“”]([^"“”]+)["“”]')


@dataclass(frozen=True)
class WordIndex:
    """Where the words of a kind of rows stand: the column of their text, and the function that asks their index."""

    column: str
    function: str  # of the database; named here, never by a request
    has_characters: bool = False  # single Chinese characters are terms as well


ENTRIES = WordIndex("content", "memplatform_entries_with_terms")
TRACES = WordIndex("message", "memplatform_traces_with_terms", has_characters=True)


class WordSearch:
    """For the admin of rows whose words are indexed."""

    word_index = ENTRIES

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        return (search(queryset, search_term, self.word_index) if search_term.strip() else queryset), False


def search(rows: QuerySet[Any], query: str, index: WordIndex = ENTRIES) -> QuerySet[Any]:
    """Rows with every word of the query: English words by their stem, Chinese ones by each pair of characters.

    An id finds its row. What stands in quotation marks is looked for as it is written, as are words too common to be
    in the index; that reads the texts, after the index has narrowed them down.
    """
    query = query.strip()
    if len(query) >= 32:
        with suppress(ValueError):  # words
            return rows.filter(uid=UUID(query))
    characters = {char for char in text.shingles(query) if index.has_characters and char in text.characters(char)}
    words = {word for word in text.shingles(query) if _is_indexed(word)}
    terms = {text.dimension_of(char) for char in characters}
    for word in words:
        # A pair of characters is a term of every entry that holds it, however the words around it were cut
        whole, parts = text.dimension_of(word), set(text.terms(word))
        terms |= {whole} if whole in parts else parts
    if terms:
        # The rows with all these terms in the workspaces of the request; the many are soon found among the newest
        pks: list[int] | None = None
        if row_level_security.is_inside():
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT {index.function}(%s, %s)", [sorted(terms), FEW + 1])  # noqa: S608 (a name of ours)
                pks = cursor.fetchone()[0]
        is_few = pks is not None and len(pks) <= FEW
        rows = rows.filter(pk__in=pks) if is_few else rows.filter(terms__contains=sorted(terms))
    loose = [word for word in text.normalise(query).split() if not _is_indexed(word) and word not in characters]
    for phrase in [*QUOTED.findall(query), *loose]:
        rows = rows.filter(**{f"{index.column}__icontains": phrase.replace("\0", "")})
    return rows


def _is_indexed(word: str) -> bool:
    """Neither a single Chinese character, which is a term only where it is a word, nor a word found everywhere."""
    return bool(text.terms(word)) and (len(word) > 1 or word.isascii())


#: Rows of one file: it is made while a person waits.
ROWS_MOST = 10_000
#: What a spreadsheet would take for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table for spreadsheets: times by the clock of the page, and nothing they would take for a formula."""
    page = StringIO()
    page.write("\ufeff")  # so that spreadsheets read it as UTF-8
    lines = csv.writer(page)
    lines.writerow(columns)
    for row in rows:
        cells = [
            localtime(value).isoformat(timespec="seconds")
            if isinstance(value, datetime)
            else ("" if value is None else str(value))
            for value in row
        ]
        lines.writerow(f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells)
    return page.getvalue()


def saved_file(content: str | bytes, name: str, content_type: str) -> HttpResponse:
    """A file that the browser saves under this name, and no cache keeps."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return HttpResponse(content, content_type=content_type, headers=headers)


class CsvList:
    """For the admin of a list that leaves as it is narrowed; noted like anything else that leaves."""

    csv_name: str
    csv_columns: Sequence[str]
    admin_site: Any
    opts: Any
    get_changelist_instance: Any

    def csv_rows(self, changelist: Any, rows: list[Any]) -> Iterable[Iterable[Any]]:
        """The values of rows of the list, in the order of the columns."""
        raise NotImplementedError

    def get_urls(self) -> list[Any]:
        page = self.admin_site.admin_view(self.as_csv)
        own = path("csv/", page, name=f"{self.opts.app_label}_{self.opts.model_name}_csv")
        return [own, *super().get_urls()]  # type: ignore[misc]

    @needs(Right.EXPORT)
    def as_csv(self, request: HttpRequest) -> HttpResponse:
        """The first ROWS_MOST rows, in the workspaces of the right; the name of the file says when there are more."""
        try:
            changelist = self.get_changelist_instance(request)
        except IncorrectLookupParameters:
            return HttpResponseRedirect(admin_url(self.opts.model))
        rows = list(in_workspaces(changelist.queryset, workspaces_of(request, Right.EXPORT))[: ROWS_MOST + 1])
        first = f"-first-{ROWS_MOST}" if len(rows) > ROWS_MOST else ""
        text = csv_text(self.csv_columns, self.csv_rows(changelist, rows[:ROWS_MOST]))
        narrowed = sorted(set(request.GET) - {""})  # by what, not to which values: those may be people's words
        about = f"{self.csv_name}.csv"
        note(request, AuditEvent.EXPORTED, about=about, details={"text": ", ".join(narrowed)[:200]})
        return saved_file(text, f"{self.csv_name}{first}.csv", "text/csv; charset=utf-8")

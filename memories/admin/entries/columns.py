"""The columns of the list of entries: which a person chose, less those the filters make the same in every row."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.timezone import localtime
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from memories.admin.access import Colors
from memories.admin.entries.highlighting import excerpt
from memories.admin.entries.saved_views import SAVED_VIEWS
from memories.admin.masking import MASK, is_secret
from memories.admin.return_link import return_url
from memories.admin.saved_views import saved_view
from memories.admin.spreadsheet import CsvList
from memories.models import Entry
from memories.models.state import State
from memories.rights import needs
from memories.tenancy.roles import Right

#: Keeps the choice in the browser, for a year.
COOKIE, COOKIE_SECONDS = "memory_columns", 365 * 24 * 3600
#: Of a memory in the list; two lines hold fewer, a phone's three about as many.
SHOWN_CHARS = 240
ALWAYS = "text"
DEFAULT = ("place", "colored_state", "created")
CHOICES: Mapping[str, Any] = {
    "place": _("scope, type and category"),
    "colored_state": _("state"),
    "created": _("created"),
    "ends": _("ends"),
    "recalled": _("last recalled"),
    "checked": _("checked"),
    "importance": _("importance"),
    "project": _("project"),
    "speaker": _("speaker"),
    "source": _("source"),
}
#: Filters that leave one value: what they make the same in every row need not stand in each.
_SCOPE, _TYPE, _CATEGORY = "scope__id__exact", "type__exact", "category__exact"
_STATE, _SOURCE, _PROJECT = "state", "source__exact", "project"

COLORS = Colors(
    {
        State.LIVE.label: "success",
        State.DUE.label: "warning",
        State.EXPIRED.label: "danger",
        State.ARCHIVED.label: "info",
        State.SUPERSEDED.label: "info",
        State.QUARANTINED.label: "danger",
        State.SUPPRESSED.label: "danger",
    }
)
_PIN = '<span class="material-symbols-outlined mp-pin" title="{}">keep</span> '


def chosen(request: HttpRequest) -> list[str]:
    """The columns of this browser, in the order of CHOICES; as they are at first where none were chosen."""
    named = request.COOKIES.get(COOKIE)
    wanted = DEFAULT if named is None else named.split(".")
    return [name for name in CHOICES if name in wanted]


def constant(request: HttpRequest) -> set[str]:
    """What the filters of the list make the same in every row, by the names of columns and parts of them."""
    view, filtered = saved_view(SAVED_VIEWS, request), {name for name, value in request.GET.items() if value}
    parts = {name: name in filtered for name in (_SCOPE, _TYPE, _CATEGORY)}
    same = {
        "colored_state": _STATE in filtered or bool(view and view.has_one_state),
        "source": _SOURCE in filtered,
        "project": _PROJECT in filtered,
        "place": all(parts.values()),
    }
    return {name for name, is_same in (parts | same).items() if is_same}


def shown(request: HttpRequest) -> list[str]:
    """The columns of the list for this request."""
    same = constant(request)
    return [ALWAYS, *(name for name in chosen(request) if name not in same)]


@needs(Right.READ)
def choose(request: HttpRequest) -> HttpResponse:
    """Keep the columns that were ticked, and go back to the list as it was narrowed."""
    back = return_url(request, reverse("admin:memories_entry_changelist"))
    ticked = [name for name in CHOICES if name in request.POST.getlist("column")]
    answer = HttpResponseRedirect(back)
    answer.set_cookie(
        COOKIE,
        ".".join(ticked),
        max_age=COOKIE_SECONDS,
        path=reverse("admin:index"),
        httponly=True,
        samesite="Lax",
        secure=request.is_secure(),
    )
    return answer


def beneath(first: str, second: str) -> str:
    """A cell of two lines, the second of which is less important; of one where the other is empty."""
    if not (first and second):
        return format_html('<span class="mp-first-line">{}</span>', first or second)
    return format_html('<span class="mp-first-line">{}</span><span class="mp-beneath">{}</span>', first, second)


def _moment(at: Any) -> str:
    return date_format(localtime(at), "SHORT_DATETIME_FORMAT") if at else "—"


class EntryColumns(CsvList):
    """The cells of the list; rows come with what EntryList gives them."""

    csv_name = "memories"
    csv_columns = (
        "id", "workspace", "scope", "state", "type", "tier", "category", "project", "topic", "importance", "pinned",
        "content", "speaker", "chat", "source", "created", "last stated", "ends", "checked", "checked by", "recalled",
        "last recalled",
    )  # fmt: skip

    def csv_rows(self, changelist: Any, rows: list[Any]) -> Iterator[Iterable[Any]]:
        changelist.describe_rows(rows)
        return map(_cells, rows)

    @display(description=_("content"))
    def text(self, entry: Any) -> str:
        """Two lines of it, the searched words marked; the style sheet cuts what is longer."""
        pin = format_html(_PIN, gettext("Pinned")) if entry.pinned else ""
        shown = MASK if is_secret(entry) else excerpt(entry.content, entry.searched, SHOWN_CHARS)
        return format_html('<span class="mp-clamp">{}{}</span>', pin, shown)

    @display(description=_("scope"))
    def place(self, entry: Any) -> str:
        """The scope, and below it the type and category; without what is the same in every row."""
        several = [entry.workspace.name] if entry.is_one_of_several else []
        scope = [] if _SCOPE in entry.same else [*several, str(entry.scope)]
        kind = [] if _TYPE in entry.same else [entry.get_type_display()]
        category = [] if _CATEGORY in entry.same or not entry.category else [entry.get_category_display()]
        return beneath(" · ".join(scope), " · ".join([*kind, *category]))

    @display(description=_("state"), label=COLORS)
    def colored_state(self, entry: Any) -> Any:
        return entry.state.label

    @display(description=_("created"), ordering="created_at")
    def created(self, entry: Entry) -> str:
        """When it was written, and below it how often it was served."""
        access = getattr(entry, "access", None)
        times = access.access_count if access else 0
        return beneath(
            _moment(entry.created_at), ngettext("recalled %(n)d time", "recalled %(n)d times", times) % {"n": times}
        )

    @display(description=_("ends"))
    def ends(self, entry: Any) -> str:
        """When it ends, by its own term or its policy."""
        return _moment(entry.ends_at)

    @display(description=_("last recalled"))
    def recalled(self, entry: Entry) -> str:
        access = getattr(entry, "access", None)
        return _moment(access.last_accessed if access else None)

    @display(description=_("checked"))
    def checked(self, entry: Entry) -> str:
        """When a person last looked at it, and who."""
        return beneath(_moment(entry.verified_at), entry.verified_by.removeprefix("user:"))


def _cells(entry: Any) -> Iterator[Any]:
    """What a spreadsheet is given of an entry."""
    access = getattr(entry, "access", None)
    yield from (entry.uid, entry.workspace.name, entry.scope.key, entry.state.value, entry.type, entry.tier)
    yield from (entry.category, entry.project, entry.topic, entry.importance, "yes" if entry.pinned else "no")
    yield from (
        MASK if is_secret(entry) else entry.content,
        entry.speaker or entry.sender_id,
        entry.chat_id,
        entry.source,
    )
    yield from (entry.created_at, entry.stated_at, entry.ends_at, entry.verified_at, entry.verified_by)
    yield from (access.access_count, access.last_accessed) if access else (0, None)

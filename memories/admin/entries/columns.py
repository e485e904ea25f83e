"""The list of entries: its saved views, the columns a person chose, and the words that were searched for, marked."""

import re
from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.timezone import localtime
from django.utils.translation import gettext_lazy as _

from memories.admin.access import Colors
from memories.admin.lists import (
    QUOTED,
    SavedView,
    due_condition,
    last_night_condition,
    resolve,
    saved_view,
    state_condition,
)
from memories.admin.pages import return_url
from memories.choices import Category, Due
from memories.entries import CONTRADICTED_BY
from memories.language import text
from memories.language.text import CJK
from memories.models import EntryAccess, Slot, Workspace
from memories.models.entry import SECRET_SUBTYPE
from memories.models.state import LIVE, State
from memories.staff.rights import needs
from memories.staff.roles import Right

#: What was checked longer ago is worth another look.
CHECKED_LONG_AGO = timedelta(days=180)


def _is_disputed(request: HttpRequest) -> Q:
    """Live, with something newer against it; the workspaces are named because the index of slots begins with them."""
    marks = Slot.objects.filter(workspace__in=Workspace.objects.values("pk"), name=CONTRADICTED_BY)
    return LIVE & Q(pk__in=marks.values("entry"))


SAVED_VIEWS: Mapping[str, SavedView] = {
    "live": SavedView(State.LIVE.label, state_condition(State.LIVE), has_one_state=True),
    "due": SavedView(
        State.DUE.label,
        lambda request: resolve(due_condition(Due.OVER), request) | resolve(due_condition(Due.REVIEW), request),
    ),
    "last_night": SavedView(_("Expired last night"), last_night_condition, has_one_state=True),
    "archived": SavedView(State.ARCHIVED.label, state_condition(State.ARCHIVED), has_one_state=True),
    "pinned": SavedView(_("Pinned"), LIVE & Q(pinned=True)),
    "disputed": SavedView(_("Disputed"), _is_disputed),
    "never": SavedView(
        _("Never recalled"),
        lambda request: LIVE & ~Q(Exists(EntryAccess.objects.filter(entry=OuterRef("pk"), access_count__gt=0))),
    ),
    "secrets": SavedView(
        _("Looks like a secret"), LIVE & Q(category=Category.CREDENTIAL, subtype__startswith=SECRET_SUBTYPE)
    ),
    "suspect": SavedView(_("Suspect"), LIVE & ~Q(suspect="")),
    "checked": SavedView(
        _("Checked long ago"), lambda request: LIVE & Q(verified_at__lte=timezone.now() - CHECKED_LONG_AGO)
    ),
}


#: Letters that fit before a line ends, and how many stand before the first match, where it comes later; a Chinese
#: character is as wide as two.
_LINE, _BEFORE = 100, 40
_CHINESE = re.compile(rf"[{CJK}]+")
_CHINESE_CHARACTER = re.compile(rf"[{CJK}]")


@lru_cache(maxsize=64)
def _pattern(query: str) -> re.Pattern[str] | None:
    """What the words of a query look like in a text: phrases as written, English words by their stem, Chinese parts."""
    phrases = {re.escape(phrase.strip()) for phrase in QUOTED.findall(query) if phrase.strip()}
    parts: set[str] = set()
    for run in text.normalise(query).split():
        if _CHINESE.fullmatch(run):
            parts |= {re.escape(run), *(re.escape(run[n : n + 2]) for n in range(len(run) - 1))}
        else:
            stem = re.escape(text.stem(run)) + (r"[a-z]{0,5}" if run.isalpha() and len(run) > 3 else "")
            parts |= {rf"(?<![a-z\d]){form}(?![a-z\d])" for form in (stem, re.escape(run))}
    whole = "|".join(part for group in (phrases, parts) for part in sorted(group, key=len, reverse=True))
    return re.compile(whole, re.IGNORECASE) if whole else None


def excerpt(content: str, query: str, limit: int) -> SafeString:
    """At most `limit` characters of a text as HTML, the matches of a query marked; cut so that the first is seen."""
    pattern = _pattern(query) if query.strip() else None
    first = pattern.search(content) if pattern else None
    start = 0
    if first:
        # Where to cut, so that the first match stands in the first line
        wide = len(_CHINESE_CHARACTER.findall(content, 0, first.end()))
        if first.end() + wide > _LINE:
            start = max(first.start() - (_BEFORE // 2 if wide > first.end() // 2 else _BEFORE), 0)
    window = content[start : start + limit]
    pieces, end = ["…" if start else ""], 0
    for match in pattern.finditer(window) if pattern else ():
        if match.end() > match.start():
            pieces += [escape(window[end : match.start()]), "<mark>", escape(match.group()), "</mark>"]
            end = match.end()
    pieces += [escape(window[end:]), "…" if start + limit < len(content) else ""]
    return mark_safe("".join(pieces))  # noqa: S308 (escaped)


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
    "voice": _("comes from"),
}
#: Filters that leave one value: what they make the same in every row need not stand in each.
SCOPE, TYPE, CATEGORY = "scope__id__exact", "type__exact", "category__exact"
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


def chosen(request: HttpRequest) -> list[str]:
    """The columns of this browser, in the order of CHOICES; as they are at first where none were chosen."""
    cookie = request.COOKIES.get(COOKIE)
    chosen_names = DEFAULT if cookie is None else cookie.split(".")
    return [name for name in CHOICES if name in chosen_names]


def constant(request: HttpRequest) -> set[str]:
    """What the filters of the list make the same in every row, by the names of columns and parts of them."""
    view, filtered = saved_view(SAVED_VIEWS, request), {name for name, value in request.GET.items() if value}
    parts = {name: name in filtered for name in (SCOPE, TYPE, CATEGORY)}
    same = {
        "colored_state": _STATE in filtered or bool(view and view.has_one_state),
        "source": _SOURCE in filtered,
        "project": _PROJECT in filtered,
        "place": all(parts.values()),
    }
    return {name for name, is_same in (parts | same).items() if is_same}


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


def short_moment(at: Any) -> str:
    return date_format(localtime(at), "SHORT_DATETIME_FORMAT") if at else "—"

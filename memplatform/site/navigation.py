"""The side bar: at most twelve places by job, the rest behind «More»; and the palette (Ctrl-K), which leads to all.

Both show what somebody may open and nothing else.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.http import HttpRequest
from django.urls import reverse
from django.utils import translation
from django.utils.formats import date_format
from django.utils.text import capfirst
from django.utils.timezone import localtime
from django.utils.translation import gettext_lazy as _
from unfold.dataclasses import SearchResult

from channels_app.models import Person
from channels_app.people import seen
from channels_app.people.admin import page_url
from memories.admin.access import visible_workspaces
from memories.admin.actions import Place
from memories.admin.labels import batch_name, scope_in_words
from memories.models import Batch, Entry, Scope
from memories.staff.rights import holds, workspaces_of
from memories.staff.roles import Right
from sessions_app.models import Session

#: Places of the side bar outside «More».
MOST = 12


@dataclass(frozen=True)
class Page:
    """A page that is no table's: what it is called, its icon, its address by name, and the right it takes.

    Of none: superusers alone, whatever their rights elsewhere.
    """

    title: Any
    icon: str
    name: str
    right: Right | None = Right.READ
    query: str = ""

    def address(self) -> str:
        return reverse(self.name) + self.query

    def admits(self, request: HttpRequest) -> bool:
        """Whether this person may open it."""
        return workspaces_of(request) is None if self.right is None else holds(request, self.right)


HOME = Page(_("Home"), "home", "admin:index")
REVIEW = Page(_("Review"), "fact_check", "review", Right.CURATE)
QUARANTINE = Page(_("Quarantine"), "coronavirus", "quarantine", Right.CURATE)
LAB = Page(_("Recall lab"), "science", "lab")
CONNECT = Page(_("Connect a bot"), "add_link", "connect_bot", Right.KEYS)
LOG = Page(_("Log"), "terminal", "log", None)
IMPORT = Page(_("Import"), "upload_file", "import", Right.OPERATE)
#: By job, in the order of the side bar; a table by (model, icon). Of these the first twelve that somebody may open.
JOBS: list[tuple[Any, list[Page | tuple[str, str]]]] = [
    ("", [HOME, CONNECT, IMPORT]),
    (
        _("What is remembered"),
        [
            ("memories.entry", "psychology"),
            ("channels_app.person", "face"),
            ("sessions_app.session", "forum"),
            ("memories.recalltrace", "receipt_long"),
        ],
    ),
    (_("What waits and what changed"), [REVIEW, QUARANTINE, ("memories.batch", "stacks")]),
    (
        _("Rules and people"),
        [
            ("memories.policy", "tune"),
            ("memories.member", "group"),
            ("memories.auditrecord", "policy"),
            ("memories.bot", "smart_toy"),
        ],
    ),
]
#: Behind «More»: all tables that do not stand above, in sections of (model, icon), and the page of the log.
SECTIONS: list[tuple[Any, list[Page | tuple[str, str]]]] = [
    (
        _("Memory"),
        [
            ("memories.scope", "folder_shared"),
            ("memories.filestate", "folder_open"),
            ("memories.dailyevent", "calendar_month"),
            LAB,
            ("memories.pinnedtest", "push_pin"),
        ],
    ),
    (
        _("Settings"),
        [
            ("memories.bot", "smart_toy"),
            ("channels_app.connection", "cable"),
            ("channels_app.channel", "hub"),
            ("memories.oauthgrant", "handshake"),
            ("memories.webhook", "webhook"),
            ("memories.workspace", "apartment"),
            ("memories.member", "group"),
            ("memories.invitation", "person_add"),
            ("memories.erasure", "person_remove"),
            ("memories.auditrecord", "policy"),
        ],
    ),
    (
        _("Machine room"),
        [
            ("memories.extractionbatch", "inbox"),
            ("memories.refusedfact", "block"),
            ("channels_app.pathcomparison", "compare_arrows"),
            ("channels_app.replayedrecord", "cloud_sync"),
            ("channels_app.incomingmessage", "call_received"),
            ("channels_app.outgoingmessage", "call_made"),
            ("memories.jobrun", "event_repeat"),
            ("memories.webhookdelivery", "outbox"),
            ("memories.spend", "payments"),
            ("django_q.schedule", "schedule"),
            ("django_q.failure", "error"),
            ("operations.host", "dns"),
            ("operations.heartbeat", "ecg_heart"),
            LOG,
            ("auth.user", "person"),
        ],
    ),
]


def side_bar(site: Any, request: HttpRequest) -> list[dict[str, Any]]:
    """The groups of the side bar; those behind «More» are marked so, and one of them that is open opens it."""
    groups: list[dict[str, Any]] = []
    links: set[str] = set()
    for title, places in JOBS:
        items = [item for item in (_item(site, place, request) for place in places) if item["has_permission"]]
        items = items[: max(MOST - len(links), 0)]
        links |= {item["link"] for item in items}
        if items:
            groups.append({"title": title, "items": items})
    for title, models in SECTIONS:
        rest = [item for item in (_item(site, place, request) for place in models) if item["link"] not in links]
        if items := [item for item in rest if item["has_permission"]]:
            groups.append({"title": title, "items": items, "is_more": True})
    return groups


def is_more_open(groups: Iterable[dict[str, Any]]) -> bool:
    """Whether the page that is open stands behind «More»."""
    return any(item["active"] for group in groups if group.get("is_more") for item in group["items"])


def _item(site: Any, place: Page | tuple[str, str], request: HttpRequest) -> dict[str, Any]:
    if isinstance(place, Page):
        link = place.address()
        is_open, may, title, icon = request.path == link, place.admits(request), place.title, place.icon
    else:
        label, icon = place
        model_admin = site.get_model_admin(apps.get_model(label))
        link = reverse(f"admin:{label.replace('.', '_')}_changelist")
        is_open, may = request.path.startswith(link), model_admin.has_view_permission(request)
        title = capfirst(str(model_admin.opts.verbose_name_plural))
    return {"title": title, "icon": icon, "link": link, "active": is_open, "has_permission": may}


# pickers


class Autocomplete(AutocompleteJsonView):
    """What a picker offers while somebody types; of a memory whose it is, and not its key alone."""

    def serialize_result(self, obj: Any, to_field_name: str) -> dict[str, str]:
        result: dict[str, str] = super().serialize_result(obj, to_field_name)
        return {**result, "text": scope_in_words(obj)} if isinstance(obj, Scope) else result


# the palette

#: Rows of each kind the palette lists.
EACH = 8
_SEARCHED: tuple[Any, ...] = (Entry, Scope, Session, Batch)
#: Of the tables of the side bar, by their names.
_ICONS = dict(place for _title, places in (*JOBS, *SECTIONS) for place in places if not isinstance(place, Page))
#: Workspaces whose people are searched.
_WORKSPACES = 5
#: What is done from anywhere, beside what the lists declare.
DOINGS = (
    CONNECT,
    IMPORT,
    Page(_("Add a memory"), "add", "admin:memories_entry_add", Right.CURATE),
    Page(_("Restore what last night took"), "settings_backup_restore", "admin:memories_entry_changelist",
         Right.CURATE, "?view=last_night"),
    Page(_("Issue a key"), "key", "admin:memories_bot_changelist", Right.KEYS),
    Page(_("Quarantine what a bot wrote in a time"), "coronavirus", "quarantine_new", Right.CURATE),
    Page(_("Undo a batch"), "undo", "admin:memories_batch_changelist", Right.OPERATE, "?view=applied"),
    Page(_("Erase a person"), "person_remove", "admin:memories_erasure_changelist", Right.ERASE),
    Page(_("Choose the time zone of all pages"), "schedule", "admin:index", Right.READ, "#period"),
    Page(_("Change password"), "password", "admin:password_change"),
    Page(_("Second factor"), "phonelink_lock", "admin:second_factor"),
)  # fmt: skip


def results(site: Any, request: HttpRequest, query: str) -> Iterator[SearchResult]:
    """What somebody may open or do by a part of its name, then the first rows of each kind by their words."""
    # Pages and what is done, by their names in the language of the page and in English
    words = query.lower().split()
    seen_links: set[str] = set()
    for title, description, icon, link, may in _destinations(site):
        names = str(title)
        with translation.override("en"):
            names = f"{names} {title}".lower()
        if link in seen_links or not all(word in names for word in words) or not may(request):
            continue
        seen_links.add(link)
        yield SearchResult(title=capfirst(str(title)), description=str(description), link=link, icon=icon)
    # People by name or id; of many workspaces those of the first ones by name
    if site.get_model_admin(Person).has_view_permission(request):
        for workspace in visible_workspaces(request)[:_WORKSPACES]:
            for person in seen.search(workspace.pk, query.replace("\0", ""))[:EACH]:
                link = page_url(workspace.pk, person.peers[0])
                description = f"{_('person')} · {workspace}"
                yield SearchResult(title=person.title, description=description, link=link, icon="face")
    for model in _SEARCHED:
        label, model_admin = model._meta.label_lower, site.get_model_admin(model)
        if not model_admin.has_view_permission(request):
            continue
        rows, _is_ambiguous = model_admin.get_search_results(request, model_admin.get_queryset(request), query)
        for row in rows[:EACH]:
            yield SearchResult(
                title=_title(row),
                description=str(model_admin.opts.verbose_name),
                link=reverse(f"admin:{label.replace('.', '_')}_change", args=[row.pk]),
                icon=_ICONS[label],
            )


def _title(row: Any) -> str:
    if isinstance(row, Batch):
        return f"{batch_name(row)} · {date_format(localtime(row.created_at), 'SHORT_DATETIME_FORMAT')}"
    return scope_in_words(row) if isinstance(row, Scope) else str(row)


def _destinations(site: Any) -> Iterator[tuple[Any, Any, str, str, Callable[[HttpRequest], bool]]]:
    """Everything the palette leads to by name: title, kind, icon, address, and who may."""
    page, action = _("page"), _("action")
    for one in (HOME, REVIEW, QUARANTINE, LAB, LOG):
        yield one.title, page, one.icon, one.address(), one.admits
    for model_admin in site._registry.values():
        opts = model_admin.opts
        label, name = opts.label_lower, f"admin:{opts.label_lower.replace('.', '_')}"
        icon = _ICONS.get(label, "tag")
        yield opts.verbose_name_plural, page, icon, reverse(f"{name}_changelist"), model_admin.has_view_permission
        for each in model_admin.declared:
            if each.place is Place.LIST:
                allowed = getattr(model_admin, f"has_{each.right}_permission")
                yield each.label, action, each.icon or "bolt", reverse(f"{name}_{each.name}"), allowed
    for one in DOINGS:
        yield one.title, action, one.icon, one.address(), one.admits

"""Access in the admin: staff see the workspaces they are members of, superusers all.

The role of a membership says what they may do there (memories.staff.rights); Django's own permission tables are not
read. The site takes no ModelAdmin that is not restricted so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any

from django.contrib import admin as django_admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import DateTimeField, Field, Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from unfold.admin import ModelAdmin, TabularInline

from memories.admin.actions import WithActions
from memories.admin.auditing import Audited
from memories.admin.own_views import OwnViews
from memories.admin.pages import (
    RETURN_PARAMETER,
    BoundedChangeList,
    BoundedPaginator,
    actions_with_return_url,
    admin_url,
    moment_column,
    return_url,
)
from memories.models import Workspace
from memories.models.change import acting
from memories.staff.rights import NOTHING, Needs, holds, workspaces_of
from memories.staff.roles import Right


def in_workspaces(rows: Any, workspaces: frozenset[int] | None) -> Any:
    """The rows of these workspaces; None: of all."""
    return rows if workspaces is None else rows.filter(workspace_id__in=workspaces)


def workspace_choice(request: HttpRequest, right: Right = Right.READ) -> tuple[list[Workspace], Workspace | None]:
    """The workspaces where this person holds a right, by name, and the one that `?of=` names or the first.

    The parameter is taken out of the request: lists take what they do not know for a lookup.
    """
    lookups = request.GET.copy()
    workspace_id = lookups.pop("of", [""])[-1]
    request.GET = lookups  # type: ignore[assignment]
    mine = list(visible_workspaces(request, right))
    return mine, next((row for row in mine if str(row.pk) == workspace_id), mine[0] if mine else None)


def visible_workspaces(request: HttpRequest, right: Right = Right.READ) -> QuerySet[Workspace]:
    """The workspaces where this person holds a right, by name."""
    workspaces, rows = workspaces_of(request, right), Workspace.objects.order_by("name")
    return rows if workspaces is None else rows.filter(pk__in=workspaces)


def actor_of(request: HttpRequest) -> str:
    """The operator as history names them."""
    return f"user:{request.user.get_username()}"


def _asks(what: str) -> Callable[..., bool]:
    def has(self: Any, request: HttpRequest, obj: Any = None) -> bool:
        return bool(self.admits(request, what, obj))

    return has


class WorkspaceRestriction:
    """Restricts a ModelAdmin or an inline to the workspaces of the request."""

    #: The field of the row that holds its workspace's id; None: only superusers come here.
    workspace_field: str | None = "workspace_id"
    #: The right members need for what may be done here, and what superusers may do besides. Not named: refused.
    members_may: Needs = NOTHING
    superusers_may: Collection[str] = frozenset()
    admin_site: Any
    model: Any

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)  # type: ignore[misc]
        workspaces = workspaces_of(request)
        if workspaces is None:
            return rows
        if self.workspace_field is None:
            return rows.none()
        return rows.filter(**{f"{self.workspace_field}__in": workspaces})

    def get_field_queryset(self, db: str | None, db_field: Field[Any, Any], request: HttpRequest) -> QuerySet[Any]:
        return self.settable(db_field, request)

    def reachable(self, db_field: Field[Any, Any], request: HttpRequest) -> QuerySet[Any]:
        """The related rows somebody may name: those its own admin shows, and nothing where it has none."""
        model = db_field.remote_field.model  # type: ignore[union-attr]
        if self.admin_site.is_registered(model):
            rows: QuerySet[Any] = self.admin_site.get_model_admin(model).get_queryset(request)
            return rows
        every: QuerySet[Any] = model._default_manager.all()
        return every if workspaces_of(request) is None else every.none()

    def settable(self, db_field: Field[Any, Any], request: HttpRequest) -> QuerySet[Any]:
        """What a related field may be set to: of the workspaces where this person may add or change such rows."""
        rows = self.reachable(db_field, request)
        right = self.members_may.get("add") or self.members_may.get("change")
        workspaces = workspaces_of(request, right) if right else frozenset()
        related = db_field.remote_field.model  # type: ignore[union-attr]
        site_admin = self.admin_site._registry.get(related)
        field = getattr(site_admin, "workspace_field", None)
        return rows.filter(**{f"{field}__in": workspaces}) if field and workspaces is not None else rows

    def right_for(self, what: str) -> Right | None:
        """The right that one of Django's words takes here, or the right of that name."""
        if what in self.members_may:
            return self.members_may[what]
        return Right(what) if what in list(Right) and self.members_may else None

    def admits(self, request: HttpRequest, what: str, obj: Any = None) -> bool:
        """Whether the request may do this, to this row, or to the row of this id, if one is given."""
        right = self.right_for(what)
        if workspaces_of(request) is None:
            return right is not None or what in self.superusers_may
        if self.workspace_field is None or right is None or not holds(request, right):
            return False
        if isinstance(obj, str | int):
            # the row is read only for those who hold the right in some of their workspaces
            where = workspaces_of(request, right)
            if where == workspaces_of(request):
                return True
            row = self.get_object(request, unquote(str(obj)))  # type: ignore[attr-defined]
            return row is None or getattr(row, str(self.workspace_field)) in (where or ())
        if not isinstance(obj, Model):
            return True
        parent: Any = obj  # of an inline, which may be the workspace itself
        return holds(request, right, parent.pk if isinstance(parent, Workspace) else parent.workspace_id)

    has_module_permission = has_view_permission = _asks("view")
    has_change_permission = _asks("change")
    has_add_permission = _asks("add")
    has_delete_permission = _asks("delete")
    # By these actions name the right they take.
    has_curate_permission = _asks(Right.CURATE)
    has_reveal_permission = _asks(Right.REVEAL)
    has_operate_permission = _asks(Right.OPERATE)
    has_keys_permission = _asks(Right.KEYS)
    has_members_permission = _asks(Right.MEMBERS)
    has_webhooks_permission = _asks(Right.WEBHOOKS)
    has_erase_permission = _asks(Right.ERASE)
    has_export_permission = _asks(Right.EXPORT)


class Colors(dict[Any, str | None]):
    """The colours of labels by their text, in whichever language it is shown."""

    def __contains__(self, text: object) -> bool:
        return any(str(label) == str(text) for label in self.keys())

    def __getitem__(self, text: Any) -> str | None:
        return next(color for label, color in self.items() if str(label) == str(text))


class RestrictedAdmin(WithActions, WorkspaceRestriction, Audited, ModelAdmin):
    """The base of every ModelAdmin here; the site knows it by `is_restricted`."""

    is_restricted = True
    #: Whether rows are changed by people, so that there is a history to read.
    has_history = True
    #: What to do while there is no row yet.
    when_empty: Any = ""
    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = django_admin.ShowFacets.NEVER  # a count per filter value is a scan of the table
    #: What Django's ChangeList is made of here.
    changelist: type[BoundedChangeList] = BoundedChangeList
    list_per_page = 30
    list_max_show_all = 0
    list_filter_submit = True
    warn_unsaved_form = True

    @cached_property
    def _moments(self) -> dict[str, Any]:
        fields = [field for field in self.model._meta.concrete_fields if isinstance(field, DateTimeField)]
        return {field.name: moment_column(field.name, field.verbose_name) for field in fields}

    def _shown_as_moments(self, names: Any) -> Any:
        """Columns by name, with those that are moments in the place of their names."""
        return names and [self._moments.get(name, name) if isinstance(name, str) else name for name in names]

    def get_list_display(self, request: HttpRequest) -> Any:
        return self._shown_as_moments(super().get_list_display(request))

    def get_list_display_links(self, request: HttpRequest, list_display: Any) -> Any:
        return self._shown_as_moments(super().get_list_display_links(request, list_display))

    def get_sortable_by(self, request: HttpRequest) -> Any:
        return self._shown_as_moments(super().get_sortable_by(request))

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return self.changelist

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """What the templates of the list need besides."""
        return {}

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """What the templates of a row's page need besides."""
        return {}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        own = {"own_views": OwnViews(request, self.opts)}
        return super().changelist_view(request, {**own, **self.list_context(request), **(extra_context or {})})

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        # The row is read for those who say what its page needs
        has_context = type(self).page_context is not RestrictedAdmin.page_context
        row = self.get_object(request, object_id) if object_id and has_context else None
        more = {**(self.page_context(request, row) if row else {}), **(extra_context or {})}
        return super().changeform_view(request, object_id, form_url, more)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Without NUL, which no stored text holds."""
        rows: tuple[QuerySet[Any], bool] = super().get_search_results(request, queryset, search_term.replace("\0", ""))
        return rows

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        actions = actions_with_return_url(request, context.get("actions_detail") or [])
        more: dict[str, Any] = {"show_history": self.has_history, "actions_detail": actions}
        if RETURN_PARAMETER in request.GET:  # the arrow leads where saving does
            more["back_url"] = return_url(request, "")
        return super().render_change_form(request, context | more, *args, **kwargs)

    def response_post_save_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        """Back to the page that led here, where one did; else to the list as it was."""
        if RETURN_PARAMETER in request.GET:
            return HttpResponseRedirect(return_url(request, admin_url(self.model)))
        answer: HttpResponse = super().response_post_save_change(request, obj)
        return answer

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        with acting(actor_of(request)):
            super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        with acting(actor_of(request)):
            super().save_related(request, form, formsets, change)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        with acting(actor_of(request)):
            super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        with acting(actor_of(request)):
            super().delete_queryset(request, queryset)

    def reach(self, request: HttpRequest, object_id: str, what: str = "change") -> Any:
        """The row of a page, for a request that may do this to it. 404 for foreign and missing rows alike, else 403."""
        row = self.get_object(request, unquote(object_id))
        if row is None or not self.admits(request, "view", row):
            raise Http404
        if not getattr(self, f"has_{what}_permission")(request, row):
            raise PermissionDenied
        return row

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        """An action on ticked rows is done to those of the workspaces where this person may do it."""
        name = request.POST.get("action", "")
        function = (self.get_actions(request).get(name) or (None,))[0]
        rights = [self.right_for(what) for what in getattr(function, "allowed_permissions", ())]
        for workspaces in (workspaces_of(request, right) for right in rights if right):
            if workspaces is not None and self.workspace_field:
                queryset = queryset.filter(**{f"{self.workspace_field}__in": workspaces})
        return super().response_action(request, queryset)


class RestrictedInline(WorkspaceRestriction, TabularInline):
    """The base of every inline here."""

    extra = 0

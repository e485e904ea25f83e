"""What the person of a request may do, and where: read from the table of roles (memories.staff.roles).

A page names the right each of its doings needs; what names none is refused.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

from django.contrib.admin import AdminSite, ModelAdmin
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import HttpRequest
from django.views.generic import RedirectView

from memories.staff.models import Member
from memories.staff.roles import Right, rights_of

#: What may be done to a row, by Django's words for it, and the right that takes.
Needs = Mapping[str, Right]
NOTHING: Needs = {}
VIEW: Needs = {"view": Right.READ}
#: Memories: people with a light hand on them. Nothing remembered is ever deleted from here.
EDIT: Needs = {**VIEW, "change": Right.CURATE}
MANAGE: Needs = {**EDIT, "add": Right.CURATE, "delete": Right.CURATE}
#: Settings: they change what all bots of a workspace do.
CONFIGURE: Needs = {**VIEW, "change": Right.OPERATE, "add": Right.OPERATE}
#: Views of Django and unfold: each asks the permission of its ModelAdmin, or shows what everybody of the staff may see.
_ASK_THEMSELVES = frozenset(
    {
        "changelist_view", "add_view", "change_view", "delete_view", "history_view", "user_change_password",
        "index", "app_index", "search", "autocomplete_view", "i18n_javascript", "catch_all_view",
        "password_change", "password_change_done", "second_factor", "logout", "toggle_sidebar",
    }
)  # fmt: skip
V = TypeVar("V", bound=Callable[..., Any])

#: In a session: the factor whose code was given in it.
PASSED = "second_factor"


def is_staff(request: HttpRequest) -> bool:
    """Whether a person who may open the admin is logged in."""
    user = getattr(request, "user", None)
    return bool(user and user.is_authenticated and user.is_active and user.is_staff)


def workspaces_of(request: HttpRequest, right: Right = Right.READ) -> frozenset[int] | None:
    """The workspaces where this person holds a right; None: all of them."""
    user = request.user
    if not (user.is_active and user.is_staff):
        return frozenset()
    if user.is_superuser:
        return None
    # The role of this person in each of their workspaces, read once a request
    roles: Mapping[int, str] | None = request.__dict__.get("_roles")
    if roles is None:
        roles = dict(Member.objects.filter(user_id=user.pk or 0).values_list("workspace_id", "role"))
        request.__dict__["_roles"] = roles
    return frozenset(pk for pk, role in roles.items() if right in rights_of(role))


def rights_in(request: HttpRequest, workspace_id: int) -> frozenset[Right]:
    """What this person may do in a workspace."""
    return frozenset(right for right in Right if holds(request, right, workspace_id))


def holds(request: HttpRequest, right: Right, workspace_id: int | None = None) -> bool:
    """Whether this person holds a right: in this workspace, or, where none is named, in any."""
    where = workspaces_of(request, right)
    if where is None:
        return True
    return bool(where) if workspace_id is None else workspace_id in where


def may_in(request: HttpRequest, workspace_id: int | None = None) -> dict[str, bool]:
    """For templates: by right whether this person holds it in a workspace; where none is named, in any."""
    return {right.value: holds(request, right, workspace_id) for right in Right}


def needs(what: str) -> Callable[[V], V]:
    """Mark a view of the admin with the right it takes, or with Django's word for it (`change`).

    The site refuses whoever may not do this: at this row where the address names one, else anywhere.
    """

    def mark(view: V) -> V:
        view.needs = what  # type: ignore[attr-defined]
        return view

    return mark


def guarded(site: AdminSite, view: V) -> V:
    """The view, for those who hold the right it names. Raises ImproperlyConfigured where it names none."""
    what: str | None = getattr(view, "needs", None)
    if what is None:
        of = getattr(view, "__self__", None)
        if not (
            getattr(view, "allowed_permissions", None)  # an action: unfold asks the ModelAdmin for each
            or getattr(view, "view_class", None) is RedirectView  # an address of old, which leads to a page that asks
            or (view.__name__ in _ASK_THEMSELVES and (of is site or isinstance(of, ModelAdmin)))
        ):
            raise ImproperlyConfigured(f"{view} names no right (memories.staff.rights).")
        return view
    owner: Any = getattr(inspect.unwrap(view), "__self__", None)

    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        may = owner.admits(request, what, kwargs.get("object_id")) if owner else holds(request, Right(what))
        if not may:
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return inner  # type: ignore[return-value]

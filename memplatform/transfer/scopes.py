"""The scope or workspace a command names."""

from uuid import UUID

from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from memories.management import told
from memories.models import Scope, Workspace


def named(scope: str, workspace: str | None) -> Scope:
    """The scope of this key or id. Raises CommandError."""
    rows = Scope.objects.filter(workspace__in=told.workspaces(workspace)).select_related("workspace").order_by("pk")
    found = list(rows.filter(key=scope)) or list(rows.filter(uid__in=_ids(scope)))
    if not found:
        message = _("There is no scope “%(scope)s”: nobody has written to it yet, or its key is another.")
        raise CommandError(message % {"scope": scope})
    if len(found) > 1:
        names = ", ".join(one.workspace.name for one in found)
        message = _("Several workspaces have a scope “%(scope)s”; name one by --workspace: %(names)s.")
        raise CommandError(message % {"scope": scope, "names": names})
    return found[0]


def only_workspace(name: str | None) -> Workspace:
    """The workspace of this name, or the only one. Raises CommandError."""
    found = told.workspaces(name)
    if len(found) != 1:
        names = ", ".join(one.name for one in found)
        raise CommandError(_("Name the workspace by --workspace; there are: %(names)s.") % {"names": names})
    return found[0]


def _ids(text: str) -> list[UUID]:
    try:
        return [UUID(text)]
    except ValueError:
        return []

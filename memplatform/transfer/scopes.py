"""The scope or workspace a command names."""

from uuid import UUID

from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from memories.management import command_line
from memories.models import Scope, Workspace
from memories.tenancy.keys import kind_of_key


def named(scope: str, workspace: str | None) -> Scope:
    """The scope of this key or id. Raises CommandError."""
    rows = (
        Scope.objects.filter(workspace__in=command_line.workspaces(workspace))
        .select_related("workspace")
        .order_by("pk")
    )
    found = list(rows.filter(key=scope)) or list(rows.filter(uid__in=_ids(scope)))
    if not found:
        message = _(
            "There is no scope “%(scope)s”, and no address of a bot has such a key, as telegram:direct_u42 or main are."
        )
        raise CommandError(message % {"scope": scope})
    if len(found) > 1:
        names = ", ".join(one.workspace.name for one in found)
        message = _("Several workspaces have a scope “%(scope)s”; name one by --workspace: %(names)s.")
        raise CommandError(message % {"scope": scope, "names": names})
    return found[0]


def named_or_begun(scope: str, workspace: str | None) -> Scope:
    """The scope of this key or id; under a key a bot's address could have, it is begun. Raises CommandError."""
    kind = kind_of_key(scope)
    if kind is None or Scope.objects.filter(workspace__in=command_line.workspaces(workspace), key=scope).exists():
        return named(scope, workspace)
    of = only_workspace(workspace)
    begun = Scope.objects.begin(of.pk, scope, kind)
    begun.workspace = of
    return begun


def only_workspace(name: str | None) -> Workspace:
    """The workspace of this name, or the only one. Raises CommandError."""
    found = command_line.workspaces(name)
    if len(found) != 1:
        names = ", ".join(one.name for one in found)
        raise CommandError(_("Name the workspace by --workspace; there are: %(names)s.") % {"names": names})
    return found[0]


def _ids(text: str) -> list[UUID]:
    try:
        return [UUID(text)]
    except ValueError:
        return []

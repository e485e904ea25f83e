"""Database roles that are missing, lack a right, or may do too much, as messages of Django's checks."""

from collections.abc import Iterator

from django.core.checks import CheckMessage, Error, Warning
from django.utils.translation import gettext as _

from memplatform.database import rights, roles
from memplatform.database.roles import PROCESSES, AccessMode

_SHOWN = 3  # of many rights


def problems() -> Iterator[CheckMessage]:
    """What keeps the platform from working is an error, a risk a warning. Asked as the owner of the tables."""
    found = {process: role for process in PROCESSES if (role := roles.find(process))}
    for process, role in found.items():
        is_job = process != "web"
        missing = rights.missing_rights(role)
        if is_job and (closed := rights.closed_to_jobs([role])):
            missing.append(f"POLICY every_workspace ON {', '.join(closed[:_SHOWN])}")
        if missing:
            yield Error(
                _("The database role %(role)s lacks %(right)s.") % {"role": role, "right": _shown(missing)},
                _("Run manage.py migrate as the owner of these tables, or let their owner grant it."),
                id="memplatform.E012",
            )
        if excess := rights.excess_rights(role):
            yield Warning(
                _("The database role %(role)s may do more than it should: %(right)s.")
                % {"role": role, "right": _shown(excess)},
                _("Let whoever granted it revoke it; history is to be added to alone."),
                id="memplatform.W007",
            )
    modes = {process: roles.access_mode(process) for process in PROCESSES}
    if modes["web"] is AccessMode.ASSUMED:
        yield Warning(
            _("The web takes on the database role %s with the owner's login, which SQL let into a query can undo.")
            % found["web"],
            _("See docs/howto/use-your-own-postgresql.md for a login of its own."),
            id="memplatform.W008",
        )
    if as_owner := [process for process, mode in modes.items() if mode is AccessMode.OWNER]:
        yield Warning(
            _("No database role of its own lets in: %s; what works as the owner of the tables, no second wall binds.")
            % ", ".join(as_owner),
            _("See docs/howto/use-your-own-postgresql.md for the roles and how to make them."),
            id="memplatform.W009",
        )


def _shown(rights_: list[str]) -> str:
    rest = len(rights_) - _SHOWN
    more = _(" and %d more") % rest if rest > 0 else ""
    return "; ".join(rights_[:_SHOWN]) + more

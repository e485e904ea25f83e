"""What keeps the processes from the database, or lets them do too much there: a sentence each, and what helps."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from memplatform.database import rights, roles
from memplatform.database.logins import PROCESSES
from memplatform.database.roles import AccessMode

_SHOWN = 3  # of many missing rights


@dataclass(frozen=True)
class Problem:
    """One that keeps the platform from working is an error; the others are risks."""

    id: str
    text: str
    hint: str
    is_error: bool = False


def problems() -> list[Problem]:
    """Asked as the owner of the tables. Nothing is changed."""
    ways = {process: roles.access_mode(process) for process in PROCESSES}
    roles_found = {process: role for process in PROCESSES if (role := roles.find(process))}
    found = [problem for process, role in roles_found.items() for problem in _of_role(role, is_job=process != "web")]
    return [*found, *_of_ways(ways, roles_found)]


def _of_role(role: str, *, is_job: bool) -> Iterator[Problem]:
    missing = rights.missing_rights(role)
    if is_job and (closed := rights.closed_to_jobs([role])):
        missing.append(f"POLICY every_workspace ON {', '.join(closed[:_SHOWN])}")
    if missing:
        yield Problem(
            "memplatform.E012",
            _("The database role %(role)s lacks %(right)s.") % {"role": role, "right": _shown(missing)},
            _("Run manage.py migrate as the owner of these tables, or let their owner grant it."),
            is_error=True,
        )
    if excess := rights.excess_rights(role):
        yield Problem(
            "memplatform.W007",
            _("The database role %(role)s may do more than it should: %(right)s.")
            % {"role": role, "right": _shown(excess)},
            _("Let whoever granted it revoke it; history is to be added to alone."),
        )


def _of_ways(ways: dict[str, AccessMode], roles_found: dict[str, str]) -> Iterator[Problem]:
    if ways["web"] is AccessMode.ASSUMED:
        yield Problem(
            "memplatform.W008",
            _("The web takes on the database role %s with the owner's login, which SQL let into a query can undo.")
            % roles_found["web"],
            _("See docs/howto/use-your-own-postgresql.md for a login of its own."),
        )
    if as_owner := [process for process, way in ways.items() if way is AccessMode.OWNER]:
        yield Problem(
            "memplatform.W009",
            _("No database role of its own lets in: %s; what works as the owner of the tables, no second wall binds.")
            % ", ".join(as_owner),
            _("See docs/howto/use-your-own-postgresql.md for the roles and how to make them."),
        )


def _shown(rights_: list[str]) -> str:
    rest = len(rights_) - _SHOWN
    more = _(" and %d more") % rest if rest > 0 else ""
    return "; ".join(rights_[:_SHOWN]) + more

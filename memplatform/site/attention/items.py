"""A line of what needs somebody, and who looks at it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _

from memories.admin.access import in_workspaces
from memories.staff.rights import holds, workspaces_of
from memories.staff.roles import Right
from memplatform.operations import health
from memplatform.site import figures
from memplatform.site.figures import Recalls


@dataclass(frozen=True)
class Item:
    """Something that needs somebody: grave things first."""

    key: str  # names the line, whatever it says today; snoozes are kept by it
    text: str
    hint: str = ""
    address: str = ""
    is_grave: bool = False
    #: What it is about, such as the newest id: dismissed, the line stays away until this changes. Empty: it cannot be
    #: dismissed, since it stands for as long as it is so.
    mark: str = ""
    #: Does it again, for all that this person may; how many. None: there is nothing to be done again.
    retry: Callable[[], int] | None = None

    @property
    def can_be_retried(self) -> bool:
        """For templates, which call what can be called: a page that named `retry` would do it by being looked at."""
        return self.retry is not None


class Viewer:
    """The person of a request, at one moment: what the lines are about is of the workspaces they may see."""

    def __init__(self, request: HttpRequest, now: datetime) -> None:
        self.request, self.now = request, now
        self.seen = workspaces_of(request)

    @property
    def is_superuser(self) -> bool:
        """Whether they see all workspaces, and the platform itself."""
        return self.seen is None

    def rows(self, rows: Any, right: Right = Right.READ) -> Any:
        """Those of these rows that are in workspaces where they hold a right."""
        return in_workspaces(rows, workspaces_of(self.request, right))

    def may(self, right: Right) -> bool:
        """Whether they hold a right in any workspace."""
        return holds(self.request, right)

    @cached_property
    def measures(self) -> health.Measures:
        """The measures of the platform's work at this moment, read once."""
        return health.measure(self.now)

    @cached_property
    def recalls(self) -> Recalls:
        """The newest recalls of the last day, read once."""
        return figures.recalls(self.seen, self.now)


def ago(seconds: float) -> str:
    """A time span in its largest unit."""
    for size, name in ((86_400, _("%(n)d days")), (3_600, _("%(n)d hours")), (60, _("%(n)d minutes"))):
        if seconds >= 2 * size:
            return name % {"n": seconds // size}
    return _("%(n)d seconds") % {"n": seconds}

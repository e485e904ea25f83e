"""What commands share: arguments, the bar that shows progress, and the line of counts at the end."""

import json
import logging
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from getpass import getuser
from threading import get_ident
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError
from django.utils import timezone
from django.utils.translation import gettext as _
from tqdm import tqdm

from memories.conf import duration
from memories.models import Scope, Workspace
from memories.tasks import clock_from
from memories.tenancy.resolver import kind_of_key


def moment(text: str) -> datetime:
    """A time as an argument; without a zone it is meant where the platform is."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(_("“%(text)s” is not a time.") % {"text": text}) from error
    return read if read.tzinfo else timezone.make_aware(read)


def span(text: str) -> timedelta:
    """A span of time as an argument: 30d, 48h, 1h30m."""
    try:
        return duration(text)
    except ValueError as error:
        raise ArgumentTypeError(_("“%(text)s” is no span of time such as 30d or 48h.") % {"text": text}) from error


def workspaces(name: str | None) -> list[Workspace]:
    """The one of that name, or all."""
    rows = Workspace.objects.order_by("pk")
    if name is None:
        return list(rows)
    if matches := list(rows.filter(name=name)):
        return matches
    names = ", ".join(rows.values_list("name", flat=True))
    raise CommandError(_("There is no workspace “%(name)s”; there are: %(names)s.") % {"name": name, "names": names})


def actor() -> str:
    """Who acts, as history names them."""
    return f"command:{getuser()}"


def clock(now: datetime | None) -> Callable[[], datetime]:
    """A clock that begins at this moment, or tells the time as it is."""
    return timezone.now if now is None else clock_from(now)


class Bar:
    """How far the work is, on one line of a terminal that is read by a person.

    Elsewhere it writes nothing or, where it `has_lines`, ten of them. It is called with counts, adds up those of
    `units`, and shows them, or their share of the whole in percent.
    """

    def __init__(
        self, total: int, *units: str, head: str = "", has_lines: bool = False, is_share: bool = False
    ) -> None:
        self._total, self._before, self._units = total, 0, units or ("entries",)
        self._head, self._steps, self._is_share = head, 0, is_share
        self._has_lines = has_lines and total > 0 and not sys.stderr.isatty()
        figures = "{percentage:.0f} %" if is_share else "{n_fmt} / {total_fmt}"
        self._bar: tqdm[Any] = tqdm(
            total=total,
            desc=head or None,
            disable=total == 0 or not sys.stderr.isatty(),
            file=sys.stderr,
            bar_format=f"{{desc}} |{{bar:30}}| {figures}  {{remaining}}",
        )

    def __call__(self, counts: dict[str, int]) -> None:
        count = min(self._before + self._done(counts), self._total)
        self._bar.update(count - self._bar.n)
        if self._has_lines and count * 10 // self._total > self._steps:
            self._steps = count * 10 // self._total
            share = f"{count * 100 // self._total} %" if self._is_share else f"{count:,} / {self._total:,}"
            sys.stderr.write(f"{self._head} {share}\n")

    def _done(self, counts: dict[str, int]) -> int:
        return sum(counts.get(unit, 0) for unit in self._units)

    def move_on(self, counts: dict[str, int]) -> None:
        """The next workspace counts from nothing again."""
        self._before += self._done(counts)

    def end(self) -> None:
        self._bar.close()


@contextmanager
def no_line_for_each_memory() -> Iterator[None]:
    """Log no line for each memory that this thread writes: of a file of thousands the bar tells how far it is."""
    log, thread = logging.getLogger("memories.entries.write"), get_ident()

    def is_worth_a_line(record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING or record.thread != thread

    log.addFilter(is_worth_a_line)
    try:
        yield
    finally:
        log.removeFilter(is_worth_a_line)


def counts_line(counts: dict[str, Any], *, as_json: bool) -> str:
    return json.dumps(counts) if as_json else ", ".join(f"{name} {count}" for name, count in counts.items())


def named_scope(scope: str, workspace: str | None) -> Scope:
    """The scope of this key or id. Raises CommandError."""
    rows = Scope.objects.filter(workspace__in=workspaces(workspace)).select_related("workspace").order_by("pk")
    scopes = list(rows.filter(key=scope))
    if not scopes:
        with suppress(ValueError):  # it is no id
            scopes = list(rows.filter(uid__in=[UUID(scope)]))
    if not scopes:
        message = _(
            "There is no scope “%(scope)s”, and no address of a bot has such a key, as telegram:direct_u42 or main are."
        )
        raise CommandError(message % {"scope": scope})
    if len(scopes) > 1:
        names = ", ".join(row.workspace.name for row in scopes)
        message = _("Several workspaces have a scope “%(scope)s”; name one by --workspace: %(names)s.")
        raise CommandError(message % {"scope": scope, "names": names})
    return scopes[0]


def named_or_begun_scope(scope: str, workspace: str | None) -> Scope:
    """The scope of this key or id; under a key a bot's address could have, it is begun. Raises CommandError."""
    kind = kind_of_key(scope)
    if kind is None or Scope.objects.filter(workspace__in=workspaces(workspace), key=scope).exists():
        return named_scope(scope, workspace)
    of = only_workspace(workspace)
    begun = Scope.objects.begin(of.pk, scope, kind)
    begun.workspace = of
    return begun


def only_workspace(name: str | None) -> Workspace:
    """The workspace of this name, or the only one. Raises CommandError."""
    matches = workspaces(name)
    if len(matches) != 1:
        names = ", ".join(workspace.name for workspace in matches)
        raise CommandError(_("Name the workspace by --workspace; there are: %(names)s.") % {"names": names})
    return matches[0]

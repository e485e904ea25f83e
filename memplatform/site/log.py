"""The platform's own log as a page of the admin, read from the ends of the files its processes write.

For superusers alone: its lines name ids of every workspace.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from unfold.widgets import UnfoldAdminTextInputWidget

from memories.admin.forms import SelectField
from memories.admin.pages import own_page
from memories.staff.rights import needs, workspaces_of
from memories.staff.roles import Right
from memplatform.logs import plain_line, without_secrets
from memplatform.operations import hosts

#: Events on a page; bytes of each file that are looked through for them, read in blocks.
MOST, LOOKED_AT, BLOCK = 500, 2 * 1024**2, 64 * 1024
#: Lines of a traceback that are shown, its last ones, and characters of a line.
TRACE_LINES, LINE_CHARS = 60, 2_000
#: Files of the folder that tell of other programs.
_OTHERS = frozenset({"postgres", "install"})
#: An event begins with its moment; what follows without one, such as a traceback, belongs to it.
_HEAD = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]+Z) ([A-Z]+) (\S*) ?(.*)", re.DOTALL)
_REQUEST = re.compile(r"(?<!\S)request_id=(\S+)")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_STDERR = 2
_COLORS = {"WARNING": "warning", "ERROR": "danger", "CRITICAL": "danger"}


@dataclass(frozen=True)
class Event:
    """What a process wrote at a moment."""

    process: str
    at: str = ""
    level: str = ""
    logger: str = ""
    words: str = ""
    trace: str = ""

    @property
    def moment(self) -> datetime | None:
        with suppress(ValueError):
            return datetime.fromisoformat(self.at).astimezone(UTC)
        return None

    @property
    def color(self) -> str | None:
        return _COLORS.get(self.level)

    @property
    def request_id(self) -> str:
        match = _REQUEST.search(self.words)
        return match[1] if match else ""


class LogForm(forms.Form):
    """By what the log is narrowed; the values stand in the address, so that a view of it can be handed on."""

    level = SelectField(label=_("level"), required=False)
    process = SelectField(label=_("process"), required=False)
    q = forms.CharField(label=_("words"), required=False, max_length=200, widget=UnfoldAdminTextInputWidget)
    request_id = forms.CharField(
        label=_("request id"),
        required=False,
        max_length=128,
        help_text=_("As the answer of the call names it: X-Request-Id."),
        widget=UnfoldAdminTextInputWidget,
    )

    def __init__(self, data: Any, processes: list[str]) -> None:
        super().__init__(data)
        fields: Any = self.fields
        fields["level"].choices = [
            ("", _("all")), ("WARNING", _("warnings and errors")), ("ERROR", _("errors")),
        ]  # fmt: skip
        fields["process"].choices = [("", _("all")), *((name, name) for name in processes)]

    def admits(self, event: Event) -> bool:
        """Whether an event is among those that are asked for."""
        filters = self.cleaned_data
        level, request_id = filters.get("level"), filters.get("request_id")
        if level and (event.level not in LEVELS or LEVELS.index(event.level) < LEVELS.index(level)):
            return False
        if request_id and event.request_id != request_id.strip():
            return False
        text = f"{event.logger} {event.words} {event.trace}".lower()
        return all(word in text for word in (filters.get("q") or "").lower().split())


def events(process: str, path: Path) -> Iterator[Event]:
    """What a process wrote, newest first, as far as LOOKED_AT bytes from the end of its file reach."""
    behind: list[str] = []  # lines that belong to the event before them, the last one first
    for line in _lines_from_the_end(path):
        plain = line  # as `LOG_FORMAT=plain` writes it; what is no event stays as it is
        if line.startswith("{"):
            with suppress(ValueError):
                plain = plain_line(None, "", json.loads(line))
        head = _HEAD.match(plain)
        if head is None:
            behind.append(line[:LINE_CHARS])
            continue
        words, *trace = head[4].split("\n")
        yield Event(process, head[1], head[2], head[3], words[:LINE_CHARS], _trace([*behind, *reversed(trace)]))
        behind = []
    if behind:
        yield Event(process, words=behind.pop(), trace=_trace(behind))


def _trace(backwards: list[str]) -> str:
    """The last lines of what stands below an event, in their order."""
    return "\n".join(reversed(backwards[:TRACE_LINES]))


def _lines_from_the_end(path: Path) -> Iterator[str]:
    """The lines of a file, the last one first, without keys that another program may have written into them."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        first, rest = max(0, end - LOOKED_AT), b""
        while end > first:
            begin = max(first, end - BLOCK)
            file.seek(begin)
            lines = (file.read(end - begin) + rest).split(b"\n")
            end, rest = begin, lines.pop(0)
            yield from (_text(line) for line in reversed(lines) if line.strip())
        if first == 0 and rest.strip():  # else its beginning is further up
            yield _text(rest)


def _text(line: bytes) -> str:
    return str(without_secrets(line.decode(errors="replace")))


@never_cache
@require_safe
@needs(Right.READ)
def page(request: HttpRequest) -> HttpResponse:
    """The newest events of all processes of this host, narrowed as the address says."""
    if workspaces_of(request) is not None:
        raise PermissionDenied
    # The logs of the platform's processes, by the name of each
    paths = sorted((settings.DATA_DIR / "logs").glob("*.log"))
    files = {path.stem: path for path in paths if path.stem not in _OTHERS and path.is_file()}
    form = LogForm(request.GET, list(files))
    form.full_clean()
    process = form.cleaned_data.get("process")
    event_streams = [events(name, path) for name, path in files.items() if process in ("", None, name)]
    newest_first = merge(*(filter(form.admits, one) for one in event_streams), key=lambda event: event.at, reverse=True)
    newest_events = list(islice(newest_first, MOST))
    # Whether the web writes to its file: a supervisor sees to it; who starts a web says where its lines go
    web, is_in_file = files.get("web"), False
    with suppress(OSError):
        is_in_file = web is not None and os.path.samestat(os.fstat(_STDERR), web.stat())
    context = {
        "title": gettext("Log"),
        "form": form,
        "events": newest_events,
        "is_cut": len(newest_events) == MOST,
        "is_narrowed": any(form.cleaned_data.values()),
        "megabytes": LOOKED_AT // 1024**2,
        "host": settings.HOST_NAME,
        "others": list(hosts.others(now=timezone.now()).values_list("name", flat=True)),
        "is_elsewhere": not is_in_file,
        "has_files": bool(files),
    }
    return own_page(request, "admin/memplatform/log.html", context)

"""The cells of the log: the question, who asked and where, the verdict in a word, what was served and used, when."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.timezone import localtime
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from memories.admin.access import Colors
from memories.admin.entries.columns import beneath, excerpt
from memories.admin.recall_traces.labels import DEGRADED, moment_label
from memories.admin.spreadsheet import CsvList
from memories.choices import Verdict
from memories.models import RecallTrace
from sessions_app.admin.recall_log.askers import Asker, askers_of

#: Characters of a question in the list.
SHOWN_CHARS = 240
#: The verdict as people say it.
VERDICTS = {
    Verdict.FOUND: _("enough"),
    Verdict.WEAK: _("perhaps"),
    Verdict.NONE: _("not enough"),
    "": _("no memory needed"),
}
_COLORS = Colors(
    {
        VERDICTS[Verdict.FOUND]: "success",
        VERDICTS[Verdict.WEAK]: "warning",
        VERDICTS[Verdict.NONE]: "danger",
        VERDICTS[""]: None,
    }
)


def used_by_answer(trace: RecallTrace) -> int | None:
    """How many served memories the answer used: as the bot said, else by its words; None where nobody knows."""
    told = trace.overlap if trace.used is None else trace.used
    return None if told is None else len(told)


class TraceColumns(CsvList):
    """The cells of the list; rows come with what TraceLog gives them."""

    csv_name = "recalls"
    csv_columns = (
        "id", "asked", "workspace", "bot", "person", "chat", "session", "question", "verdict", "served", "used",
        "degraded", "milliseconds",
    )  # fmt: skip

    def csv_rows(self, changelist: Any, rows: list[Any]) -> Iterator[Iterable[Any]]:
        askers = askers_of(rows)
        return (_cells(trace, askers[trace.pk]) for trace in rows)

    @display(description=_("question"))
    def text(self, trace: Any) -> str:
        """Two lines of it, the searched words marked."""
        if trace.is_purged:
            return format_html('<span class="mp-clamp text-subtle">{}</span>', gettext("its words were removed"))
        words = excerpt(trace.message, trace.searched, SHOWN_CHARS) if trace.message else "—"
        return format_html('<span class="mp-clamp">{}</span>', words)

    @display(description=_("who asked"))
    def place(self, trace: Any) -> str:
        """Who asked, and below it where; with the workspace where several are shown."""
        several = [trace.workspace.name] if trace.is_one_of_several else []
        return beneath(trace.asker_shown.who, " · ".join(filter(None, [trace.asker_shown.chat, *several])))

    @display(description=_("answer"), label=_COLORS)
    def colored_state(self, trace: RecallTrace) -> Any:
        """Whether it was enough to answer with."""
        return VERDICTS.get(trace.verdict, trace.verdict)

    @display(description=_("served"))
    def outcome(self, trace: RecallTrace) -> str:
        """How many were served, and below it how many of them the answer used, or what was missing."""
        count, used = len(trace.served), used_by_answer(trace)
        served = gettext("%(n)d served") % {"n": count} if trace.verdict or count else ""
        made = "" if used is None or not count else gettext("%(n)d used") % {"n": used}
        without = next((str(label) for part, label in DEGRADED.items() if part in trace.degraded), "")
        then = trace.query.get("as_of")
        back = gettext("memory as of %(then)s") % {"then": moment_label(then)} if then else ""
        return beneath(served, " · ".join(filter(None, [made, without, back])))

    @display(description=pgettext_lazy("recall", "asked"), ordering="created_at")
    def created(self, trace: Any) -> str:
        """When it was asked, and below it by which bot and how long the answer took."""
        took = gettext("%(n)s ms") % {"n": f"{trace.timings.get('total', 0):.0f}"}
        bot = trace.bot.name if trace.bot else ""
        return beneath(
            date_format(localtime(trace.created_at), "SHORT_DATETIME_FORMAT"), " · ".join(filter(None, [took, bot]))
        )


def _cells(trace: Any, asker: Asker) -> Iterator[Any]:
    """What a spreadsheet is given of a trace."""
    yield from (trace.uid, trace.created_at.isoformat(timespec="seconds"), trace.workspace.name)
    yield from (trace.bot.name if trace.bot else "", trace.asker or asker.who, asker.chat, trace.session_key)
    yield from (trace.message, trace.verdict or "unneeded", len(trace.served), used_by_answer(trace))
    yield from (" ".join(trace.degraded), round(trace.timings.get("total", 0)))

"""What a run of a job counted, in words of whoever reads it."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

#: A job's own marks, which count nothing.
_MARKS = {"upto"}
WORDS = {
    "above_aim": _("scopes above their aim"),
    "batches": _("batches"),
    "by_model": _("by the model"),
    "changed": _("changed"),
    "closed": _("closed"),
    "corrected": _("corrected by the model"),
    "crowded_out": _("crowded out"),
    "days": _("days"),
    "dropped": _("dropped"),
    "entries": _("memories"),
    "events": _("events"),
    "facts": _("facts"),
    "faded": _("faded"),
    "failed": _("failed"),
    "flushed": _("flushed"),
    "frozen": _("frozen scopes passed over"),
    "held": _("held for a person"),
    "reworded": _("merges that wait for a person"),
    "held_rows": _("rows held for a person"),
    "homeless": _("facts without a memory to go to"),
    "invented": _("invented facts refused"),
    "left": _("left as they were"),
    "lines_replaced": _("lines replaced"),
    "lines_written": _("lines written"),
    "lost": _("lost"),
    "merged": _("merged"),
    "notes": _("notes"),
    "extraction_batches": _("stretches of conversation"),
    "parked": _("parked"),
    "partitions": _("partitions"),
    "planned": _("planned"),
    "proposed": _("proposed"),
    "traces": _("traces"),
    "refused": _("facts of an answer that could not be used"),
    "resumed": _("resumed"),
    "retried": _("tried again"),
    "scopes": _("scopes"),
    "sealed": _("sealed"),
    "stopped_budget": _("stopped: the budget is spent"),
    "stopped_model_failed": _("stopped: the model fails"),
    "stopped_no_model": _("stopped: there is no model"),
    "stopped_time": _("stopped: the time was up"),
    "surplus": _("too many"),
    "turns": _("turns"),
    "unfounded": _("facts nobody had said"),
    "unreadable": _("answers that could not be read"),
    "waiting": _("waiting"),
}


def said(counts: Mapping[str, Any]) -> str:
    """`scopes 3, memories 12`; what is zero is left out, and a count without a word goes by its own name."""
    told = [(name, number) for name, number in counts.items() if number and name not in _MARKS]
    return gettext(", ").join(f"{WORDS.get(name, name.replace('_', ' '))} {number}" for name, number in told) or "—"

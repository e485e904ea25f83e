"""Labels of jobs and their counts, of batches, actors and memories, in the reader's language."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from memories.batches import branch as branches
from memories.choices import BatchVerb
from memories.models import Batch, Scope

#: Names of people that stand before the key of a memory.
_NAMES = 3
#: A job's own marks, which count nothing.
_MARKS = {"upto"}
COUNT_LABELS = {
    "above_aim": _("scopes above their aim"),
    "audit": _("lines of the audit log"),
    "batches": _("batches"),
    "came_back": _("came back"),
    "by_model": _("by the model"),
    "calls": _("calls"),
    "cards": _("sessions and channels"),
    "changed": _("changed"),
    "closed": _("closed"),
    "comparisons": _("comparisons"),
    "corrected": _("facts corrected in the same conversation"),
    "crowded_out": _("crowded out"),
    "deliveries": _("deliveries"),
    "days": _("days"),
    "decoys": _("decoys for the second reading"),
    "decoys_passed": _("decoys it believed"),
    "dropped": _("dropped"),
    "entries": pgettext_lazy("count", "memories"),
    "erased": _("people erased"),
    "events": _("events"),
    "facts": _("facts"),
    "faded": _("faded"),
    "failed": _("failed"),
    "faults": _("faults"),
    "files": _("files"),
    "files_failed": _("files that could not be written"),
    "flushed": _("flushed"),
    "frozen": _("frozen scopes passed over"),
    "held": _("held for a person"),
    "held_rows": _("rows held for a person"),
    "given_up": _("given up"),
    "indexes_to_build": _("indexes to build"),
    "indexes_to_drop": _("indexes to drop"),
    "invented": _("invented facts refused"),
    "keys": _("keys"),
    "left": _("left as they were"),
    "left_behind": _("words left behind"),
    "left_out": _("sentences of summaries left out"),
    "lines_replaced": _("lines replaced"),
    "lines_written": _("lines written"),
    "leaks": _("leaks"),
    "lost": _("lost"),
    "merged": _("merged"),
    "not_dropped": _("facts only the model would drop"),
    "not_merged_unverified": _("merges nobody confirmed"),
    "notes": _("notes"),
    "extraction_batches": _("stretches of conversation"),
    "of_about": _("of about"),
    "parked": _("parked"),
    "partitions": _("partitions"),
    "planned": _("planned"),
    "probes": _("probes"),
    "proposed": _("proposed"),
    "traces": _("traces"),
    "changes": _("changes of the history"),
    "read": _("statements read a second time"),
    "refused": _("facts that were not kept"),
    "failing": _("failing"),
    "tests": _("pinned tests"),
    "refused_facts": _("refused facts"),
    "repeated": _("facts known already"),
    "resumed": _("resumed"),
    "retried": _("tried again"),
    "reviews": _("memories due for review"),
    "scopes": _("scopes"),
    "stocks": _("counts of what is kept"),
    "hours": _("hours counted"),
    "secrets": _("secrets"),
    "sent": _("sent"),
    "told": _("webhooks told"),
    "parts": _("parts missing or late"),
    "sealed": _("sealed"),
    "stopped_budget": _("stopped: the budget is spent"),
    "stopped_model_failed": _("stopped: the model fails"),
    "stopped_no_model": _("stopped: there is no model"),
    "stopped_time": _("stopped: the time was up"),
    "stopped_untrusted": _("stopped: people take too much of its work back"),
    "surplus": _("too many"),
    "turns": _("turns"),
    "untrusted": _("facts only quoted, as people take too much of the model's work back"),
    "unread": _("statements nobody read a second time"),
    "unreadable": _("answers or facts that could not be read"),
    "verified": _("verified facts"),
    "waiting": _("waiting"),
}


def counts_label(counts: Mapping[str, Any]) -> str:
    """`scopes 3, memories 12`; what is zero is left out, and a count without a word goes by its own name."""
    nonzero_counts = {name: number for name, number in counts.items() if number and name not in _MARKS}
    parts = (f"{COUNT_LABELS.get(name, name.replace('_', ' '))} {number}" for name, number in nonzero_counts.items())
    return gettext(", ").join(parts) or "—"


_BATCH_LABELS = {
    "extract": pgettext_lazy("batch", "extract"),
    "compress": pgettext_lazy("batch", "compress"),
    "compress-doubts": pgettext_lazy("batch", "compress-doubts"),
    "compress-days": pgettext_lazy("batch", "compress-days"),
    "profile": pgettext_lazy("batch", "profile"),
    "profile-doubts": pgettext_lazy("batch", "profile-doubts"),
    "faded": pgettext_lazy("batch", "faded"),
    "capacity": pgettext_lazy("batch", "capacity"),
    "capacity-rest": pgettext_lazy("batch", "capacity-rest"),
    "find-secrets": pgettext_lazy("batch", "find-secrets"),
    "import": pgettext_lazy("batch", "import"),
    "move": pgettext_lazy("batch", "move"),
    "link": pgettext_lazy("batch", "link"),
    "unlink": pgettext_lazy("batch", "unlink"),
    "branch": pgettext_lazy("batch", "branch"),
}

#: What a batch may be of, by its name: jobs, and actions of people.
BATCH_JOBS: Mapping[str, Any] = _BATCH_LABELS | dict(BatchVerb.choices)

#: Jobs whose models state facts.
MODEL_JOBS = {name: _BATCH_LABELS[name] for name in ("extract", "compress-days", "compress", "profile")} | {
    "flush": _("flush")
}


def job_label(name: str) -> str:
    """The job of a model in the reader's language; as it is stored where it is of another version."""
    return str(MODEL_JOBS.get(name, name))


_ACTORS = {
    "bot": _("bot %(name)s"),
    "job": _("job “%(name)s”"),
    "command": _("%(name)s, by a command"),
    "webhook": _("webhook %(name)s"),
    "platform": _("the platform itself"),
    "sql": _("database login %(name)s"),
    "file": _("a file that was edited"),
}


def actor_label(actor: str) -> str:
    """Who did it, of what history writes down: `user:ann` is ann, `job:extract` a job by its name."""
    kind, _colon, name = actor.partition(":")
    if kind == "user" or kind not in _ACTORS:
        return name or actor
    if kind == "job":
        name = str(_BATCH_LABELS.get(name, BatchVerb(name).label if name in BatchVerb.values else name))
    return str(_ACTORS[kind]) % {"name": name}


def batch_name(batch: Batch) -> str:
    """The job or action a batch is of."""
    if batch.name in BatchVerb.values:
        return str(BatchVerb(batch.name).label)
    if batch.name == branches.NAME and batch.reason:
        return gettext("branch “%(name)s”") % {"name": batch.reason}
    return str(_BATCH_LABELS.get(batch.name, batch.name))


def scope_in_words(scope: Scope) -> str:
    """Whose memory it is, before its key: the name it was given, else what its people are called."""
    names = list(dict.fromkeys(scope.sender_names.values())) or list(scope.speakers)
    name = scope.label or ", ".join(names[:_NAMES])
    return f"{name} · {scope.key}" if name else str(scope.key)

"""The page of a batch: what it does, in words and row by row, why it waits, and the actions it offers."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.timezone import localtime
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _

from memories import batches, entries, llm
from memories.admin.history import FieldChange, display_value, field_change, slot_change
from memories.admin.labels import COUNT_LABELS, actor_label, batch_name
from memories.admin.masking import with_planned
from memories.admin.pages import own_page, quarantine_url, return_url, with_return_url
from memories.admin.policy_numbers import changes_between
from memories.batches import Description
from memories.batches import branch as branches
from memories.batches.descriptions import ATTRIBUTES
from memories.batches.planning import RETIRING
from memories.batches.steps import RestoreStep, UndoStep
from memories.choices import BatchState, BatchVerb, Category, ChangeState, HoldReason
from memories.entries.history import word_diff
from memories.evaluation import trial
from memories.lifecycle import expiry
from memories.models import Batch, BatchChange, Entry, RefusedFact
from memories.models.state import State
from memories.staff.rights import may_in

#: Of each kind of change what it would do and what it did, the gravest first.
_WORDS: Mapping[str, tuple[Any, Any]] = {
    "purge": (_("would remove %(n)s for good"), _("removed %(n)s for good")),
    "retire": (_("would retire %(n)s"), _("retired %(n)s")),
    "merge": (_("would merge %(n)s"), _("merged %(n)s")),
    "change": (_("would change %(n)s"), _("changed %(n)s")),
    "create": (_("would make %(n)s new"), _("made %(n)s new")),
    "restore": (_("would restore %(n)s"), _("restored %(n)s")),
    "tell": (_("would tell of %(n)s on a day"), _("told of %(n)s on a day")),
    "undo": (_("would put back %(n)s"), _("put back %(n)s")),
    "policy": (_("would set %(n)s of the workspace's policies"), _("set %(n)s of the workspace's policies")),
}
_KINDS = dict.fromkeys(RETIRING, "retire")
#: Shares people have a word for; what is further off than NEAR stands as a number.
_SHARES = (
    (1 / 20, _("a twentieth")), (1 / 10, _("a tenth")), (1 / 5, _("a fifth")), (1 / 4, _("a quarter")),
    (1 / 3, _("a third")), (1 / 2, _("half")), (2 / 3, _("two thirds")), (3 / 4, _("three quarters")),
    (1.0, _("all of them")),
)  # fmt: skip
NEAR = 0.021


def is_plan(state: str) -> bool:
    """Whether a batch is not done: it waits, was refused, or is still being applied."""
    return state in (BatchState.PROPOSED, BatchState.APPLYING, BatchState.REFUSED)


def summary(batch: Batch) -> str:
    """What a batch does, or would do; of a plan also how many memories its scope has."""
    return summary_of([batch])


def summary_of(batches: Iterable[Batch]) -> str:
    """What several batches do together; nothing counts as done while any of them is a plan."""
    counts: Counter[str] = Counter()
    memories: dict[int | None, int] = {}  # of each scope, once, however many batches it has
    are_plans = False
    for batch in batches:
        are_plans |= is_plan(batch.state)
        # the memories it could take: as the safety limit counted them, else all of its scope
        counted = [reason["live"] for reason in batch.held_because if reason["code"] == HoldReason.SHARE]
        number = int(counted[0]) if counted else batch.scope.entry_count if batch.scope else 0
        memories[batch.scope_id] = max(memories.get(batch.scope_id, 0), number)
        for verb, number in batch.counts.items():
            if verb in BatchVerb.values:
                counts[_KINDS.get(BatchVerb(verb), verb)] += number
    parts, of_all = [], sum(memories.values())
    for kind, (plan_text, done_text) in _WORDS.items():
        if number := counts[kind]:
            text = str(plan_text if are_plans else done_text) % {"n": f"{number:,}"}
            if kind == "retire" and are_plans and number <= of_all:
                of = gettext("%(text)s of %(memories)s memories, %(share)s")
                text = of % {"text": text, "memories": f"{of_all:,}", "share": share_of(number, of_all)}
            parts.append(text)
    return gettext("; ").join(parts) or gettext("nothing to change")


def share_of(number: int, all_of_them: int) -> str:
    """A share as people say it: «a fifth», else in percent."""
    share = number / all_of_them
    near, words = min(_SHARES, key=lambda row: abs(row[0] - share))
    if number == all_of_them or (near < 1 and abs(near - share) <= NEAR and share > NEAR):
        return str(words)
    return gettext("less than 1 %%") % () if share < 0.01 else gettext("%(n)d %%") % {"n": min(round(share * 100), 99)}


PER_PAGE = 50
_TAKING = (*RETIRING, BatchVerb.MERGE)
#: Pages a batch leads to.
PAGES = ("approve", "refuse", "plan", "undo", "restore", "run", "try")
SOURCES_SHOWN = 12
REFUSED_SHOWN = 50
STATE_COLORS = {
    BatchState.PROPOSED: "warning",
    BatchState.APPLYING: "info",
    BatchState.APPLIED: "success",
    BatchState.UNDONE: None,
    BatchState.REFUSED: "danger",
}
ROW_STATE_COLORS = {ChangeState.APPLIED: "success", ChangeState.LEFT: "warning"}
VERB_COLORS = {
    BatchVerb.CREATE: "success",
    BatchVerb.TELL: "success",
    BatchVerb.RESTORE: "success",
    BatchVerb.EXPIRE: "danger",
    BatchVerb.ARCHIVE: "danger",
    BatchVerb.QUARANTINE: "danger",
    BatchVerb.CHANGE: "info",
}

#: What a batch cost, of what it keeps; how far it has read stays with the job.
COSTS = {
    "model": _("model"),
    "calls": COUNT_LABELS["calls"],
    "tokens": _("tokens"),
    "verified": COUNT_LABELS["verified"],
    "quoted": _("facts that are only quoted"),
    **{name: COUNT_LABELS[name] for name in ("refused", "unreadable")},
    "reader": _("model of the second reading"),
    **{name: COUNT_LABELS[name] for name in ("read", "unread", "decoys", "decoys_passed")},
    "judged": _("groups of facts that were compared"),
}


@dataclass(kw_only=True)
class ChangeRow:
    """A row of a batch with its labels and colours."""

    description: Description
    verb: Any
    verb_color: str | None
    state: Any
    state_color: str | None
    may_reword: bool
    wording: list[tuple[str, str]] | None
    lines: list[FieldChange] = field(default_factory=list)

    @property
    def words(self) -> str:
        """The content, where it does not change."""
        return self.description.before or self.description.after or ""

    @property
    def sources(self) -> list[Entry]:
        return self.description.sources[:SOURCES_SHOWN]

    @property
    def more_sources(self) -> int:
        return max(len(self.description.sources) - SOURCES_SHOWN, 0)

    @property
    def is_gone(self) -> bool:
        """Whether it took its memory out of use: what is only planned took nothing."""
        return self.description.change.state == ChangeState.APPLIED and self.description.change.verb in _TAKING

    @property
    def about(self) -> list[str]:
        """When it was written, what it is about, and by whom."""
        change = self.description.change
        if change.event:
            return [date_format(change.event.local_date)]
        source: Any = change.entry or getattr(self.description.step, "draft", None)
        moment = getattr(source, "stated_at", None) or getattr(source, "at", None)
        category = getattr(source, "category", "")
        values = (
            date_format(localtime(moment)) if moment else "",
            str(dict(Category.choices).get(category, category)),
            getattr(source, "speaker", "") or getattr(source, "sender_id", ""),
        )
        return [value for value in values if value]

    @property
    def new_words(self) -> str:
        """The initial value of the form that rewords it."""
        return self.description.after or self.description.before or ""


def undo_link(made_batches: Iterable[Batch]) -> str:
    """A link to what one action made, from where all of it is undone at once: the batch, or the run of several."""
    batches = list(made_batches)
    if not batches:
        return ""
    address = batch_url(batches[0], "change" if len(batches) == 1 else "run")
    return format_html('<a class="mp-link underline" href="{}">{}</a>', address, gettext("Look at it or undo it"))


def page(model_admin: Any, request: HttpRequest, batch: Batch) -> HttpResponse:
    filters = {
        name: request.GET[name]
        for name, values in (("verb", BatchVerb.values), ("state", ChangeState.values))
        if request.GET.get(name) in values
    }
    changes = BatchChange.objects.filter(workspace_id=batch.workspace_id, batch=batch)
    pages = Paginator(changes.filter(**filters).order_by("position").select_related("entry", "event"), PER_PAGE)
    rows = pages.get_page(request.GET.get("page"))
    may = may_in(request, batch.workspace_id)
    # What its run was offered and did not keep; of all scopes, for some of it has none
    refused = RefusedFact.objects.filter(workspace_id=batch.workspace_id, run=batch.run)
    context: dict[str, Any] = {
        "who": actor_label(batch.actor),
        "decided_by": actor_label(batch.decided_by),
        "may": may,
        "title": batch_name(batch),
        "subtitle": str(batch.scope or ""),
        "batch": batch,
        "back": return_url(request, reverse("admin:memories_batch_changelist")),
        "addresses": {what: batch_url(batch, what, request) for what in PAGES},
        "what": summary(batch),
        "of_run": Batch.objects.filter(workspace_id=batch.workspace_id, run=batch.run).exclude(pk=batch.pk).count(),
        "state": BatchState(batch.state),
        "state_color": STATE_COLORS[BatchState(batch.state)],
        "reasons": batches.approval_reasons(batch) if batch.state == BatchState.PROPOSED else [],
        "past_reasons": batches.approval_reasons(batch) if batch.state != BatchState.PROPOSED else [],
        "cost": [FieldChange(str(COSTS[name]), "", _cost(batch.cost[name])) for name in COSTS if batch.cost.get(name)],
        "refused": refused[:REFUSED_SHOWN],
        "undone_by": batch.undone_by.order_by("pk"),
        "row_states": rows_by_state(changes),
        "verbs": [(verb, BatchVerb(verb).label) for verb in sorted(batch.counts) if verb in BatchVerb.values],
        "filters": filters,
        "rows": [change_row(batch, description) for description in batches.describe(batch, list(rows.object_list))],
        "page": rows,
        "branch": _branch(batch, may) if batch.name == branches.NAME else None,
        **_may_be_done(batch, may),
    }
    response = own_page(request, "admin/memories/batch.html", context, model_admin)
    return with_planned(response, [row.description for row in context["rows"]])


def _may_be_done(batch: Batch, may: Mapping[str, bool]) -> dict[str, Any]:
    """What somebody with these rights may do with a batch in its state."""
    is_applied = batch.state == BatchState.APPLIED
    is_over = is_applied and not batches.with_effect(Batch.objects.filter(pk=batch.pk)).exists()
    has_written = is_applied and BatchVerb.CREATE in batch.counts
    has_undo = is_applied and batch.scope_id is not None and not is_irreversible(batch)
    return {
        "may_decide": may["curate"] and batch.state == BatchState.PROPOSED,
        "may_approve": may[right_to_approve(batch)] and bool(batch.counts),
        "may_try": trial.is_open(batch),
        "quarantine_url": quarantine_url(batch=batch.pk) if may["curate"] and has_written else "",
        "is_over": is_over,
        "may_restore": may["curate"] and is_expiry(batch) and not is_over,
        "may_undo": may["operate"] and has_undo and not is_over,
    }


def _cost(value: Any) -> str:
    """A number as people read it; of a list how many it names."""
    number = len(value) if isinstance(value, list | dict) else value
    return f"{number:,}" if isinstance(number, int) else str(number)


def is_expiry(batch: Batch) -> bool:
    """Whether the expiry job applied it, so that people may restore its entries with a term."""
    return expiry.is_job_batch(batch) and batch.state == BatchState.APPLIED


def is_irreversible(batch: Batch) -> bool:
    """Whether it purges: the one kind of batch without undo."""
    return BatchVerb.PURGE in batch.counts


def _branch(batch: Batch, may: Mapping[str, bool]) -> dict[str, Any]:
    """What may be put on a branch, and from where; of one that was decided on nothing."""
    if batch.state != BatchState.PROPOSED or not may["curate"]:
        return {}
    entries_of = f"{reverse('admin:memories_entry_changelist')}?scope__id__exact={batch.scope_id}"
    return {
        "others": [(other, batch_name(other), summary(other)) for other in branches.others(batch)],
        "entries": entries_of,
        "import": reverse("import") if may["operate"] else "",
        "policies": f"{reverse('admin:memories_policy_changelist')}?of={batch.workspace_id}" if may["operate"] else "",
        "tidy": batch_url(batch, "tidy") if may["operate"] and llm.is_on() else "",
        "take_in": batch_url(batch, "take_in"),
    }


def right_to_approve(batch: Batch) -> str:
    """What it takes beyond deciding on plans: what purges has no undo, and a policy holds in all memories."""
    return "erase" if is_irreversible(batch) else "operate" if BatchVerb.POLICY in batch.counts else "curate"


def counts_by_verb(batch: Batch) -> str:
    """The number of rows of each verb, as a label."""
    return " · ".join(f"{BatchVerb(verb).label}: {n:,}" for verb, n in batch.counts.items() if verb in BatchVerb.values)


def rows_by_state(changes: Any) -> list[tuple[str, Any, int]]:
    """The number of rows in each state."""
    counted = dict(changes.order_by().values_list("state").annotate(n=Count("*")))
    return [(state.value, state.label, counted[state]) for state in ChangeState if state in counted]


def batch_url(batch: Batch, what: str = "change", request: HttpRequest | None = None) -> str:
    """A page of a batch; given a request, with its way back handed on."""
    address = reverse(f"admin:memories_batch_{what}", args=[batch.pk])
    return with_return_url(request, address) if request else address


def change_row(batch: Batch, description: Description) -> ChangeRow:
    """A row of a batch, with labels and colours."""
    change = description.change
    verb, state = BatchVerb(change.verb), ChangeState(change.state)
    is_open = batch.state == BatchState.PROPOSED and state == ChangeState.PLANNED
    # The word diff of the content; what is made of others is compared with their contents
    before, after, wording = description.before, description.after, None
    if before is None:
        before = "\n".join(source.content for source in description.sources)
    if after is not None and before != after:
        wording = word_diff(before, after)
    lines = []
    for name, (old, new) in description.columns.items():
        if name in ATTRIBUTES:
            values = (entries.read_columns({name: value})[name] for value in (old, new))
            lines.append(field_change(Entry, name, *values))
        else:
            lines.append(FieldChange(str(_MARKS[name]), display_value(None, old), display_value(None, new)))
    lines += [slot_change(name, *values) for name, values in description.slots.items()]
    # The term of a restored entry; whether an undo overrides later changes
    if description.policy:
        changes = changes_between(*description.policy)
        lines += [FieldChange(each.number.full_label, each.before, each.after) for each in changes]
    elif isinstance(description.step, RestoreStep) and isinstance(description.step.term_seconds, float):
        days = gettext("%(days)g days") % {"days": description.step.term_seconds / 86_400}
        lines.append(FieldChange(gettext("New term"), "—", days))
    elif isinstance(description.step, UndoStep) and description.step.force:
        lines.append(FieldChange(gettext("Changed since"), "—", pgettext("batch", "taken back too")))
    return ChangeRow(
        description=description,
        verb=verb.label,
        verb_color=VERB_COLORS.get(verb),
        state=state.label,
        state_color=ROW_STATE_COLORS.get(state),
        may_reword=is_open and verb in (BatchVerb.CREATE, BatchVerb.CHANGE),
        wording=wording,
        lines=lines,
    )


_MARKS = {
    "expired": State.EXPIRED.label,
    "archived": State.ARCHIVED.label,
    "quarantined": State.QUARANTINED.label,
    "suppressed": State.SUPPRESSED.label,
    "superseded": State.SUPERSEDED.label,
}

"""What a batch does in words: «would retire 12 of 60 memories, a fifth»."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories.batches.planning import RETIRING
from memories.choices import BatchState, BatchVerb, HoldReason
from memories.models import Batch

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
    """What several batches do together; nothing is said to be done while any of them is a plan."""
    counts: Counter[str] = Counter()
    memories, are_plans = 0, False
    for batch in batches:
        are_plans |= is_plan(batch.state)
        memories += _memories(batch)
        for verb, number in batch.counts.items():
            if verb in BatchVerb.values:
                counts[_KINDS.get(BatchVerb(verb), verb)] += number
    parts = [
        _part(kind, counts[kind], are_plans, memories if kind == "retire" and are_plans else 0)
        for kind in _WORDS
        if counts[kind]
    ]
    return gettext("; ").join(parts) or gettext("nothing to change")


def _memories(batch: Batch) -> int:
    """How many memories there are that it could take: as the safety limit counted them, else all of its scope."""
    counted = [reason["live"] for reason in batch.held_because if reason["code"] == HoldReason.SHARE]
    return int(counted[0]) if counted else batch.scope.entry_count if batch.scope else 0


def _part(kind: str, number: int, are_plans: bool, memories: int) -> str:
    planned, done = _WORDS[kind]
    text = str(planned if are_plans else done) % {"n": f"{number:,}"}
    if not memories or number > memories:
        return text
    of = gettext("%(text)s of %(memories)s memories, %(share)s")
    return of % {"text": text, "memories": f"{memories:,}", "share": share_of(number, memories)}


def share_of(number: int, all_of_them: int) -> str:
    """A share as people say it: «a fifth», else in percent."""
    share = number / all_of_them
    near, words = min(_SHARES, key=lambda known: abs(known[0] - share))
    if number == all_of_them or (near < 1 and abs(near - share) <= NEAR and share > NEAR):
        return str(words)
    return gettext("less than 1 %%") % () if share < 0.01 else gettext("%(n)d %%") % {"n": min(round(share * 100), 99)}

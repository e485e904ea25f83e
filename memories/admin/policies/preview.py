"""What other policies would change, before they are saved: what is served, and the answers to the last questions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

from django.db import OperationalError, connection, transaction
from django.utils.translation import gettext

from memories.admin.policies.numbers import NumberChange, changes_between
from memories.admin.policies.versions import Values
from memories.choices import PolicyKind
from memories.evaluation.pinned import NewlyFailing, newly_failing
from memories.kinds import SECRET
from memories.lifecycle import expiry
from memories.models import Entry, Policy, Workspace
from memories.models.policy import Policies
from memories.recall import what_if

#: Seconds the database may take to count what would end.
COUNT_SECONDS = 5
#: And the pinned tests, about so many.
PINNED_SECONDS = 3.0
SAMPLES, ANSWERS_SHOWN, WORDS = 6, 12, 160


@dataclass(frozen=True)
class Sample:
    """A memory by its words; of a credential none are shown."""

    entry: Entry

    @property
    def words(self) -> str:
        return gettext("a credential") if self.entry.category in SECRET else self.entry.content[:WORDS]


@dataclass(frozen=True)
class AnswerRow:
    """A question whose answer would change, with the memories that go and come."""

    other: what_if.OtherAnswer
    went: list[Sample]
    came: list[Sample]


@dataclass
class Preview:
    """What saving these policies would do."""

    wanted: Values
    before: str  # a fingerprint of what holds now
    changes: list[NumberChange]
    serving: expiry.ServingChange | None = None  # None: no time to live changes, or it was not counted in time
    is_uncounted: bool = False
    samples: list[Sample] = field(default_factory=list)
    answers: what_if.AskedAgain | None = None
    rows: list[AnswerRow] = field(default_factory=list)
    pinned: NewlyFailing | None = None

    @property
    def more_samples(self) -> int:
        return max((self.serving.ended if self.serving else 0) - len(self.samples), 0)

    @property
    def more_rows(self) -> int:
        return max((len(self.answers.others) if self.answers else 0) - len(self.rows), 0)


def fingerprint(values: Values) -> str:
    """Equal for the same policies."""
    return sha256(repr(sorted(values.items())).encode()).hexdigest()[:16]


def preview(workspace: Workspace, wanted: Values, *, now: datetime) -> Preview:
    """What these policies would change in a workspace, in bounded time; nothing is kept."""
    present = Policy.objects.of(workspace.pk)
    result = Preview(wanted, fingerprint(present.values), changes_between(present.values, wanted))
    if not result.changes:
        return result
    after = Policies.of_values(wanted)
    if any(change.number.kind == PolicyKind.TTL for change in result.changes):
        _count(result, workspace, present, after, now)
    result.answers = what_if.ask_again(workspace.pk, present, after, now=now, zone=workspace.zone())
    result.rows = _rows(workspace, result.answers.others[:ANSWERS_SHOWN])
    result.pinned = newly_failing(workspace, after, now=now, seconds=PINNED_SECONDS)
    return result


def _count(result: Preview, workspace: Workspace, present: Policies, after: Policies, now: datetime) -> None:
    """How many memories would end, and some of them; or that the database needs too long."""
    try:
        with _seconds(COUNT_SECONDS):
            result.serving = expiry.change_of_serving(workspace.pk, present, after, now=now)
            if result.serving.ended:
                rows = expiry.newly_over(workspace.pk, present, after, now=now)[:SAMPLES]
                result.samples = [Sample(entry) for entry in rows]
    except OperationalError:
        result.is_uncounted = True


@contextmanager
def _seconds(most: float) -> Iterator[None]:
    """A transaction whose statements may take so long each. Raises OperationalError where one does not end."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{int(most * 1000)}ms"])
        yield


def _rows(workspace: Workspace, others: Sequence[what_if.OtherAnswer]) -> list[AnswerRow]:
    named = {entry for other in others for entry in (*other.went, *other.came)}
    found = Entry.objects.filter(workspace_id=workspace.pk).in_bulk(named)

    def samples(entries: Sequence[int]) -> list[Sample]:
        return [Sample(found[entry]) for entry in entries if entry in found]

    return [AnswerRow(other, samples(other.went), samples(other.came)) for other in others]

"""The history of an entry as a page: what changed word by word, who did it, and a way back to any version."""

from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext, pgettext

from memories import entries
from memories.admin.access import actor_of
from memories.admin.history import FieldChange, HistoryStep, RevertibleHistory, field_change, slot_change
from memories.admin.masking import is_secret
from memories.choices import Operation
from memories.entries.fields import SLOT_FIELD
from memories.entries.history import Revision, history_of
from memories.models import Batch, Entry


class EntryHistory(RevertibleHistory):
    """The history page of entries: word by word, with the batch of each change; slots can be brought back, too."""

    def history_steps(self, row: Entry) -> list[HistoryStep]:
        revisions = history_of(row)
        wanted = {revision.batch_id for revision in revisions if revision.batch_id}
        batches = Batch.objects.filter(workspace_id=row.workspace_id).in_bulk(wanted)
        return [_history_step(revision, row, batches) for revision in reversed(revisions)]

    def differences(self, row: Entry, version: int) -> dict[str, tuple[Any, Any]]:
        """Words, attributes and slots; liveness has its own verbs."""
        return entries.differences(row, version)

    def difference_line(self, name: str, was: Any, present: Any) -> FieldChange:
        if name.startswith(SLOT_FIELD):
            return slot_change(name.removeprefix(SLOT_FIELD), present, was)
        return field_change(Entry, name, present, was)

    def revert_question(self, row: Entry, version: int, pairs: dict[str, tuple[Any, Any]]) -> dict[str, Any]:
        text = gettext(
            "The entry gets back what is ticked. What it says now stays in the history. "
            "Whether it is in use does not change."
        )
        return {"text": text, "rows": [pairs.get("content", [row.content])[0]]}

    def revert(self, request: HttpRequest, row: Entry, version: int, values: dict[str, Any]) -> None:
        entries.revert(row, version, only=list(values), now=timezone.now(), actor=actor_of(request))


def _history_step(revision: Revision, entry: Entry, batches: dict[int, Batch]) -> HistoryStep:
    shown = {name: pair for name, pair in revision.columns.items() if name != "content" or not revision.wording}
    return HistoryStep(
        version=revision.version,
        at=revision.at,
        actor=revision.actor,
        headline=_headline(revision),
        lines=[field_change(Entry, name, *pair) for name, pair in shown.items()]
        + [slot_change(name, *pair) for name, pair in revision.slots.items()],
        wording=[] if is_secret(entry) else revision.wording,
        batch=batches.get(revision.batch_id) if revision.batch_id else None,
        is_present=revision.version == entry.version,
    )


def _headline(revision: Revision) -> str:
    if revision.operation == Operation.INSERT:
        return gettext("Remembered")
    if "expired_at" in revision.columns:
        return gettext("Taken out of use") if revision.columns["expired_at"][1] else gettext("Brought back into use")
    if "archived_at" in revision.columns and revision.columns["archived_at"][1]:
        return gettext("Archived")
    if revision.wording:
        return gettext("Reworded")
    return pgettext("history", "Changed")

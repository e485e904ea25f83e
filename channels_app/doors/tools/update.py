"""memory_update: a line of a file, or a memory that was saved, corrected where it stands (C2).

The words before stay in the history of the memory, and the correction is a batch that can be undone. What was said word
for word is nobody's to reword.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from django.utils.translation import gettext as _

from channels_app.doors.tools.get import is_row, reveals, uid_in
from channels_app.doors.tools.place import Place
from channels_app.doors.tools.search import ENTRIES
from memories import batches, entries
from memories.batches import PlanRow
from memories.batches.steps import EditStep
from memories.choices import EntryType
from memories.entries.changes import Edit
from memories.exceptions import InvalidDraft, PathNotAllowed
from memories.files.layout import read_reference, resolve_path
from memories.language import quoting
from memories.models import Entry
from memories.models.change import acting
from memories.notes.index import sync_file
from memories.recall.eligibility import readable_entry
from memories.recall.query import opening_of
from memories.visibility import scope_to_write
from sessions_app.choices import in_language

UPDATED, UNCHANGED = "updated", "unchanged"
OUTCOMES = (UPDATED, UNCHANGED)
#: What a person or a bot wrote; the others are what was said.
REWORDED = (EntryType.NOTE, EntryType.FACT, EntryType.USER_EXPLICIT)
SHOWN = 200  # characters of a memory

TOLD = {
    UPDATED: {
        "en": "Corrected: «{before}» is now «{content}» [{path}]. The words before are kept in its history.",
        "zh-hans": "已更正：“{before}”改为“{content}” [{path}]。原来的文字保留在历史里。",
    },
    UNCHANGED: {"en": "It says that already: «{content}» [{path}].", "zh-hans": "内容本来就是“{content}” [{path}]。"},
}


@dataclass(frozen=True, kw_only=True)
class UpdatedMemory:
    """A memory with its new words, and those it had."""

    path: str
    line: int | None  # of a file
    entry: UUID
    scope: str
    before: str
    content: str
    outcome: str
    batch: UUID | None  # by which it is undone
    language: str = "en"  # of what is said about it


def memory_update(place: Place, *, path: str, content: str, now: datetime) -> UpdatedMemory:
    """Give a line of a file, or a memory that was saved, other words.

    Raises PathNotAllowed for what no memory_get could read here, InvalidDraft for what cannot be reworded or words that
    cannot be stored, LineChanged, ScopeFrozen, InvalidAddress, ScopeNotFound; then nothing is changed.
    """
    entry = _entry(place, path, now)
    if entry.type not in REWORDED:
        message = _("This is what was said, word for word. Save the correction with memory_save instead.")
        raise InvalidDraft(message, field="path")
    before, content = entry.content, content.strip()
    if before == content:
        return _updated(place, entry, before, UNCHANGED)
    batch = _reword(place, entry, content, now)
    if entry.path:
        sync_file(entry.scope, entry.path, now=now)
    entry = Entry.objects.select_related("scope").get(pk=entry.pk, workspace_id=place.caller.workspace_id)
    return _updated(place, entry, before, UPDATED, batch)


def _entry(place: Place, path: str, now: datetime) -> Entry:
    """The memory that is meant, in a scope this place may write to as a whole."""
    file, line = read_reference(path)
    if uid := uid_in(path):
        query = place.query("", limit=1)
        entry = readable_entry(query, uid, opening_of(query, now=now).policies, now) if query.places else None
        here = {one.scope.pk for one in place.places if one.ref.only_chat is None}
        if entry is None or entry.scope_id not in here or reveals(place, entry.content, entry.origins):
            raise PathNotAllowed(_("This path leads to no memory here; find it with memory_search."))
        return entry
    if is_row(file):
        raise PathNotAllowed(_("This path leads to no line of a note and no memory that was saved."))
    entry = _entry_of_line(place, file, line, now)
    if entry is None:
        message = _("No memory stands there: name its line, such as %(path)s:12, as memory_get numbers it.")
        raise InvalidDraft(message % {"path": file}, field="path")
    return entry


def _entry_of_line(place: Place, file: str, line: int | None, now: datetime) -> Entry | None:
    """The memory of a line as the file stands now. Raises PathNotAllowed."""
    folder, _place = resolve_path(place.folders, file)
    if line is None:
        return None
    scope = scope_to_write(place.caller, folder.scope_key)
    sync_file(scope, file, now=now)
    here = Entry.objects.in_scope(scope).live().filter(path=file, line_from__lte=line, line_to__gte=line)
    return here.select_related("scope__workspace").order_by("-line_from").first()


def _reword(place: Place, entry: Entry, content: str, now: datetime) -> UUID:
    """Change the words as a batch; its id."""
    step = EditStep(columns={"content": content})
    actor, run = place.caller.actor, f"{step.verb}:{uuid4()}"
    with acting(actor):
        scope = entries.lock_scopes([entry.scope])[entry.scope_id]
        entries.lift_suppression(scope, content, now=now, actor=actor)
        batch = batches.begin_applied(scope, name=step.verb, run=run, actor=actor, now=now, reason="")
        with acting(actor, batch=batch.pk, run=run):
            entries.update(entry, Edit(columns={"content": content}), now=now, actor=actor)
            batches.add_applied(batch, [PlanRow(step=step, entry_id=entry.pk, version=entry.version)])
    return batch.uid


def _updated(place: Place, entry: Entry, before: str, outcome: str, batch: UUID | None = None) -> UpdatedMemory:
    return UpdatedMemory(
        path=entry.path or f"{ENTRIES}/{entry.uid}",
        line=entry.line_from if entry.path else None,
        entry=entry.uid,
        scope=entry.scope.key,
        before=before,
        content=entry.content,
        outcome=outcome,
        batch=batch,
        language=place.caller.language,
    )


def shown(updated: UpdatedMemory) -> str:
    """What a model is told."""
    words = {"before": updated.before, "content": updated.content}
    cut = {name: quoting.between_marks(value, SHOWN) for name, value in words.items()}
    path = f"{updated.path}:{updated.line}" if updated.line else updated.path
    return in_language(TOLD[updated.outcome], updated.language).format(path=path, **cut)

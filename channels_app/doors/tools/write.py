"""The tools that change memory: memory_save, memory_append, memory_update, memory_forget, memory_restore."""

from dataclasses import dataclass, field, replace
from itertools import islice
from uuid import UUID, uuid4

from django.utils.translation import gettext as _

from channels_app import addresses
from channels_app.addresses import check_scope_key, ensure_channel
from channels_app.doors.tools.get import DAYS, day_in, is_row, reveals, uid_in
from channels_app.doors.tools.place import Place
from channels_app.doors.tools.search import ENTRIES, NOTES, memory_search
from memories import batches, entries
from memories.batches import PlanRow
from memories.batches.steps import EditStep, ExpireStep, RestoreStep
from memories.choices import EntryType
from memories.entries import daily_events
from memories.entries.changes import Edit
from memories.entries.files import folder_of
from memories.exceptions import EntryNotFound, InvalidAddress, InvalidDraft, PathNotAllowed
from memories.files.comments import short_id
from memories.files.layout import ScopeFolder, read_reference, resolve_path
from memories.language import quoting, text
from memories.models import DailyEvent, Entry, Policy
from memories.models.change import acting
from memories.notes.index import sync_file
from memories.notes.save import AppendedLine, Target, line_of_same, path_of, save_note
from memories.recall.eligibility import readable_entry
from memories.recall.events import forgotten_day, readable_day
from memories.recall.query import opening_of
from memories.tenancy.resolver import Resolution
from memories.visibility import entry_for, scope_to_write
from sessions_app.models import in_language

CREATED, BROUGHT_BACK, PENDING, KNOWN = "created", "brought_back", "pending", "known"
SAVE_OUTCOMES = (CREATED, BROUGHT_BACK, PENDING, KNOWN)
ONLY_UNDER = "memory/"
#: The session of what is saved to a scope by its key, in no conversation.
BY_SCOPE = "api"

SAVE_TEXTS = {
    CREATED: {"en": "Saved: [{path}:{line}].", "zh-hans": "已保存：[{path}:{line}]。"},
    BROUGHT_BACK: {
        "en": "Saved: [{path}:{line}]. This had been taken out of memory before; it is in use again.",
        "zh-hans": "已保存：[{path}:{line}]。这条内容之前被停用过，现在已恢复使用。",
    },
    PENDING: {
        "en": "Saved: [{path}:{line}]. It stands in the file; searches find it as soon as the file is indexed.",
        "zh-hans": "已保存：[{path}:{line}]。内容已写入文件，索引完成后即可检索到。",
    },
    KNOWN: {
        "en": "Known already: [{path}:{line}] says the same. Nothing was added.",
        "zh-hans": "早已记住：[{path}:{line}] 的内容相同，没有重复添加。",
    },
}


@dataclass(frozen=True, kw_only=True)
class SavedLine:
    """A line that was saved."""

    path: str
    line: int
    scope: str
    entry: UUID | None  # None: remembered as soon as that can be
    outcome: str
    language: str = "en"  # of the text for the model
    degraded: list[str] = field(default_factory=list)


def memory_save(place: Place, *, content: str, target: str) -> SavedLine:
    """Add a line to today's note, or to the long-term file; what a line of a note says already is not added again.

    Raises InvalidAddress, ScopeNotFound, ScopeFrozen, InvalidDraft; then nothing is written.
    """
    return _saved_line(place, content, target=Target(target), once=True)


def memory_append(place: Place, *, content: str, path: str | None = None) -> SavedLine:
    """Add lines to the end of a note under memory/, today's unless another is named; nothing is rewritten.

    Raises PathNotAllowed, and what memory_save raises.
    """
    return _saved_line(place, content, path=path)


def path_to_write(place: Place, folder: ScopeFolder, target: Target, path: str | None) -> str:
    """The file that lines are added to: a note of this scope under memory/ by its path, else that of a target.

    Raises PathNotAllowed.
    """
    if path is None:
        return path_of(folder, target, now=place.now, zone=place.caller.zone)
    file, _line = read_reference(path)
    resolve_path([folder], file)
    if not file.startswith(ONLY_UNDER) or folder.is_transcript(file):
        raise PathNotAllowed
    return file


def _saved_line(
    place: Place, content: str, *, target: Target = Target.DAILY, path: str | None = None, once: bool = False
) -> SavedLine:
    # The scope it is written to, begun where needed, and the session that is its source
    caller, resolution, now = place.caller, place.resolution, place.now
    if resolution is None:
        key, session = str(place.at), BY_SCOPE
        check_scope_key(caller.workspace_id, key)
        scope = scope_to_write(caller, key)
    else:
        key, session = scope_key_of(resolution), resolution.session_key
        scope = addresses.scope_to_write(caller, resolution, key)
        ensure_channel(caller.workspace_id, resolution.address)
    path = path_to_write(place, folder_of(scope), target, path)
    if once and not scope.frozen and (same := line_of_same(scope, path, content, now=now)) is not None:
        return saved_line(place, AppendedLine(same.path, same.line_from or 1), scope.key, KNOWN, same.uid)
    note = save_note(scope, path, content, now=now, session=session, call=mark_of(place, content), actor=caller.actor)
    outcome = PENDING if note.entry is None else BROUGHT_BACK if note.ended_suppression else CREATED
    answer = saved_line(place, note, scope.key, outcome, note.entry.uid if note.entry else None)
    return replace(answer, degraded=note.degraded)


def saved_line(place: Place, line: AppendedLine, scope_key: str, outcome: str, entry: UUID | None = None) -> SavedLine:
    """What is answered of a line in its file."""
    return SavedLine(
        path=line.path,
        line=line.line,
        scope=scope_key,
        entry=entry,
        outcome=outcome,
        language=place.caller.language,
        degraded=list(place.degraded),
    )


def mark_of(place: Place, content: str) -> str:
    """What identifies the line that a call wrote, when the call is sent again; empty: it has no key.

    The file tells of it, for what the database knew is gone when it was away.
    """
    return short_id(f"{place.call}\0{content}") if place.call else ""


def scope_key_of(resolution: Resolution) -> str:
    """Whose memory it becomes: the group's, else the person's. Raises InvalidAddress (E3)."""
    key = resolution.chat_scope or resolution.user_scope
    if key is None:
        raise InvalidAddress("Nobody is named here whose memory it could become: the address needs a peer.")
    return key


def shown_saved(line: SavedLine) -> str:
    """The text for a model."""
    return in_language(SAVE_TEXTS[line.outcome], line.language).format(path=line.path, line=line.line)


UPDATED, UNCHANGED = "updated", "unchanged"
UPDATE_OUTCOMES = (UPDATED, UNCHANGED)
#: What a person or a bot wrote; the others are conversation.
REWORDED = (EntryType.NOTE, EntryType.FACT, EntryType.USER_EXPLICIT)
SHOWN = 200  # characters of a memory

UPDATE_TEXTS = {
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
    language: str = "en"  # of the text for the model


def memory_update(place: Place, *, path: str, content: str) -> UpdatedMemory:
    """Give a line of a file, or a memory that was saved, other words.

    Raises PathNotAllowed for what no memory_get could read here, InvalidDraft for what cannot be reworded or words that
    cannot be stored, LineChanged, ScopeFrozen, InvalidAddress, ScopeNotFound; then nothing is changed.
    """
    entry = _entry(place, path)
    if entry.type not in REWORDED:
        message = _("This is what was said, word for word. Save the correction with memory_save instead.")
        raise InvalidDraft(message, field="path")
    before, content = entry.content, content.strip()
    if before == content:
        return _updated_memory(place, entry, before, UNCHANGED)
    # Change the words as a batch
    step = EditStep(columns={"content": content})
    actor, now, run = place.caller.actor, place.now, f"{step.verb}:{uuid4()}"
    with acting(actor):
        scope = entries.lock_scopes([entry.scope])[entry.scope_id]
        entries.lift_suppression(scope, content, now=now, actor=actor)
        batch = batches.begin_applied(scope, name=step.verb, run=run, actor=actor, now=now, reason="")
        with acting(actor, batch=batch.pk, run=run):
            entries.update(entry, Edit(columns={"content": content}), now=now, actor=actor)
            batches.add_applied(batch, [PlanRow(step=step, entry_id=entry.pk, version=entry.version)])
    if entry.path:
        sync_file(entry.scope, entry.path, now=now)
    entry = Entry.objects.select_related("scope").get(pk=entry.pk, workspace_id=place.caller.workspace_id)
    return _updated_memory(place, entry, before, UPDATED, batch.uid)


def _entry(place: Place, path: str) -> Entry:
    """The memory that is meant, in a scope this place may write to as a whole."""
    (file, line), now = read_reference(path), place.now
    if uid := uid_in(path):
        query = place.query("", limit=1)
        entry = readable_entry(query, uid, opening_of(query, now=now).policies, now) if query.places else None
        here = {searched.scope.pk for searched in place.places if searched.ref.only_chat is None}
        if entry is None or entry.scope_id not in here or reveals(place, entry.content, entry.origins):
            raise _no_memory()
        return entry
    if is_row(file):
        raise PathNotAllowed(_("This path leads to no line of a note and no memory that was saved."))
    # The memory of a line as the file stands now
    folder, _place = resolve_path(place.folders, file)
    entry = None
    if line is not None:
        scope = scope_to_write(place.caller, folder.scope_key)
        sync_file(scope, file, now=now)
        of_line = Entry.objects.in_scope(scope).live().filter(path=file, line_from__lte=line, line_to__gte=line)
        entry = of_line.select_related("scope__workspace").order_by("-line_from").first()
    if entry is None:
        message = _("No memory stands there: name its line, such as %(path)s:12, as memory_get numbers it.")
        raise InvalidDraft(message % {"path": file}, field="path")
    return entry


def _updated_memory(place: Place, entry: Entry, before: str, outcome: str, batch: UUID | None = None) -> UpdatedMemory:
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


def shown_updated(memory: UpdatedMemory) -> str:
    """The text for a model."""
    words = {"before": memory.before, "content": memory.content}
    excerpts = {name: quoting.between_marks(value, SHOWN) for name, value in words.items()}
    path = f"{memory.path}:{memory.line}" if memory.line else memory.path
    return in_language(UPDATE_TEXTS[memory.outcome], memory.language).format(path=path, **excerpts)


FORGOTTEN, RESTORED = "forgotten", "restored"
FORGET_OUTCOMES = (FORGOTTEN, RESTORED)

FORGET_TEXTS = {
    FORGOTTEN: {
        "en": "Forgotten: «{content}». It is out of use and can be restored: memory_restore with {path}.",
        "zh-hans": "已忘记：“{content}”。这条记忆已停用，可以恢复：用 memory_restore，路径 {path}。",
    },
    RESTORED: {"en": "In use again: «{content}» [{path}].", "zh-hans": "已恢复使用：“{content}” [{path}]。"},
}
SIMILAR_TEXT = {
    "en": "Still remembered, and perhaps the same; forget these as well if the user means them:",
    "zh-hans": "以下内容仍被记住，可能说的是同一件事；如果用户指的也是这些，请一并忘记：",
}
#: Of the terms of what was forgotten, the share that another memory has to hold to be named beside it.
SIMILAR_FROM = 0.6
SIMILAR_MOST = 3


@dataclass(frozen=True)
class SimilarMemory:
    """Another memory of the place that says most of what was forgotten."""

    path: str
    content: str


@dataclass(frozen=True, kw_only=True)
class ChangedMemory:
    """A memory, or the event of a day, that was taken out of use or brought back, with its copies in other scopes."""

    path: str
    content: str
    scope: str
    outcome: str
    copies: int
    similar: tuple[SimilarMemory, ...] = ()  # that are in use still
    language: str = "en"  # of the text for the model


def memory_forget(place: Place, *, path: str) -> ChangedMemory:
    """Take a memory that could be read here out of use; no machine writes it again until it is restored.

    Raises PathNotAllowed for what is no memory of this place, InvalidAddress, ScopeNotFound, ScopeFrozen.
    """
    query, now = place.query("", limit=1), place.now
    if day_uid := day_in(path):
        day = readable_day(day_uid, place.places, Policy.objects.of(place.caller.workspace_id), now)
        day = _change_day(place, day, ExpireStep())
        if day:
            return _changed_memory(place, DAYS, day, FORGOTTEN)
    # By its own path, or by the line of the file it stands in
    uid = uid_in(path)
    file, line = read_reference(path)
    if uid is None and line is not None:
        lines = Entry.objects.live().filter(scope__in=[searched.scope for searched in place.places], path=file)
        uid = lines.filter(line_from__lte=line, line_to__gte=line).values_list("uid", flat=True).first()
    entry = readable_entry(query, uid, opening_of(query, now=now).policies, now) if uid and query.places else None
    if entry is None:
        raise _no_memory()
    ended_entry, copies = entries.expire_with_copies(
        entry,
        along=entries.is_own_statement(entry),
        reach=place.caller.may_reach,
        now=now,
        actor=place.caller.actor,
    )
    memory = _changed_memory(place, ENTRIES, ended_entry, FORGOTTEN, sum(not copy.is_live() for copy in copies))
    # What says most of the same: the turn in which it was told, a note beside it. They were stored by themselves, so
    # that nobody but the user can say whether they are meant, too.
    results = memory_search(place, query=ended_entry.content, max_results=2 * SIMILAR_MOST).results
    similar = (
        SimilarMemory(f"{result.path}:{result.line}" if result.source == NOTES else result.path, result.snippet)
        for result in results
        if result.source in (NOTES, ENTRIES) and text.coverage(ended_entry.content, [result.snippet]) >= SIMILAR_FROM
    )
    return replace(memory, similar=tuple(islice(similar, SIMILAR_MOST)))


def memory_restore(place: Place, *, path: str) -> ChangedMemory:
    """Bring a memory of this place back into use, for as long as its policy says. Raises what memory_forget does.

    In a group a person's own are left to where the person talks alone, unless the group may hear everything.
    """
    if day_uid := day_in(path):
        day = _change_day(place, forgotten_day(day_uid, place.places), RestoreStep())
        if day:
            return _changed_memory(place, DAYS, day, RESTORED)
    uid = uid_in(path)
    try:
        entry = entry_for(place.caller, uid) if uid else None
    except EntryNotFound as unknown:
        raise _no_memory() from unknown
    here = {searched.scope.pk for searched in place.places if searched.ref.only_chat is None}
    if entry is None or entry.scope_id not in here or reveals(place, entry.content, entry.origins):
        raise _no_memory()
    back, copies = entries.restore_with_copies(
        entry, along=True, reach=place.caller.may_reach, now=place.now, actor=place.caller.actor
    )
    return _changed_memory(place, ENTRIES, back, RESTORED, sum(copy.is_live() for copy in copies))


def _no_memory() -> PathNotAllowed:
    return PathNotAllowed(_("This path leads to no memory here; find it with memory_search."))


def _changed_memory(place: Place, source: str, row: Entry | DailyEvent, outcome: str, copies: int = 0) -> ChangedMemory:
    return ChangedMemory(
        path=f"{source}/{row.uid}",
        content=row.content,
        scope=row.scope.key,
        outcome=outcome,
        copies=copies,
        language=place.caller.language,
    )


def shown_forgotten(memory: ChangedMemory) -> str:
    """The text for a model."""
    excerpt = quoting.between_marks(memory.content, SHOWN)
    lines = [in_language(FORGET_TEXTS[memory.outcome], memory.language).format(content=excerpt, path=memory.path)]
    if memory.similar:
        lines.append(in_language(SIMILAR_TEXT, memory.language))
        lines += [f"- «{quoting.between_marks(other.content, SHOWN)}» [{other.path}]" for other in memory.similar]
    return "\n".join(lines)


# events of days: each change is a batch, to be undone like any other


def _change_day(place: Place, day: DailyEvent | None, step: ExpireStep | RestoreStep) -> DailyEvent | None:
    """Take the event of a day out of use, or bring it back; None: there is none here. Raises ScopeFrozen."""
    if day is None or reveals(place, day.content, [f"{DAYS}/{day.uid}", *day.origins]):
        return None
    actor, now, run = place.caller.actor, place.now, f"{step.verb}:{uuid4()}"
    rows = DailyEvent.objects.filter(pk=day.pk, workspace_id=place.caller.workspace_id)
    with acting(actor):
        scope = entries.lock_scopes([day.scope])[day.scope_id]
        batch = batches.begin_applied(scope, name=step.verb, run=run, actor=actor, now=now, reason="")
        with acting(actor, batch=batch.pk, run=run):
            change = daily_events.expire if isinstance(step, ExpireStep) else daily_events.restore
            change(rows, now=now, actor=actor)
            batches.add_applied(batch, [PlanRow(step=step, event_id=day.pk)])
    return day

"""What a bot gets before it answers, from the files: the long-term file and the notes of the last days (A4)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from channels_app.doors.files.place import FilePlace
from channels_app.system_text import TOOLS_INSTRUCTION, SystemText
from memories.conf import conf
from memories.exceptions import FileUnreadable, PathNotAllowed
from memories.files import disk
from memories.files.layout import ScopeFolder
from memories.files.markdown import blocks
from memories.language import quoting, text
from sessions_app.choices import in_language, is_reset_command, reset_reply
from sessions_app.conversations import BotDirective

#: Of the budget, what the long-term files may take before the notes of days.
LONG_TERM_SHARE = 0.5


@dataclass(frozen=True)
class DayNote:
    """The notes of one day in one scope."""

    on: date
    scope: str
    content: str
    is_cut: bool


@dataclass
class FileContext:
    """A context that was read from files."""

    text: str = ""
    tokens: int = 0
    notes: list[DayNote] = field(default_factory=list)
    reply: str | None = None  # to be given to the user in place of an answer
    directives: list[BotDirective] = field(default_factory=list)


def context_from_files(
    place: FilePlace, message: str, *, token_budget: int, tools: bool = False, now: datetime
) -> FileContext:
    """The long-term file and the notes of the last NOTES_DAYS days of every scope the message may be answered from.

    With `tools` the model has those of memory, and is told when to use them.
    Never more than the budget. What is too much of a long-term file is its end, of a day's notes their beginning; and
    the days longest ago go first. Raises ScopeNotFound.
    """
    folders, language = place.folders, place.caller.language
    if is_reset_command(message):
        return FileContext(reply=reset_reply(language))
    page = SystemText(token_budget, language)
    told = [BotDirective("memory_tools", in_language(TOOLS_INSTRUCTION, language))] if tools else []
    page.put_fitting("directives", [directive.instruction for directive in told], page.left)
    # The notes of the last days, the newest first; of a day those of the own scope first
    today = now.astimezone(place.caller.zone).date()
    days = [today - timedelta(days=ago) for ago in range(conf.NOTES_DAYS)]
    found = ((day, folder, _read(folder, folder.daily(day))) for day in days for folder in folders)
    notes = [DayNote(day, folder.scope_key, said, False) for day, folder, said in found if said]
    needed = sum(text.count_tokens(_shown(note)) + 2 for note in notes)
    _put(page, "files", [said for folder in folders if (said := _read(folder, folder.long_term))], page.left - needed)
    kept = _fitting(page, notes)
    page.put("days", list(map(_shown, kept)))
    return FileContext(str(page), page.used, kept, directives=told)


def _put(page: SystemText, part: str, texts: Sequence[str], most: int) -> None:
    """Put texts under a heading, as far as there is room; they may have their share, and what nobody else needs."""
    room = page.room(part, max(page.share(LONG_TERM_SHARE), min(most, page.left)))
    lines: list[str] = []
    for said in texts:
        begun = text.first_tokens(said, room - 2)
        if room <= 2 or not begun:
            break
        lines.append(begun)
        room -= text.count_tokens(begun) + 2
    page.put(part, lines)


def _fitting(page: SystemText, notes: Sequence[DayNote]) -> list[DayNote]:
    """The newest notes there is room for; of the one that does not fit, its newest lines."""
    kept: list[DayNote] = []
    room = page.room("days", page.left)
    for note in notes:
        head = text.count_tokens(_shown(DayNote(note.on, note.scope, "", False))) + 3
        content = _from_whole_item(text.last_tokens(note.content, room - head))
        if room <= head or not content:
            break
        kept.append(DayNote(note.on, note.scope, content, content != note.content))
        room -= text.count_tokens(_shown(kept[-1])) + 2
    return kept


def _from_whole_item(content: str) -> str:
    """The end of some lines from where one begins; of a single one its end, as an item of its own."""
    if content.startswith("- ") or not content:
        return content
    begin = content.find("\n- ")
    return content[begin + 1 :] if begin >= 0 else f"- …{content}"


def _shown(note: DayNote) -> str:
    return f"{note.on.isoformat()}:\n{note.content}"


def _read(folder: ScopeFolder, path: str) -> str:
    """A file as a model reads it: its lines under their headings, without marks; one that cannot be read is empty."""
    try:
        read = disk.read(folder, path)
    except (FileUnreadable, PathNotAllowed):
        return ""
    lines, heading = [], ""
    for block in blocks(read.text) if read else []:
        if block.heading != heading:
            heading = block.heading
            lines.append(quoting.on_one_line(f"{heading}:"))
        lines.append(f"- {quoting.as_item(block.text)}")
    return "\n".join(lines)

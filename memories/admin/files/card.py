"""The card of an entry's file: where the entry stands, and what the file says there now."""

from dataclasses import dataclass

from memories.admin.files.addresses import file_url
from memories.entries.files import folder_of
from memories.exceptions import PlatformError
from memories.files import disk, markdown
from memories.models import Entry

#: A file of more bytes is not parsed for one card.
PARSED_BYTES = 300_000


@dataclass(frozen=True)
class FileCard:
    """What the file of an entry says where the entry stands."""

    entry: Entry
    line: int | None = None  # where it stands now
    says: str = ""
    agrees: bool = False
    is_gone: bool = False
    problem: str = ""

    @property
    def url(self) -> str:
        return file_url(self.entry.scope_id, self.entry.path, self.line or self.entry.line_from)


def card_of(entry: Entry) -> FileCard | None:
    """The card of an entry that is a line of a file; None: it is none."""
    if not entry.path:
        return None
    try:
        return _card(entry)
    except (OSError, PlatformError) as problem:
        return FileCard(entry, problem=str(problem))


def _card(entry: Entry) -> FileCard:
    folder = folder_of(entry.scope)
    found = folder.found(entry.path)
    if found is None:
        return FileCard(entry, is_gone=True)
    if found.size > PARSED_BYTES:
        first, last = entry.line_from or 1, entry.line_to or 1
        says = "\n".join(disk.read_lines(folder, entry.path, first, last - first + 1)[0])
        return FileCard(entry, entry.line_from, says, entry.content in says)
    file = disk.read(folder, entry.path)
    blocks, stood = markdown.blocks(file.text) if file else [], entry.line_from or 0
    same = [block.line_from for block in blocks if block.text == entry.content]
    if same:
        return FileCard(entry, min(same, key=lambda line: abs(line - stood)), entry.content, agrees=True)
    there = [block.text for block in blocks if block.line_from <= stood <= block.line_to]
    return FileCard(entry, entry.line_from, "\n".join(there))

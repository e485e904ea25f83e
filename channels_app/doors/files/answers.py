"""What is answered from the files: whose they are, recall by words, and what a bot gets before it answers (A4, C11)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, tzinfo
from functools import partial

from channels_app import addresses, cards
from channels_app.addresses import platform_among
from channels_app.system_text import TOOLS_INSTRUCTION, SystemText
from memories.choices import EntryType, NeedMode
from memories.conf import conf
from memories.exceptions import FileUnreadable, PathNotAllowed, ScopeNotFound
from memories.files import disk, keyword
from memories.files.keyword import FileMatch
from memories.files.layout import ScopeFolder, scope_folder
from memories.files.markdown import blocks
from memories.language import quoting, text
from memories.offline import NotCached
from memories.offline.journal import Stream
from memories.recall.answer import FOUND, NONE, WEAK, WORDS_FOUND, WORDS_WEAK, fit
from memories.recall.gate import GateDecision, decide
from memories.recall.question import asks_what_came_before
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Address, Resolution
from sessions_app.conversations import BotDirective
from sessions_app.models import in_language, is_reset_command, reset_reply


@dataclass(frozen=True)
class FilePlace:
    """Where a message is answered from, and where it is kept."""

    caller: Caller
    resolved: Resolution

    @property
    def stream(self) -> Stream:
        """The stream of its channel in the journal."""
        address = self.resolved.address
        return Stream(self.caller.workspace_id, address.platform, address.account)

    @property
    def folders(self) -> list[ScopeFolder]:
        """The files it may be answered from; in a group a person's own only where it may hear all of them (A3).

        Raises ScopeNotFound where the caller reaches none of its scopes.
        """
        keys = addresses.keys_to_recall(self.caller, self.resolved)
        open_here = [ref.key for ref in self.resolved.recall if ref.key in keys and ref.only_chat is None]
        return [scope_folder(self.caller.folder, key) for key in open_here]

    @property
    def scope_key(self) -> str | None:
        """The scope whose transcript it is written to: the chat's where that captures, else the speaker's."""
        resolution = self.resolved
        captures_chat = resolution.chat_scope and resolution.rules.capture_group_memory
        return resolution.chat_scope if captures_chat else resolution.user_scope


def place_of(caller: Caller, address: Address, *, has_database: bool, now: datetime) -> FilePlace:
    """The place of a message. Raises InvalidAddress, and NotCached without the database."""
    if has_database:
        return FilePlace(caller, addresses.resolve_address(caller, address))
    channels = {
        (channel.platform, channel.account): channel for channel in cards.cached_channels(caller.workspace_id, now=now)
    }
    platform = platform_among(channels.keys(), address.platform, address.account)
    address = replace(address, platform=platform)
    channel = channels.get((platform, address.account))

    def direct_chat(platform: str, account: str, *keys: str) -> tuple[str, str]:
        # With whom a direct chat is, as its session was last kept; empty where nothing says so
        for key in keys:
            try:
                card = cards.cached_session(
                    caller.workspace_id, key, {"platform": platform, "account": account}, now=now
                )
            except NotCached:
                continue
            if not card.is_group and card.peer:
                return card.chat, card.peer
        return "", ""

    person_of = partial(cards.cached_person, caller.workspace_id, now=now)
    return FilePlace(caller, addresses.resolve_in_channel(caller, address, channel, direct_chat, person_of))


def folders_of_scope(caller: Caller, scope_key: str) -> list[ScopeFolder]:
    """The files of one scope. Raises ScopeNotFound where the caller does not reach it."""
    if not caller.may_reach(scope_key):
        raise ScopeNotFound
    return [scope_folder(caller.folder, scope_key)]


#: Blocks that are looked at before times narrow them.
LOOKED_AT = 200


@dataclass(frozen=True)
class RecalledLine:
    """A block of a file that bears on the message."""

    scope: str
    match: FileMatch
    in_context: bool = False

    @property
    def slots(self) -> dict[str, str]:
        """Where it stands."""
        heading = {"heading": self.match.heading} if self.match.heading else {}
        return {"path": self.match.path, "line": str(self.match.line_from), **heading}


@dataclass(frozen=True)
class FileRecall:
    """What a recall from files answers."""

    need: GateDecision
    lines: list[RecalledLine] = field(default_factory=list)
    context: str = ""
    tokens: int = 0

    @property
    def evidence(self) -> str:
        """How well it answers, by the share of the question's words in the best block."""
        best = max((line.match.score for line in self.lines), default=0.0)
        return FOUND if best >= WORDS_FOUND else WEAK if best >= WORDS_WEAK else NONE


def recall_from_files(
    folders: Sequence[ScopeFolder],
    message: str,
    *,
    limit: int,
    zone: tzinfo,
    need: str = NeedMode.AUTO,
    token_budget: int = 0,
    types: Collection[str] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    language: str = "en",
) -> FileRecall:
    """The blocks of these files that hold most of a message's words, best first; the newest for what names nothing."""
    decision = decide(message) if need == NeedMode.AUTO else GateDecision(True, "off")
    if not decision.retrieve or (types is not None and EntryType.NOTE not in types):
        return FileRecall(decision)
    most = LOOKED_AT if since or until else limit
    search = keyword.newest if asks_what_came_before(message) else partial(keyword.search, query=message)
    matches = search(folders, limit=most, zone=zone)
    within = [
        match
        for match in matches
        if (since is None or (match.at is not None and match.at >= since))
        and (until is None or (match.at is not None and match.at < until))
    ][:limit]
    texts = []
    for match in within:  # a block as a model reads it, with the path that proves it
        day = f"[{match.at.astimezone(zone):%Y-%m-%d}] " if match.at else ""
        texts.append(f"- {day}{quoting.as_item(match.text)} [{match.path}:{match.line_from}]")
    parts, tokens = fit([quoting.notice_in(language, token_budget), *texts], token_budget)
    parts, tokens = (parts, tokens) if len(parts) > 1 else ([], 0)
    lines = [
        RecalledLine(next(folder.scope_key for folder in folders if folder.owns(match.path)), match, n < len(parts) - 1)
        for n, match in enumerate(within)
    ]
    return FileRecall(decision, lines, "\n".join(parts), tokens)


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

    With `tools` the model has those of memory, and instructions when to use them.
    Never more than the budget. What is too much of a long-term file is its end, of a day's notes their beginning; and
    the days longest ago go first. Raises ScopeNotFound.
    """
    folders, language = place.folders, place.caller.language
    if is_reset_command(message):
        return FileContext(reply=reset_reply(language))
    page = SystemText(token_budget, language)
    directives = [BotDirective("memory_tools", in_language(TOOLS_INSTRUCTION, language))] if tools else []
    page.put_fitting("directives", [directive.instruction for directive in directives], page.left)
    # The notes of the last days, the newest first; of a day those of the own scope first
    today = now.astimezone(place.caller.zone).date()
    days = [today - timedelta(days=ago) for ago in range(conf.NOTES_DAYS)]
    read = ((day, folder, _file_text(folder, folder.daily(day))) for day in days for folder in folders)
    notes = [DayNote(day, folder.scope_key, content, False) for day, folder, content in read if content]
    note_tokens = sum(text.count_tokens(_note_text(note)) + 2 for note in notes)
    # The long-term files as far as there is room; they may have their share, and what nobody else needs
    room = page.room("files", max(page.share(LONG_TERM_SHARE), page.left - note_tokens))
    files: list[str] = []
    for content in filter(None, (_file_text(folder, folder.long_term) for folder in folders)):
        beginning = text.first_tokens(content, room - 2)
        if room <= 2 or not beginning:
            break
        files.append(beginning)
        room -= text.count_tokens(beginning) + 2
    page.put("files", files)
    fitting_notes = _fitting(page, notes)
    page.put("days", list(map(_note_text, fitting_notes)))
    return FileContext(str(page), page.used, fitting_notes, directives=directives)


def _fitting(page: SystemText, notes: Sequence[DayNote]) -> list[DayNote]:
    """The newest notes there is room for; of the one that does not fit, its newest lines."""
    fitting_notes: list[DayNote] = []
    room = page.room("days", page.left)
    for note in notes:
        head = text.count_tokens(_note_text(DayNote(note.on, note.scope, "", False))) + 3
        content = text.last_tokens(note.content, room - head)
        # From where one of its items begins; of a single one its end, as an item of its own
        if content and not content.startswith("- "):
            begin = content.find("\n- ")
            content = content[begin + 1 :] if begin >= 0 else f"- …{content}"
        if room <= head or not content:
            break
        fitting_notes.append(DayNote(note.on, note.scope, content, content != note.content))
        room -= text.count_tokens(_note_text(fitting_notes[-1])) + 2
    return fitting_notes


def _note_text(note: DayNote) -> str:
    return f"{note.on.isoformat()}:\n{note.content}"


def _file_text(folder: ScopeFolder, path: str) -> str:
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

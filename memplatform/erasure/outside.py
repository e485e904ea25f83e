"""What of a person lies outside the database: their folder, their lines in the files of others, and pending calls."""

import shutil
from collections.abc import Collection, Iterable, Iterator
from functools import partial

from memories.exceptions import PlatformError
from memories.files import disk, markdown
from memories.files.layout import ScopeFolder, places_of_scope, scope_folder
from memories.files.parsing import lines_of
from memories.language.confidential import redact
from memories.language.text import fingerprint
from memories.models import Entry, Erasure, ErasureTarget, Scope, Workspace
from memories.offline import journal
from memories.offline.journal import Line
from memplatform.erasure.collect import take
from memplatform.erasure.person import Identity, from_json, keys_of, own_keys
from memplatform.erasure.search import Matcher
from sessions_app.models import SessionEvent


def erase_files(erasure: Erasure) -> dict[str, int]:
    """Remove the folders of the person's scopes, and their lines from the files of others; how many of each.

    Raises OSError, PlatformError: then nothing after it is done, and it is tried again.
    """
    workspace, count = erasure.workspace, 0
    own = keys_of(erasure)
    for folder in _places(workspace, own):
        count += len(folder.files()) + len(folder.transcripts())
        if (folder.workspace / folder.base).is_dir():
            shutil.rmtree(folder.workspace / folder.base)
    lines = 0
    for scope in _others(erasure, own):
        files = [
            (folder, file.path)
            for folder in _places(workspace, [scope.key])
            for file in (*folder.files(), *folder.transcripts())
        ]
        texts = _texts(erasure, scope) if files else []
        words = _words(texts)
        lines += sum(_rewrite(folder, path, texts, words) for folder, path in files)
    return {"files": count, "lines": lines}


def count_files(workspace: Workspace, identities: Collection[Identity]) -> int:
    """How many files are the person's alone."""
    folders = _places(workspace, own_keys(workspace, identities))
    return sum(len(folder.files()) + len(folder.transcripts()) for folder in folders)


def _places(workspace: Workspace, keys: Iterable[str]) -> Iterator[ScopeFolder]:
    """Wherever files of these scopes may lie, also where they are not read."""
    for key in keys:
        yield from places_of_scope(scope_folder(workspace.folder, key).workspace, key)


def _others(erasure: Erasure, own: Collection[str]) -> Iterable[Scope]:
    """The scopes of others in which something of the person is to go."""
    entries = Entry.objects.filter(pk__in=take(erasure, Entry._meta.db_table)).values("scope_id")
    messages = SessionEvent.objects.filter(pk__in=take(erasure, SessionEvent._meta.db_table))
    chats = messages.values_list("session__chat_scope_id", "session__user_scope_id").distinct()
    scope_ids = {pk for pair in chats for pk in pair if pk} | set(entries.values_list("scope_id", flat=True))
    return Scope.objects.filter(pk__in=scope_ids).exclude(key__in=own)


def _texts(erasure: Erasure, scope: Scope) -> list[str]:
    """What the person wrote, and what was made of it in a scope."""
    entries = Entry.objects.filter(pk__in=take(erasure, Entry._meta.db_table), scope=scope)
    messages = SessionEvent.objects.filter(pk__in=take(erasure, SessionEvent._meta.db_table))
    return [*entries.values_list("content", flat=True), *messages.values_list("content", flat=True)]


def _words(texts: Iterable[str]) -> set[str]:
    return {fingerprint(words) for text in texts for words in (text, redact(text))}


def collect_lines(erasure: Erasure) -> None:
    """Find the memories of lines that say the same in the files of others: they go with the lines."""
    for scope in _others(erasure, keys_of(erasure)):
        lines = Entry.objects.filter(scope=scope, fingerprint__in=_words(_texts(erasure, scope))).exclude(path="")
        ErasureTarget.objects.bulk_create(
            (
                ErasureTarget(
                    workspace_id=erasure.workspace_id, erasure=erasure, table_name=Entry._meta.db_table, row_id=pk
                )
                for pk in lines.values_list("pk", flat=True)
            ),
            ignore_conflicts=True,
        )


def _rewrite(folder: ScopeFolder, path: str, texts: Collection[str], words: Collection[str]) -> int:
    count = 0

    def change(text: str) -> str:
        nonlocal count
        struck_blocks = [block for block in markdown.blocks(text) if _says(block.text, words)]
        count = len(struck_blocks)
        if struck_blocks:
            lines = {line for block in struck_blocks for line in range(block.line_from, block.line_to + 1)}
            text = "".join(line for number, line in enumerate(lines_of(text), start=1) if number not in lines)
        return markdown.without_struck(text, texts)

    disk.rewrite(folder, path, change)
    return count


def _says(text: str, words: Collection[str]) -> bool:
    """A line of a note is the words; one of a transcript names first whose they are."""
    _who, colon, speech = text.partition(": ")
    return fingerprint(text) in words or (bool(colon) and fingerprint(speech) in words)


def erase_calls(erasure: Erasure, matcher: Matcher, *, is_dry: bool = False) -> int:
    """Take the person's calls out of the journal of the workspace; how many."""
    identities = from_json(erasure.identities)
    mine = partial(_is_of, identities, matcher)
    return sum(journal.remove(stream, mine, is_dry=is_dry) for stream in journal.streams(erasure.workspace_id))


def _is_of(identities: Collection[Identity], matcher: Matcher, line: Line) -> bool:
    request = line.record.body.get("request", {}) if line.record else {}
    address = request.get("address")
    if isinstance(address, dict) and any(
        address.get("peer") == identity.peer and address.get("platform") == identity.platform for identity in identities
    ):
        return True
    return matcher.matches(line.text)


def left_in_files(erasure: Erasure, matcher: Matcher) -> list[str]:
    """The files of the workspace in which five words of the person stand in a row, or their id; and their folders."""
    own = keys_of(erasure) if erasure.identities else []
    paths = [folder.base for folder in _places(erasure.workspace, own) if (folder.workspace / folder.base).is_dir()]
    keys = Scope.objects.filter(workspace_id=erasure.workspace_id).values_list("key", flat=True)
    for folder in _places(erasure.workspace, keys):
        for file in [*folder.files(), *folder.transcripts()]:
            try:
                text = disk.read(folder, file.path)
            except PlatformError:  # it is too large, or no text: somebody has to look
                paths.append(file.path)
                continue
            if text and matcher.matches(text.text):
                paths.append(file.path)
    return paths

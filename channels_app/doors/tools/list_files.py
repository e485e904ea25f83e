"""memory_list: which files there are to be read here, those changed last first (C1, C4)."""

from dataclasses import dataclass, field
from datetime import datetime

from channels_app.doors.tools.place import Place
from sessions_app.choices import in_language

FILES_MOST = 100  # of one answer
NOTE, TRANSCRIPT = "note", "transcript"
KINDS = (NOTE, TRANSCRIPT)

NONE_THERE = {
    "en": "There are no files here yet. memory_save begins one.",
    "zh-hans": "这里还没有文件。memory_save 会新建。",
}
HEAD = {
    "en": "Files of memory, changed last first ({first} to {last} of {total}). Read one with memory_get.",
    "zh-hans": "记忆文件，最近改动的在前（第 {first} 到 {last} 个，共 {total} 个）。用 memory_get 读取。",
}
MORE = {"en": "(There are more: go on with from={next}.)", "zh-hans": "（后面还有：用 from={next} 继续。）"}


@dataclass(frozen=True, kw_only=True)
class ListedFile:
    """A file that memory_get reads here."""

    path: str
    kind: str  # note or transcript
    scope: str
    bytes: int
    at: datetime  # changed last


@dataclass(frozen=True, kw_only=True)
class FileList:
    """Some of the files of a place, those changed last first."""

    files: list[ListedFile]
    first: int
    total: int
    language: str = "en"  # of what is said about it
    degraded: list[str] = field(default_factory=list)

    @property
    def next(self) -> int | None:
        """The number of the file to go on from; None: this is the end."""
        after = self.first + len(self.files)
        return after if self.files and after <= self.total else None


def memory_list(place: Place, *, first: int | None = None) -> FileList:
    """The files of a place, from the one with the number `first` on. Raises InvalidAddress, ScopeNotFound."""
    begin = first or 1
    every = sorted(_files(place), key=lambda file: (file.at, file.path), reverse=True)
    return FileList(
        files=every[begin - 1 : begin - 1 + FILES_MOST],
        first=begin,
        total=len(every),
        language=place.caller.language,
        degraded=list(place.degraded),
    )


def _files(place: Place) -> list[ListedFile]:
    return [
        ListedFile(
            path=file.path,
            kind=kind,
            scope=folder.scope_key,
            bytes=file.size,
            at=datetime.fromtimestamp(file.mtime_ns / 1e9, place.caller.zone).replace(microsecond=0),
        )
        for folder in place.folders
        for kind, files in ((NOTE, folder.files()), (TRANSCRIPT, folder.transcripts()))
        for file in files
        if not file.is_linked
    ]


def shown(answer: FileList) -> str:
    """What a model is told."""
    if not answer.files:
        return in_language(NONE_THERE, answer.language)
    last = answer.first + len(answer.files) - 1
    head = in_language(HEAD, answer.language).format(first=answer.first, last=last, total=answer.total)
    lines = [f"- [{file.path}] {file.at:%Y-%m-%d %H:%M}, {file.bytes:,} B" for file in answer.files]
    more = [in_language(MORE, answer.language).format(next=answer.next)] if answer.next else []
    return "\n".join([head, *lines, *more])

"""The wall of paths: what may be opened, and what may not, there or not (C1, C4, E2)."""

import os
from datetime import UTC, date
from pathlib import Path

import pytest

from memories.exceptions import PathNotAllowed
from memories.files import disk, keyword
from memories.files.layout import (
    ScopeFolder,
    day_of,
    folder_name,
    keys_of_folders,
    read_reference,
    resolve_path,
    scope_folder,
    scope_folders,
)
from tests.memories.files.conftest import DIRECT, GROUP, HOME, write

DAY = date(2026, 11, 23)

OUT_OF_THE_FOLDER = [
    *("..", "../MEMORY.md", "../charlies/MEMORY.md", "memory/../MEMORY.md", "memory/../../charlies/MEMORY.md"),
    *("memory/..", "memory/./2026-11-23.md", "./MEMORY.md", "memory//2026-11-23.md", "/MEMORY.md", "//MEMORY.md"),
    *("/etc/passwd", "/etc/passwd.md", "file:///etc/passwd.md", "~/MEMORY.md", "~root/MEMORY.md", "memory/~/a.md"),
    *(
        "C:/MEMORY.md",
        "C:\\MEMORY.md",
        "C:MEMORY.md",
        "memory/C:a.md",
        "\\\\server\\share\\a.md",
        "//server/share/a.md",
    ),
    *("memory\\2026-11-23.md", "memory\\..\\MEMORY.md", "memory/..\\..\\a.md", "\\\\?\\C:\\a.md"),
]
ENCODED = [
    *("%2e%2e/MEMORY.md", "memory/%2e%2e/MEMORY.md", "memory/%2E%2E%2FMEMORY.md", "memory%2f2026-11-23.md"),
    *("memory/%252e%252e/a.md", "memory/..%2fa.md", "memory/%5c..%5ca.md", "memory/%c0%ae%c0%ae/a.md", "%4dEMORY.md"),
    *("memory/%u002e%u002e/a.md", "memory/a%00.md", "memory/scopes%2ftelegram+direct_u7/LONG_TERM.md"),
]
UNSEEN = [
    *(
        "MEMORY.md\0",
        "memory/a\0.md",
        "memory/\0/a.md",
        "memory/a\n.md",
        "memory/a\r.md",
        "\tMEMORY.md",
        "memory/a\x1b.md",
    ),
    *("memory/a\x7f.md", "memory/a\x85.md", "memory/a\u200b.md", "memory/\u202edm.a.md", "memory/\ufeffa.md"),
    *("memory/a\u2028.md", "memory/\ud800.md", "memory/a\udcff.md"),
]
LOOK_ALIKES = [
    *("memory/．．/MEMORY.md", "memory/‥/MEMORY.md", "memory／2026-11-23.md", "memory/a．md", "ＭＥＭＯＲＹ.md"),
    *(
        "memory/․․/a.md",
        "memory/…/a.md",
        "memory⁄a.md",
        "memory/ｓｃｏｐｅｓ/telegram+direct_u7/a.md",
        "memory/ſcopes/a/b.md",
    ),
    *("memory/ﬁle.md", "memory/①.md", "memory/cafe\u0301.md", "memory/a：b.md", "memory/a＼b.md", "memory/％2e.md"),
]
OTHER_NAMES = [
    *("", " ", ".", "/", "memory", "memory/", "MEMORY", "MEMORY.md/", "MEMORY.md/a.md", "memory/a", "memory/a.txt"),
    *("MEMORY.MD", "memory.md", "Memory.md", "Memory/a.md", "MEMORY/a.md", "memory/a.MD", "memory/SCOPES/x/a.md"),
    *("memory/Scopes/telegram+direct_u7/LONG_TERM.md", "LONG_TERM.md", "README.md", "2026-11-23.md", "notes/a.md"),
    *("memory/.hidden.md", "memory/.git/a.md", ".MEMORY.md", "memory/.md", "memory/a.md.", "memory/a.md "),
    *(" MEMORY.md", "memory/a./b.md", "memory/a /b.md", "memory/ a.md", "memory/NUL:.md", "memory/a:b.md"),
    *("memory/" + "a" * 300 + ".md", "memory/" + "a/" * 600 + "a.md", "memory/" + "端" * 90 + ".md"),
    *("memory/" + "a/" * 20 + "b.md", "memory/a.md:stream"),
]  # fmt: skip
OTHER_SCOPES = [
    *("memory/scopes/telegram+direct_u7/LONG_TERM.md", "memory/scopes/telegram+direct_u7/2026-11-23.md"),
    *("memory/scopes/telegram+direct_u7/transcripts/2026-11-23.md", "memory/scopes/a.md", "memory/scopes"),
    *(
        "memory/scopes/telegram+mybot+group_g1/LONG_TERM.md",
        "memory/scopes/main/LONG_TERM.md",
        "memory/scopes/main/a.md",
    ),
    "memory/scopes/main/transcripts/deep/2026-11-23.md",
]
HOSTILE = [*OUT_OF_THE_FOLDER, *ENCODED, *UNSEEN, *LOOK_ALIKES, *OTHER_NAMES, *OTHER_SCOPES]
IN_A_SCOPE = [
    *("MEMORY.md", "memory/2026-11-23.md", "memory/scopes/main/transcripts/2026-11-23.md"),
    *(f"memory/scopes/{HOME}/long_term.md", f"memory/scopes/{HOME}/LONG_TERM.MD", f"memory/scopes/{HOME}"),
    *(f"memory/scopes/{HOME}/../telegram+direct_u7/LONG_TERM.md", f"memory/scopes/{HOME}/.."),
    *(f"memory/scopes/{HOME.upper()}/LONG_TERM.md", f"MEMORY/scopes/{HOME}/LONG_TERM.md"),
    *(f"memory/scopes/{HOME}/Transcripts/2026-11-23.md", f"memory/scopes/{HOME}/transcripts/a/b.md"),
    *(f"memory/scopes/{HOME}0/LONG_TERM.md", f"memory/scopes/{HOME}%2fLONG_TERM.md"),
    f"memory/scopes/{DIRECT}/LONG_TERM.md",
    f"memory/scopes/{DIRECT.replace(':', '%3a')}/LONG_TERM.md",
]
OWN = [
    "MEMORY.md",
    "memory/2026-11-23.md",
    "memory/projects/web/notes.md",
    "memory/项目/会议（二）.md",
    "memory/café.md",
]
OWN += ["memory/MEMORY.md", "memory/100%.md", "memory/scopes.md", "memory/scopes/main/transcripts/2026-11-23.md"]


def refused_words(folder: ScopeFolder, path: str) -> set[str]:
    """What is answered to all that can be done with a path."""
    result = set()
    for attempt in (
        lambda: resolve_path([folder], path),
        lambda: disk.read(folder, path),
        lambda: disk.read_lines(folder, path, 1, 10),
        lambda: disk.append(folder, path, "- mine"),
        lambda: disk.rewrite(folder, path, lambda text: text + "mine"),
    ):
        with pytest.raises(PathNotAllowed) as refusal:
            attempt()
        result.add(str(refusal.value))
    return result


def tree(root: Path) -> dict[str, bytes]:
    return {str(place.relative_to(root)): place.read_bytes() for place in root.rglob("*") if place.is_file()}


@pytest.mark.parametrize("path", HOSTILE)
def test_a_hostile_path_is_refused_and_nothing_is_written(main: ScopeFolder, root: Path, path: str) -> None:
    write(main, "MEMORY.md", "- mine\n")
    write(scope_folder("alices", "telegram:direct_u7"), "memory/scopes/telegram+direct_u7/LONG_TERM.md", "- hers\n")
    before = tree(root)
    assert refused_words(main, path) == {"This path leads to no file of this scope."}
    assert tree(root) == before


@pytest.mark.parametrize("path", IN_A_SCOPE)
def test_a_scope_opens_nothing_but_its_own(direct: ScopeFolder, main: ScopeFolder, root: Path, path: str) -> None:
    write(main, "MEMORY.md", "- the owner's\n")
    write(direct, direct.long_term, "- mine\n")
    before = tree(root)
    assert refused_words(direct, path) == {"This path leads to no file of this scope."}
    assert tree(root) == before


@pytest.mark.parametrize("path", OWN)
def test_the_main_scope_opens_its_own(main: ScopeFolder, path: str) -> None:
    assert resolve_path([main], path) == (main, main.workspace / path)
    assert disk.read(main, path) is None
    assert disk.append(main, path, "- mine") == 1
    assert (main.workspace / path).read_text() == "- mine\n"


def test_a_scope_has_a_file_for_long_one_a_day_and_its_transcripts(direct: ScopeFolder) -> None:
    folder = f"memory/scopes/{HOME}"
    assert direct.long_term == f"{folder}/LONG_TERM.md"
    assert direct.daily(DAY) == f"{folder}/2026-11-23.md"
    assert direct.transcript(DAY) == f"{folder}/transcripts/2026-11-23.md"
    for path in (direct.long_term, direct.daily(DAY), direct.transcript(DAY), f"{folder}/项目/笔记.md"):
        assert resolve_path([direct], path)[0] == direct


def test_a_path_belongs_to_the_scope_that_owns_it(main: ScopeFolder, direct: ScopeFolder) -> None:
    assert resolve_path([direct, main], "MEMORY.md")[0] == main
    assert resolve_path([direct, main], direct.long_term)[0] == direct
    with pytest.raises(PathNotAllowed):
        resolve_path([], "MEMORY.md")


LINKS = ["memory/link.md", "memory/folder/secret.md", "MEMORY.md"]


@pytest.mark.parametrize("path", LINKS)
@pytest.mark.parametrize("is_there", [True, False])
def test_no_link_is_followed(main: ScopeFolder, tmp_path: Path, path: str, is_there: bool) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    if is_there:
        (outside / "secret.md").write_text("- secret lunch\n")
    write(main, "memory/a.md", "- lunch\n")
    if path == "memory/folder/secret.md":
        (main.workspace / "memory/folder").symlink_to(outside)
    else:
        (main.workspace / path).symlink_to(outside / "secret.md")
    before = tree(outside)
    assert refused_words(main, path) == {"This path leads to no file of this scope."}
    assert [file.path for file in main.files()] == ["memory/a.md"]
    assert [match.text for match in keyword.search([main], "secret lunch", limit=9, zone=UTC)] == ["lunch"]
    assert tree(outside) == before


def test_a_link_in_the_place_of_a_scope_or_a_workspace_is_not_followed(root: Path, tmp_path: Path) -> None:
    other, mine = scope_folder("alices", GROUP), scope_folder("alices", DIRECT)
    write(other, other.long_term, "- the group's\n")
    (mine.workspace / mine.base).symlink_to(other.workspace / other.base)
    assert mine.files() == mine.transcripts() == []
    assert refused_words(mine, mine.long_term) == {"This path leads to no file of this scope."}
    (root / "charlies").symlink_to(root / "alices")
    theirs = scope_folder("charlies", GROUP)
    assert theirs.files() == []
    assert refused_words(theirs, theirs.long_term) == {"This path leads to no file of this scope."}


def test_what_is_no_file_is_not_opened(main: ScopeFolder) -> None:
    (main.workspace / "memory/folder.md").mkdir(parents=True)
    os.mkfifo(main.workspace / "memory/pipe.md")
    for path in ("memory/folder.md", "memory/pipe.md"):
        assert refused_words(main, path) == {"This path leads to no file of this scope."}
    assert main.files() == []


def test_the_folder_of_all_workspaces_may_be_a_link(settings: object, root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    root.symlink_to(tmp_path / "elsewhere")
    main = scope_folder("alices", "main")
    disk.append(main, "MEMORY.md", "- mine")
    assert [file.path for file in main.files()] == ["MEMORY.md"]
    assert (tmp_path / "elsewhere/alices/MEMORY.md").read_text() == "- mine\n"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../alices", "/", "a\0", "~", ".git"])
def test_a_workspace_has_a_folder_of_a_plain_name(name: str) -> None:
    with pytest.raises(PathNotAllowed):
        scope_folder(name, "main")


def test_files_are_the_notes_of_a_scope_and_nothing_hidden(main: ScopeFolder, direct: ScopeFolder) -> None:
    for path in ("MEMORY.md", "memory/2026-11-23.md", "memory/a/b.md", "memory/transcripts/x.md"):
        write(main, path, "- a\n")
    for path in (
        "memory/.git/x.md",
        "memory/a.txt",
        "README.md",
        "memory/.a.md",
        "memory/a\u200b.md",
        "memory/a\\b.md",
    ):
        write(main, path, "- b\n")
    write(main, main.transcript(DAY), "- said\n")
    for path in (direct.long_term, direct.daily(DAY), direct.transcript(DAY)):
        write(direct, path, "- c\n")
    assert [file.path for file in main.files()] == [
        *("MEMORY.md", "memory/2026-11-23.md", "memory/a/b.md", "memory/transcripts/x.md"),
    ]
    assert [file.path for file in main.transcripts()] == [main.transcript(DAY)]
    assert [file.path for file in direct.files()] == [direct.daily(DAY), direct.long_term]
    assert [file.path for file in direct.transcripts()] == [direct.transcript(DAY)]
    assert scope_folders("alices") == ["main", HOME]
    assert scope_folders("charlies") == []


def test_a_scopes_folder_is_its_key_without_colons_and_never_too_long() -> None:
    assert folder_name(DIRECT) == HOME
    assert folder_name("direct_telegram%3au42") == "direct_telegram%3au42"
    long = [f"telegram:direct_{'张' * 80}{n}" for n in range(3)]
    names = {folder_name(key) for key in long}
    assert len(names) == 3
    assert all(len(name.encode()) <= 200 and name.startswith("telegram+direct_张") for name in names)


def test_a_folder_leads_back_to_the_key_it_is_named_by_of_today_or_of_before() -> None:
    long, plus = f"telegram:direct_{'张' * 80}", "telegram:direct_u+42"
    cut = {key: folder_name(key) for key in (long, plus)}
    names = [HOME, DIRECT, "telegram+mybot+group_g1", "direct_telegram%3au42", *cut.values()]
    keys = [DIRECT, DIRECT, GROUP, "direct_telegram%3au42", long, plus]
    assert keys_of_folders(names, [DIRECT, long, plus]) == dict(zip(names, keys, strict=True))
    assert not any(":" in folder_name(key) for key in keys) and len({*map(folder_name, keys)}) == 5


def test_the_folder_of_before_is_used_until_there_is_one_without_colons(root: Path) -> None:
    before = f"memory/scopes/{DIRECT}/LONG_TERM.md"
    assert refused_words(scope_folder("alices", DIRECT), before) == {"This path leads to no file of this scope."}
    (root / "alices/memory/scopes" / DIRECT).mkdir(parents=True)
    disk.append(folder := scope_folder("alices", DIRECT), folder.long_term, "- mine")
    assert (folder.long_term, scope_folders("alices")) == (before, [DIRECT])
    assert [file.path for file in folder.files()] == [before]
    (root / "alices/memory/scopes" / DIRECT).rename(root / "alices/memory/scopes" / HOME)
    assert [file.path for file in scope_folder("alices", DIRECT).files()] == [f"memory/scopes/{HOME}/LONG_TERM.md"]


@pytest.mark.parametrize("key", ["../x", "A", "a/b", ".", "..", "", "a b", "\0", "é", "telegram:direct_U42"])
def test_a_key_that_is_no_name_gets_one_of_its_own(key: str) -> None:
    folder = scope_folder("alices", key)
    assert folder_name(key) != folder_name(key.lower() + "0")
    assert "~" in folder.base and ".." not in folder.base and folder.base.count("/") == 2
    assert folder_name(key) not in ("main", HOME)


@pytest.mark.parametrize(
    ("reference", "path", "line"),
    [
        ("memory/2026-11-23.md:12", "memory/2026-11-23.md", 12),
        ("[memory/2026-11-23.md:12]", "memory/2026-11-23.md", 12),
        (" [MEMORY.md] ", "MEMORY.md", None),
        ("MEMORY.md", "MEMORY.md", None),
        ("MEMORY.md:3-9", "MEMORY.md", 3),
        (f"memory/scopes/{HOME}/LONG_TERM.md", f"memory/scopes/{HOME}/LONG_TERM.md", None),
        ("session_events/telegram-3f/1/event-25:1", "session_events/telegram-3f/1/event-25", 1),
        ("memory/a.md:x", "memory/a.md:x", None),
        ("memory/a.md:١", "memory/a.md:١", None),
        ("memory/a.md:99999999999", "memory/a.md:99999999999", None),
    ],
)
def test_a_reference_is_a_path_and_a_line(reference: str, path: str, line: int | None) -> None:
    assert read_reference(reference) == (path, line)


def test_the_day_of_a_daily_note_is_in_its_name() -> None:
    assert day_of("memory/2026-11-23.md") == day_of(f"memory/scopes/{HOME}/transcripts/2026-11-23.md") == DAY
    assert day_of("memory/2026-13-23.md") is day_of("MEMORY.md") is day_of("memory/x2026-11-23.md") is None

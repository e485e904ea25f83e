"""What becomes of the lines of a folder that is imported: under whom they stand, in which words (D8)."""

from pathlib import Path

import pytest

from memories.models import Entry, Scope
from tests.memories.notes.conftest import facts, imported, write

pytestmark = pytest.mark.django_db


def topics(scope: Scope) -> set[tuple[str, str]]:
    return set(Entry.objects.in_scope(scope).live().values_list("topic", "content"))


def left_out(folder: Path) -> list[tuple[str, int, str]]:
    return [(row["path"], row["line"], row["reason"]) for row in imported(folder)["left_out"]]


def test_the_same_words_about_two_subjects_are_a_memory_of_each(tmp_path: Path, scope: Scope) -> None:
    birthday = "- Birthday: 3 May\n"
    write(tmp_path, {"memory/alice.md": birthday, "memory/王芳.md": birthday, "MEMORY.md": birthday})
    assert imported(tmp_path)["facts"] == 3
    assert topics(scope) == {(topic, "Birthday: 3 May") for topic in ("alice", "王芳", "_profile")}
    again = imported(tmp_path)
    assert (again["batch"], again["already"]) == (None, 3)


def test_a_subject_that_is_a_category_is_brought_once(tmp_path: Path, scope: Scope) -> None:
    write(tmp_path, {"memory/event.md": "- 5月3日开会\n", "memory/config.md": "- 喝茶\n- 5月3日开会\n"})
    counts = imported(tmp_path)
    assert (counts["facts"], counts["already"], topics(scope)) == (2, 1, {("", "5月3日开会"), ("", "喝茶")})
    assert imported(tmp_path)["batch"] is None


def test_what_was_moved_to_another_topic_since_is_not_brought_again(tmp_path: Path, scope: Scope) -> None:
    write(tmp_path, {"memory/alice.md": "- Birthday: 3 May\n"})
    imported(tmp_path)
    Entry.objects.update(topic="birthdays")
    assert imported(tmp_path)["batch"] is None


def test_of_a_line_that_introduces_others_nothing_is_lost(tmp_path: Path, scope: Scope) -> None:
    long = "小雨喜欢" + "很辣的川菜和" * 20 + "龙井，所以："
    content = f"- First line of context\n  second line, Bob only eats fish, so:\n  - cook fish\n- {long}\n  - 买茶\n"
    write(tmp_path, {"MEMORY.md": f"{content}- Pets:\n  - a cat\n- 宠物：\n  - 一只猫\n"})
    imported(tmp_path)
    assert facts(scope) == [
        "First line of context\nsecond line, Bob only eats fish, so:",
        "First line of context: cook fish",
        long,
        f"{long[:100]}: 买茶",
        "Pets: a cat",
        "宠物: 一只猫",
    ]


BLANKS = [
    *("**Name:**", "**姓名：**", "**Name**:", "**姓名**：", "**Pronouns:** _(optional)_", "**代词：** _（可不填）_"),
    *("_(What do they care about?)_", "_Update this as you go._"),
]


def test_what_is_not_filled_in_of_the_form_is_left_out(tmp_path: Path, scope: Scope) -> None:
    filled = ["**姓名：** 王芳", "**Timezone**: Europe/Lisbon", "**Pets:** _年糕_", "_Mia_ sails with _Bo_"]
    write(tmp_path, {"USER.md": "".join(f"- {line}\n" for line in [*BLANKS, *filled])})
    assert left_out(tmp_path) == [("USER.md", n, "empty") for n in range(1, len(BLANKS) + 1)]
    assert facts(scope) == filled


def test_in_every_other_file_a_line_in_italics_is_a_memory(tmp_path: Path, scope: Scope) -> None:
    write(tmp_path, {"MEMORY.md": "- _Allergic to peanuts_\n", "memory/boats.md": "- **港口：**\n"})
    assert left_out(tmp_path) == []
    assert facts(scope) == ["_Allergic to peanuts_", "**港口：**"]

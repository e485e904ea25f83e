"""A file with its lines, each beside its memory; and an entry that is a line of a file (C2)."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memories import entries
from memories.entries.files import folder_of
from memories.models import Entry, EntryAccess
from memories.notes.save import save_note
from tests.memories.admin.conftest import House
from tests.memories.admin.files.conftest import (
    TEXT,
    Write,
    entry,
    index,
    index_now,
    on_disk,
    page,
    shown,
)

pytestmark = pytest.mark.django_db


def test_a_file_stands_there_with_its_lines_and_what_is_remembered(alice: Client, mine: House, write: Write) -> None:
    path = write("2026-02-28.md", TEXT)
    index(mine.scope)
    nina = entry("Nina")
    EntryAccess.objects.update_or_create(
        entry=nina,
        defaults={"workspace": mine.workspace, "access_count": 4, "last_accessed": timezone.now()},
    )
    text = shown(alice, page(mine.scope), path=path)
    assert '<strong class="mp-raw mp-h1"># Saturday</strong>' in text
    line = rf'id="L3".*?Nina moved her lessons.*?memories/entry/{nina.pk}/change.*?recalled 4 times'
    assert re.search(line, text, re.DOTALL)
    assert 'id="L6"' in text


def test_a_saved_line_shows_when_and_in_which_session_instead_of_its_stamp(alice: Client, mine: House) -> None:
    path = folder_of(mine.scope).long_term
    save_note(mine.scope, path, "买了新的显示器", now=timezone.now(), session=mine.session.key)
    text = shown(alice, page(mine.scope), path=path)
    assert "买了新的显示器" in text
    assert "&lt;!-- at=" not in text
    assert f"?q={mine.session.key}" in text


def test_a_struck_line_can_be_restored_from_its_file(alice: Client, mine: House, write: Write) -> None:
    path = write("2026-02-28.md", TEXT)
    index(mine.scope)
    nina = entry("Nina")
    entries.expire(nina, now=timezone.now(), actor="user:op")
    text = shown(alice, page(mine.scope), path=path)
    assert '<del class="mp-raw">- Nina moved her lessons to Tuesday</del>' in text
    address = reverse("admin:memories_entry_restore", args=[nina.pk])
    assert address in text
    alice.post(address, {"confirmed": "yes", "reason": "it was right", "term": ""})
    assert on_disk(mine.scope, path).read_text() == TEXT


def test_a_long_file_is_shown_some_hundred_lines_at_a_time(alice: Client, mine: House, write: Write) -> None:
    path = write("plans/long.md", "".join(f"line {n}\n\n" for n in range(1, 801)))
    answer = alice.get(page(mine.scope), {"path": path, "line": 1101})
    lines = answer.context["shown"].lines
    assert (lines[0].number, lines[-1].number) == (1001, 1500)
    assert 'id="L1101" class="mp-asked"' in answer.content.decode()


@pytest.mark.thorough
def test_a_page_of_lines_costs_the_same_for_more_lines(alice: Client, mine: House, write: Write) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            shown(alice, page(mine.scope), path=path)
        return len(captured)

    path = write("2026-02-28.md", "- one\n- struck\n")
    index(mine.scope)
    entries.expire(entry("struck"), now=timezone.now(), actor="user:op")
    queries()
    few = queries()
    with on_disk(mine.scope, path).open("a") as file:
        file.writelines(f"- line {n}\n" for n in range(200))
    index(mine.scope)
    assert queries() == few


def test_what_is_hidden_in_a_file_stays_text(alice: Client, mine: House, write: Write) -> None:
    path = write("2026-02-28.md", "- <script>alert(1)</script>\n")
    text = shown(alice, page(mine.scope), path=path)
    assert "<script>alert(1)" not in text
    assert "&lt;script&gt;alert(1)" in text


# an entry


def test_an_entry_leads_to_its_line_and_says_what_stands_there(alice: Client, mine: House, write: Write) -> None:
    path = write("2026-02-28.md", TEXT)
    index(mine.scope)
    address = reverse("admin:memories_entry_change", args=[entry("Nina").pk])
    text = shown(alice, address)
    assert "The file says the same." in text
    assert f"{path}:3" in text
    assert "A line of a file: what you change here is changed there, too." in text
    on_disk(mine.scope, path).write_text(TEXT.replace("Tuesday", "Friday"))
    text = shown(alice, address)
    assert "The file says something else there now:" in text
    assert "Nina moved her lessons to Friday" in text


def edit(client: Client, row: Entry, content: str) -> object:
    form = client.get(reverse("admin:memories_entry_change", args=[row.pk])).context["adminform"].form
    data = {name: form[name].value() or "" for name in form.fields if name not in ("expires_at", "review_at")}
    empty = {"slots-TOTAL_FORMS": 0, "slots-INITIAL_FORMS": 0}
    return client.post(
        reverse("admin:memories_entry_change", args=[row.pk]), data | empty | {"pinned": "", "content": content}
    )


@pytest.mark.thorough
def test_an_edit_over_a_line_somebody_changed_shows_both_texts_and_changes_nothing(
    alice: Client, mine: House, write: Write
) -> None:
    path = write("2026-02-28.md", TEXT)
    index(mine.scope)
    theirs = TEXT.replace("Tuesday", "Wednesday")
    on_disk(mine.scope, path).write_text(theirs)
    answer = edit(alice, entry("Nina"), "Nina plays on Friday")
    assert answer.status_code == 409
    text = answer.content.decode()
    for words in ("Nina moved her lessons to Tuesday", "Nina moved her lessons to Wednesday", "Nina plays on Friday"):
        assert words in text
    assert on_disk(mine.scope, path).read_text() == theirs
    assert entry("Nina").content == "Nina moved her lessons to Tuesday"
    index_now(alice, scope=mine.scope.pk, path=path)  # «take over the file's text»
    assert entry("Nina").content == "Nina moved her lessons to Wednesday"


def test_an_edit_changes_the_line(alice: Client, mine: House, write: Write) -> None:
    path = write("2026-02-28.md", TEXT)
    index(mine.scope)
    assert edit(alice, entry("妹妹"), "妹妹叫小雨，搬到苏州了").status_code == 302
    assert "- 妹妹叫小雨，搬到苏州了\n" in on_disk(mine.scope, path).read_text()

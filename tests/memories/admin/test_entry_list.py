"""The list of memories: what is in a view, which columns stand in it, what is marked, and the same as a file."""

import csv
from datetime import timedelta
from io import StringIO
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone

from memories import entries
from memories.admin.entries.columns import SAVED_VIEWS, excerpt
from memories.entries import CONTRADICTED_BY, Edit
from memories.lifecycle.expiry import expire_due
from memories.models import Entry, EntryAccess
from tests.memories.admin.conftest import OPEN, SECRET, House
from tests.memories.admin.test_entries import found, remember

pytestmark = pytest.mark.django_db
ADDRESS = "/admin/memories/entry/"


def columns(client: Client, **asked: Any) -> list[str]:
    return list(client.get(ADDRESS, asked).context["cl"].list_display[1:])


@pytest.mark.thorough
def test_each_view_shows_what_it_is_named_after(alice: Client, mine: House) -> None:
    now = timezone.now()
    made = {name: remember(mine.scope, f"a memory for the view {name}") for name in SAVED_VIEWS}
    EntryAccess.objects.update_or_create(
        entry=made["live"], defaults={"workspace": mine.workspace, "access_count": 3, "last_accessed": now}
    )
    made["last_night"] = remember(mine.scope, "a turn of long ago", type="auto_capture", at=now - timedelta(days=100))
    expire_due(mine.workspace.pk, now=now, run="expire:night")
    columns: dict[str, dict[str, Any]] = {
        "due": {"review_at": now - timedelta(days=1)},
        "pinned": {"pinned": True},
        "checked": {"verified_at": now - timedelta(days=200)},
    }
    for name, values in columns.items():
        entries.update(made[name], Edit(columns=values), now=now, actor="user:alice")
    entries.update(made["disputed"], Edit(slots={CONTRADICTED_BY: str(made["live"].uid)}), now=now, actor="job")
    entries.expire_many(mine.scope, {made["archived"].pk: None}, now=now, actor="job", column="archived_at")
    shown = {name: found(alice, view=name) for name in SAVED_VIEWS}
    for name in ("due", "last_night", "archived", "pinned", "disputed", "checked"):
        assert shown[name] == [made[name].content]
    assert made["archived"].content not in shown["live"] and made["pinned"].content in shown["live"]
    assert made["never"].content in shown["never"] and made["live"].content not in shown["never"]


def test_a_view_keeps_the_search_and_the_filters_and_they_keep_the_view(alice: Client, mine: House) -> None:
    page = alice.get(ADDRESS, {"q": OPEN, "view": "live", "type__exact": "chat_turn", "p": "1"})
    tabs = {str(label): (address, is_shown) for address, label, is_shown in page.context["cl"].view_tabs}
    assert tabs["Live"][1]
    assert tabs["Pinned"] == (f"?{urlencode({'q': OPEN, 'type__exact': 'chat_turn', 'view': 'pinned'})}", False)
    assert page.content.decode().count('<input type="hidden" name="view" value="live"') == 2  # search and filters
    assert found(alice, view="there is none") == found(alice)


def test_what_the_filters_make_the_same_in_every_row_stands_in_none(alice: Client, mine: House) -> None:
    assert columns(alice) == ["text", "place", "colored_state", "created"]
    assert columns(alice, view="live") == ["text", "place", "created"]
    one_scope = {"scope__id__exact": str(mine.scope.pk), "type__exact": "chat_turn"}
    page = alice.get(ADDRESS, one_scope).content.decode()
    assert str(mine.scope) not in page.split('id="result_list"')[1].split("</table>")[0]
    assert columns(alice, **one_scope, category__exact="event") == ["text", "colored_state", "created"]


def test_a_person_chooses_the_columns_and_they_stay(alice: Client, mine: House) -> None:
    back = f"{ADDRESS}?q={OPEN}"
    answer = alice.post(f"{ADDRESS}columns/?{urlencode({'_back': back})}", {"column": ["ends", "checked", "evil"]})
    assert (answer.status_code, answer.headers["Location"]) == (302, back)
    assert columns(alice) == ["text", "ends", "checked"]
    assert alice.get(f"{ADDRESS}columns/").status_code == 405


@pytest.mark.parametrize(
    ("content", "query", "shown"),
    [
        ("The deploys of Atlas <b>", "deploy", "The <mark>deploys</mark> of Atlas &lt;b&gt;"),
        ("我们决定Atlas项目继续", "atlas", "我们决定<mark>Atlas</mark>项目继续"),
        ("我的猫叫年糕，三岁了", "年糕", "我的猫叫<mark>年糕</mark>，三岁了"),
        ("the port is 8080", '"port is"', "the <mark>port is</mark> 8080"),
        ("nothing of it", "else", "nothing of it"),
        ("anything", "", "anything"),
    ],
)
def test_the_words_that_were_searched_for_are_marked(content: str, query: str, shown: str) -> None:
    assert excerpt(content, query, 240) == shown


def test_a_long_text_is_cut_so_that_the_first_match_is_seen() -> None:
    assert excerpt("rye " * 200 + "spelt " + "oats " * 200, "spelt", 100).split("<mark>")[0] == "…" + "rye " * 10


def test_the_list_is_handed_out_as_a_file_as_it_is_narrowed(alice: Client, theirs: House, mine: House) -> None:
    remember(mine.scope, "=1+1 looks like a formula")
    answer = alice.get(f"{ADDRESS}csv/", {"view": "live", "q": "formula"})
    assert answer.headers["Content-Disposition"] == 'attachment; filename="memories.csv"'
    head, row = csv.reader(StringIO(answer.content.decode("utf-8-sig")))
    assert dict(zip(head, row, strict=True))["content"] == "'=1+1 looks like a formula"
    everything = alice.get(f"{ADDRESS}csv/").content.decode("utf-8-sig")
    assert OPEN in everything and SECRET not in everything
    assert len(list(csv.reader(StringIO(everything)))) == 1 + Entry.objects.filter(workspace=mine.workspace).count()


def test_a_page_that_is_no_more_is_the_last_one_and_keeps_the_search(alice: Client, mine: House) -> None:
    for n in range(31):
        remember(mine.scope, f"a numbered memory {n} of rye")
    page = alice.get(ADDRESS, {"q": "rye", "p": "9"})
    assert page.status_code == 200 and len(page.context["cl"].result_list) == 1 and page.context["cl"].page_num == 2


@pytest.mark.parametrize("few", [10_000, 0])
def test_few_or_many_the_same_is_found_and_nothing_of_others(
    few: int, monkeypatch: pytest.MonkeyPatch, alice: Client, mine: House, theirs: House
) -> None:
    monkeypatch.setattr("memories.admin.lists.FEW", few)
    assert len(found(alice, q="tea")) == 1 and found(alice, q=SECRET) == []
    assert found(alice, q="tea", view="live") == found(alice, q="tea")

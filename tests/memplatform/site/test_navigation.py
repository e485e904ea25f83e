"""The side bar has twelve places by job, and the palette leads to all that somebody may open, and to nothing else."""

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memories.models import Batch
from memories.staff.roles import Role
from memplatform.site.navigation import JOBS, MOST, SECTIONS, Page
from tests.memories.admin.conftest import House, enter, make_user

pytestmark = pytest.mark.django_db


def places(client: Client, page: str = "admin:index") -> tuple[list[str], list[str], bool]:
    """The titles of the side bar, those behind «More», and whether that is open."""
    context = client.get(reverse(page)).context
    groups = context["sidebar_navigation"]
    shown = [str(item["title"]) for group in groups if not group.get("is_more") for item in group["items"]]
    more = [str(item["title"]) for group in groups if group.get("is_more") for item in group["items"]]
    return shown, more, context["is_more_open"]


def found(client: Client, words: str) -> list[tuple[str, str]]:
    results = client.get(reverse("admin:search"), {"s": words, "extended": 1}).context["results"]
    return [(str(result.title), str(result.description)) for result in results]


def member(house: House, role: Role) -> Client:
    return enter(make_user(role, workspace=house.workspace, role=role, is_staff=True))


@pytest.mark.parametrize("role", Role)
def test_each_role_sees_at_most_twelve_places_and_the_rest_behind_more(role: Role, mine: House) -> None:
    shown, more, is_open = places(member(mine, role))
    assert len(shown) <= MOST and {"Home", "Entries", "People", "Sessions", "Policies"} <= set(shown)
    assert "Scopes" in more and not set(shown) & set(more) and not is_open
    assert ("Review" in shown) == (role in (Role.CURATOR, Role.OPERATOR, Role.OWNER))
    assert ("Connect a bot" in shown) == (role == Role.OWNER)
    assert ("Audit log" in [*shown, *more]) == (role in (Role.AUDITOR, Role.OWNER))


def test_an_auditor_finds_the_audit_log_among_the_twelve(mine: House) -> None:
    shown, _more, _is_open = places(member(mine, Role.AUDITOR))
    assert "Audit log" in shown


def test_who_invites_finds_the_members_among_the_twelve(owner: Client, mine: House) -> None:
    shown, more, _is_open = places(owner)
    assert "Members" in shown and "Recall lab" in more


def test_a_page_behind_more_opens_it_and_is_marked(owner: Client, mine: House) -> None:
    assert places(owner, "admin:memories_scope_changelist")[2]
    page = owner.get(reverse("admin:memories_scope_changelist")).content.decode()
    assert '<details class="mp-more" open>' in page and page.count('aria-current="page"') >= 1
    assert '<details class="mp-more">' in owner.get(reverse("admin:index")).content.decode()


def test_every_table_stands_in_the_side_bar() -> None:
    listed = {place[0] for _title, rows in [*JOBS, *SECTIONS] for place in rows if not isinstance(place, Page)}
    tables = {model._meta.label_lower for model in admin.site._registry}
    assert tables - listed == {"memories.botkey", "django_q.success"}  # a bot's page has its keys, a failure's its task


@pytest.mark.parametrize(
    ("words", "title", "kind"),
    [
        ("polic", "Policies", "page"),
        ("invite", "Invite somebody", "action"),
        ("connect bot", "Connect a bot", "action"),
        ("add memory", "Add a memory", "action"),
        ("erase", "Erase a person", "action"),
    ],
)
def test_the_palette_finds_pages_and_actions_by_their_names(
    owner: Client, mine: House, words: str, title: str, kind: str
) -> None:
    assert (title, kind) in found(owner, words)


def test_the_palette_says_where_it_found_nothing(owner: Client, mine: House) -> None:
    page = owner.get(reverse("admin:search"), {"s": "zzzz", "extended": 1}).content.decode()
    assert '<p id="command-results-list"' in page and "No results" in page  # what the palette takes of it
    assert "No results" not in owner.get(reverse("admin:search"), {"s": "polic", "extended": 1}).content.decode()


def test_the_palette_finds_people_and_batches(owner: Client, mine: House) -> None:
    named = found(owner, "peer-marmalade")
    assert any("person · Alice's" in kind for _title, kind in named)
    Batch.objects.filter(workspace=mine.workspace).update(reason="spoiled harvest")
    assert any(kind == "batch" for _title, kind in found(owner, "spoiled harvest"))


def test_the_palette_offers_nobody_what_they_may_not_do(mine: House, theirs: House) -> None:
    viewer = member(mine, Role.VIEWER)
    for words in ("invite", "erase", "connect a bot", "quarantine", "issue", "audit"):
        assert [title for title, kind in found(viewer, words) if kind in ("page", "action")] == [], words
    assert found(viewer, f"peer-{theirs.word}") == []


def test_in_chinese_the_palette_knows_both_names(owner: Client, mine: House) -> None:
    owner.cookies["django_language"] = "zh-hans"
    assert found(owner, "接入机器人")[0][0] == found(owner, "connect a bot")[0][0] == "接入机器人"


def test_the_palette_costs_a_known_number_of_queries(owner: Client, mine: House) -> None:
    with CaptureQueriesContext(connection) as taken:
        found(owner, "marmalade")
    assert len(taken) <= 40

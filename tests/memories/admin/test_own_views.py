"""A person saves how a list is narrowed under a name, for themselves alone, and deletes it again."""

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from memories.admin.own_views import MOST
from memories.staff.models import OwnView
from memories.staff.roles import Role
from tests.memories.admin.conftest import House, enter, make_user

pytestmark = pytest.mark.django_db
LIST = "admin:memories_entry_changelist"
NARROWED = "q=marmalade&state=live"


def save(client: Client, name: str, query: str = NARROWED, place: str = "memories.entry") -> int:
    return client.post(reverse("own_views"), {"place": place, "name": name, "query": query}).status_code


def names(client: Client, query: str = "", listed: str = LIST) -> list[str]:
    return [view.name for view in client.get(f"{reverse(listed)}?{query}").context["own_views"].saved]


@pytest.mark.parametrize("role", Role)
def test_each_role_saves_a_view_for_itself_and_deletes_it(role: Role, mine: House) -> None:
    client = enter(make_user(role, workspace=mine.workspace, role=role, is_staff=True))
    colleague = enter(make_user("colleague", workspace=mine.workspace, role=Role.OWNER, is_staff=True))
    save(client, "Breakfast")
    assert names(client) == ["Breakfast"] and names(colleague) == []
    page = client.get(f"{reverse(LIST)}?state=live&q=marmalade&p=0")
    shown = page.context["own_views"].shown
    assert shown.name == "Breakfast" and "Save this view" not in page.content.decode()
    colleague.post(reverse("own_views"), {"place": "memories.entry", "delete": shown.pk})
    assert names(client) == ["Breakfast"]
    client.post(reverse("own_views"), {"place": "memories.entry", "delete": shown.pk})
    assert names(client) == []


def test_a_view_leads_to_the_list_as_it_was_narrowed_in_its_order_from_the_first_page(
    alice: Client, mine: House
) -> None:
    answer = alice.post(
        reverse("own_views"),
        {"place": "memories.entry", "name": " Breakfast  only ", "query": f"{NARROWED}&p=3&o=-2&_back=/admin/"},
    )
    assert answer.headers["location"] == f"{reverse(LIST)}?o=-2&q=marmalade&state=live"
    (view,) = alice.get(reverse(LIST)).context["own_views"].saved
    assert (view.name, view.address) == ("Breakfast only", answer.headers["location"])
    assert mine.entry in alice.get(view.address).context["cl"].result_list


def test_under_the_same_name_it_is_replaced_and_another_list_has_its_own(alice: Client) -> None:
    save(alice, "Mine")
    save(alice, "Mine", "q=tea")
    save(alice, "Mine", "q=tea", "sessions_app.session")
    assert set(OwnView.objects.values_list("place", "query")) == {
        ("memories.entry", "q=tea"), ("sessions_app.session", "q=tea"),
    }  # fmt: skip
    assert names(alice, listed="admin:sessions_app_session_changelist") == ["Mine"]


@pytest.mark.parametrize(
    ("name", "query"), [("", NARROWED), ("x" * 61, NARROWED), ("All", "p=2"), ("Long", "q=" + "x" * 2_000)]
)
def test_what_has_no_name_or_narrows_nothing_is_not_saved(name: str, query: str, alice: Client) -> None:
    save(alice, name, query)
    assert names(alice) == []


def test_a_list_has_at_most_twenty_of_a_person(alice: Client) -> None:
    for n in range(MOST + 1):
        save(alice, f"View {n:02d}")
    assert len(names(alice)) == MOST and "View 20" not in names(alice)
    save(alice, "View 03", "q=tea")  # one that is there is replaced
    assert OwnView.objects.get(name="View 03").query == "q=tea"


def test_a_list_somebody_may_not_open_takes_no_view(mine: House) -> None:
    viewer = enter(make_user("viewer", workspace=mine.workspace, role=Role.VIEWER, is_staff=True))
    assert save(viewer, "Logins", place="memories.auditrecord") == 403
    assert save(viewer, "People", place="auth.user") == 403 and save(viewer, "Nothing", place="no.list") == 404
    assert not OwnView.objects.exists()


def test_the_link_to_save_stands_where_a_list_is_narrowed_in_both_languages(alice: Client) -> None:
    for language, words in (("en", "Save this view"), ("zh-hans", "保存此视图")):
        pages = [
            alice.get(reverse(LIST) + query, headers={"accept-language": language}).content.decode()
            for query in ("", "?q=marmalade")
        ]
        assert [words in page for page in pages] == [False, True], language


def test_the_database_keeps_a_view_to_a_name_and_a_narrowing() -> None:
    user = make_user("ben", is_staff=True)
    for row in ({"name": "", "query": "q=x"}, {"name": "x", "query": ""}):
        with pytest.raises(IntegrityError, match="own_view_narrows"), transaction.atomic():
            OwnView.objects.create(user_id=user.pk, place="memories.entry", **row)

"""Who knows what about somebody, and what they said of others: on their page, and as filters of the list."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memories.choices import EntryType
from memories.models import Entry, Workspace
from tests.channels_app.people.test_pages import owner as owner
from tests.channels_app.people.test_pages import page
from tests.conftest import Api

pytestmark = pytest.mark.django_db
LI = {"platform": "telegram", "account": "mybot", "peer": "u42", "chat": "c42"}
LI_IN_GROUP = {**LI, "chat": "g1", "is_group": True}
WEI_IN_GROUP = {**LI_IN_GROUP, "peer": "u43"}
WEI = {**LI, "peer": "u43", "chat": "c43"}


@pytest.fixture
def talk(api: Api, workspace: Workspace) -> Api:
    def turn(address: Any, words: str, name: str) -> None:
        answer = api.post("turns", {"address": address, "user": words, "assistant": "", "sender_name": name})
        assert answer.status_code == 201

    turn(LI, "I am allergic to peanuts", "Li Na")
    turn(LI_IN_GROUP, "Zhang Wei owes me fifty euros for the boat", "Li Na")
    turn(LI_IN_GROUP, "The oars are in the shed", "Li Na")
    turn(WEI_IN_GROUP, "Li Na always forgets the oars of the boat", "Zhang Wei")
    fact = {"address": WEI, "content": "She plays the violin.", "type": EntryType.FACT, "subject": "Li Na"}
    assert api.post("entries", fact | {"origin": "other"}).status_code == 201
    return api


def words(rows: Any) -> list[str]:
    return [row.entry.content.removeprefix("User: ") for row in rows]


def test_the_page_of_a_person_shows_what_others_said_of_them(talk: Api, workspace: Workspace, owner: Client) -> None:
    shown = owner.get(page("page", workspace, "telegram:u42"))
    assert words(shown.context["statements_about"]) == [
        "She plays the violin.",
        "Li Na always forgets the oars of the boat",
    ]
    violin, oars = shown.context["statements_about"]
    assert (violin.audience[0], oars.speaker) == ("telegram:direct_u43", "Zhang Wei")
    assert "telegram:mybot:group_g1" in oars.audience
    assert "heard in telegram:mybot:group_g1" in shown.content.decode()


def test_it_shows_what_they_said_of_others_once(talk: Api, workspace: Workspace, owner: Client) -> None:
    shown = owner.get(page("page", workspace, "telegram:u42"))
    assert words(shown.context["statements_by"]) == ["Zhang Wei owes me fifty euros for the boat"]
    other = owner.get(page("page", workspace, "telegram:u43"))
    assert words(other.context["statements_by"]) == [
        "She plays the violin.",
        "Li Na always forgets the oars of the boat",
    ]


def test_whoever_has_the_same_id_on_another_platform_said_nothing_here(
    talk: Api, workspace: Workspace, owner: Client
) -> None:
    elsewhere = {**LI_IN_GROUP, "platform": "lark", "chat": "g7"}
    for address, words_said, name in (
        ({**elsewhere, "peer": "u43"}, "The boat is Li Na's", "Zhang Wei"),
        (elsewhere, "Zhang Wei lost the boat", "Li Na"),
    ):
        body = {"address": address, "user": words_said, "assistant": "", "sender_name": name}
        assert talk.post("turns", body).status_code == 201
    at_telegram = owner.get(page("page", workspace, "telegram:u42")).context
    assert "Zhang Wei lost the boat" not in words(at_telegram["statements_by"])
    assert "Zhang Wei lost the boat" in words(owner.get(page("page", workspace, "lark:u42")).context["statements_by"])


def test_a_person_nobody_calls_by_a_name_is_looked_for_by_none(api: Api, workspace: Workspace, owner: Client) -> None:
    api.post("turns", {"address": LI, "user": "I am allergic to peanuts", "assistant": ""})
    shown = owner.get(page("page", workspace, "telegram:u42"))
    assert (shown.context["names"], shown.context["statements_about"]) == ([], [])


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"subject": "li na"}, {"She plays the violin."}),
        ({"by": "u43"}, {"She plays the violin.", "User: Li Na always forgets the oars of the boat"}),
        ({"by": "Zhang Wei"}, {"User: Li Na always forgets the oars of the boat"}),
        ({"heard": "telegram:direct_u43", "subject": "Li Na"}, {"She plays the violin."}),
    ],
)
def test_the_list_is_narrowed_by_whom_it_is_about_who_said_it_and_who_may_hear_it(
    talk: Api, owner: Client, query: dict[str, str], found: set[str]
) -> None:
    rows = owner.get(reverse("admin:memories_entry_changelist"), query).context["cl"].result_list
    assert {row.content for row in rows} == found


def test_what_a_group_may_hear_is_the_groups_and_the_persons_of_there(talk: Api, owner: Client) -> None:
    rows = owner.get(reverse("admin:memories_entry_changelist"), {"heard": "telegram:mybot:group_g1"}).context["cl"]
    heard = (
        Entry.objects.filter(content__contains="oars").count() + Entry.objects.filter(content__contains="owes").count()
    )
    assert len(rows.result_list) == heard

"""Whom the pages of an erasure name: everybody whole, whatever stands in their id, and nobody else."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.datastructures import MultiValueDict
from django.utils.http import urlencode

from memories.models import Entry, Erasure, Workspace
from memplatform.erasure.person import Identity
from tests.conftest import Api
from tests.memories.admin.conftest import enter, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner(workspace: Workspace) -> Client:
    return enter(make_user("olga", workspace=workspace, is_staff=True))


def say(api: Api, platform: str, peer: str, words: str) -> None:
    address = {"platform": platform, "account": "mybot", "peer": peer, "chat": f"chat-{peer}"}
    assert api.post("turns", {"address": address, "user": words, "assistant": "Noted."}).status_code == 201


def page(names: Sequence[str]) -> str:
    return f"{reverse('admin:memories_erasure_erase')}?{urlencode(MultiValueDict({'person': list(names)}), doseq=True)}"


def order(owner: Client, names: Sequence[str], typed: str) -> Any:
    return owner.post(page(names), {"confirmed": "yes", "reason": "request 17", "person": typed})


@pytest.mark.parametrize(
    ("platform", "peer", "others"),
    [
        ("mem0", "John Smith", [("mem0", "John")]),
        ("mem0", "王　小明", [("mem0", "王")]),
        ("matrix", "@a lark:c", [("matrix", "@a"), ("lark", "c")]),
        ("web", "a  b", [("web", "a b")]),
    ],
)
def test_an_id_with_white_space_is_one_person(
    owner: Client, api: Api, platform: str, peer: str, others: list[tuple[str, str]]
) -> None:
    say(api, platform, peer, "I keep a tortoise called 豆豆 in the kitchen")
    for each in others:
        say(api, *each, "I moved to Hangzhou last week")
    name = f"{platform}:{peer}"
    found = owner.get(reverse("admin:memories_erasure_changelist"), {"person": name})
    assert [str(one.identity) for one in found.context["people"]] == [name]
    asked = owner.get(page([name]))
    assert asked.context["person"] == name and asked.context["found"].counts["memories_entry"] == 1
    assert order(owner, [name], name).status_code == 302
    assert Erasure.objects.get().identities == [{"platform": platform, "peer": peer}]
    assert Entry.objects.filter(content__contains="Hangzhou").count() == len(others)


def test_several_identities_are_named_one_by_one(owner: Client, api: Api) -> None:
    names = ["mem0:John Smith", "telegram:u42"]
    for name in names:
        identity = Identity.parse(name)
        say(api, identity.platform, identity.peer, f"I keep a tortoise, says {name}")
    asked = owner.get(page(names))
    assert asked.context["person"] == "mem0:John Smith, telegram:u42"
    assert asked.context["found"].counts["memories_entry"] == 2
    assert order(owner, names, "mem0:John Smith telegram:u42").status_code == 200  # not what stands there
    assert not Erasure.objects.exists()
    assert order(owner, names, "mem0:John Smith, telegram:u42").status_code == 302
    assert Erasure.objects.get().identities == [
        {"platform": "mem0", "peer": "John Smith"},
        {"platform": "telegram", "peer": "u42"},
    ]


@pytest.mark.parametrize("words", ["telegram:", "Ann:", ":", "安娜: ", ":u42"])
def test_a_search_for_what_is_no_whole_identity_finds_nobody(owner: Client, words: str) -> None:
    answer = owner.get(reverse("admin:memories_erasure_changelist"), {"person": words})
    assert answer.status_code == 200 and answer.context["people"] == []


@pytest.mark.parametrize("names", [[], [""], ["Ann"], ["telegram:u42", "lark"]])
def test_who_names_nobody_is_told_how_to(owner: Client, names: list[str]) -> None:
    answer = owner.get(page(names), follow=True)
    (message,) = answer.context["messages"]
    assert "by platform and id, as telegram:u42" in str(message)

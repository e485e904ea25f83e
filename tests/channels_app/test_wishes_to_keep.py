"""«Please never forget that»: what a user asks to have kept has no end (A2, A8, A9)."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memories.lifecycle import expiry
from memories.models import Entry, Policy, Workspace
from tests.conftest import GROUP, TELEGRAM, Api

pytestmark = pytest.mark.django_db
PENICILLIN = "I'm allergic to penicillin, please never forget that"


def say(api: Api, user: str, assistant: str = "Noted.", **more: Any) -> dict[str, Any]:
    response = api.post("turns", {"address": TELEGRAM, "user": user, "assistant": assistant, **more})
    assert response.status_code == 201, response.json()
    return response.json()["entries"][0]


def long_ago(days: int = 40) -> str:
    return (timezone.now() - timedelta(days=days)).isoformat()


@pytest.mark.parametrize(
    ("wish", "question"),
    [
        (PENICILLIN, "What medicine am I allergic to?"),
        ("Remember: the spare key is under the fern", "Where is the spare key?"),
        ("我对青霉素过敏，请务必记住", "我对什么过敏？"),
        ("别忘了我的车位是B2-118", "我的车位是哪个？"),
    ],
)
def test_what_a_user_asks_to_keep_is_served_after_the_term_of_chat(api: Api, wish: str, question: str) -> None:
    answer = say(api, wish, at=long_ago())
    assert (answer["type"], answer["kept"]) == ("user_explicit", True)
    expiry.expire_due(Workspace.objects.get().pk, now=timezone.now(), run="expire:night")
    served = api.post("recall", {"address": TELEGRAM, "message": question}).json()
    assert [memory["id"] for memory in served["memories"]] == [answer["id"]]


@pytest.mark.parametrize(
    "text", ["I'll never forget that day in Rome", "Do you remember my sister?", "我忘记了密码", "你还记得我的猫吗？"]
)
def test_a_story_and_a_question_end_with_the_chat(api: Api, text: str) -> None:
    answer = say(api, text)
    assert (answer["type"], answer["kept"]) == ("chat_turn", False)
    assert Policy.objects.of(Workspace.objects.get().pk).end_of(Entry.objects.get()) is not None


@pytest.mark.parametrize(
    ("text", "wish"), [("My blood type is AB negative", "Please remember that."), ("我的血型是AB型", "请务必记住这点")]
)
def test_a_wish_that_names_nothing_keeps_the_turn_before(api: Api, text: str, wish: str) -> None:
    say(api, text, "Good to know.")
    answer = say(api, wish)
    entry = Entry.objects.get(uid=answer["id"])
    assert answer["kept"] and entry.content == f"User: {text}\n{wish}\nAssistant: Good to know.\nNoted."


def test_a_wish_that_names_nothing_keeps_no_words_of_another(api: Api) -> None:
    say(api, "I adore durian", address=GROUP)
    answer = say(api, "please remember that", address={**GROUP, "peer": "somebody-else"})
    assert "durian" not in Entry.objects.get(uid=answer["id"]).content


def test_a_wish_about_what_was_taken_out_brings_nothing_back(api: Api) -> None:
    result = say(api, "My blood type is AB negative")
    assert api.request("DELETE", f"entries/{result['id']}").status_code == 200
    say(api, "Please remember that.")
    assert not Entry.objects.live().filter(content__contains="AB negative").exists()


def test_a_long_message_that_asks_to_be_kept_is_kept_whole(api: Api) -> None:
    result = " ".join(f"Step {n} of the recipe takes {n} grams of flour." for n in range(1, 20))
    answer = say(api, f"Please remember this: {result}")
    assert result in Entry.objects.get(uid=answer["id"]).content


def test_what_is_kept_can_be_expired_and_restored_like_any_other(api: Api) -> None:
    answer = say(api, PENICILLIN)
    assert api.request("DELETE", f"entries/{answer['id']}").status_code == 200
    assert not Entry.objects.live().exists()
    assert api.post(f"entries/{answer['id']}/restore", {}).status_code == 200
    assert Entry.objects.live().get().expires_at is None


def test_a_group_keeps_what_one_of_it_asks_to_keep(api: Api) -> None:
    api.post("turns", {"address": GROUP, "user": "Remember that the release is on Friday", "assistant": "Yes."})
    assert set(Entry.objects.values_list("type", flat=True)) == {"user_explicit"}

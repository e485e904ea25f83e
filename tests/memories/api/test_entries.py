"""POST and GET /entries: saving on purpose, and seeing what is there."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now

from memories import entries as store
from memories.models import Entry, Scope, Slot, Workspace
from tests.conftest import NOW, TELEGRAM, Api, make_draft, make_scope

pytestmark = pytest.mark.django_db
SCOPE = "telegram:direct_u42"


def save(api: Api, content: str = "I am allergic to peanuts", **kwargs: Any) -> dict[str, Any]:
    response = api.post("entries", {"scope": SCOPE, "content": content, **kwargs})
    assert response.status_code == 201, response.json()
    return response.json()


def listed(api: Api, **parameters: Any) -> list[str]:
    response = api.get("entries", **parameters)
    assert response.status_code == 200, response.json()
    return [row["content"] for row in response.json()["results"]]


def test_the_answer_is_the_entry_as_it_is_stored(api: Api) -> None:
    answer = save(
        api,
        type="fact",
        tier=2,
        slots={"env": "prod", "chat_id": "c7"},
        importance=0.8,
        category="config",
        project="shop",
        topic="payments",
        pinned=True,
        source="manual",
        expires_at="2027-01-01T00:00:00Z",
        at="2026-03-01T09:00:00Z",
    )
    expected = {
        "scope": SCOPE, "type": "fact", "tier": 2, "slots": {"env": "prod", "chat_id": "c7"}, "importance": 0.8,
        "category": "config", "project": "shop", "topic": "payments", "pinned": True, "source": "manual",
        "content": "I am allergic to peanuts", "expires_at": "2027-01-01T00:00:00Z",
        "created_at": "2026-03-01T09:00:00Z",
        "stated_at": "2026-03-01T09:00:00Z", "outcome": "created", "linked": [], "version": 1, "state": "live",
        "expired_at": None, "archived_at": None, "subtype": "",
    }  # fmt: skip
    assert {name: answer[name] for name in expected} == expected
    assert answer["id"] == str(Entry.objects.get().uid)
    shown = api.get("entries").json()["results"]
    assert shown == [{name: answer[name] for name in shown[0]}]


def test_an_entry_saved_on_purpose_is_what_a_bot_need_not_say(api: Api) -> None:
    answer = save(api)
    assert (answer["type"], answer["source"], answer["importance"], answer["tier"]) == (
        "user_explicit",
        "tool",
        0.5,
        None,
    )


def test_a_category_brings_its_importance(api: Api) -> None:
    assert save(api, category="identity")["importance"] == 1.0
    assert save(api, "the build failed at noon", category="temp")["importance"] == 0.2


def test_saying_the_same_again_is_skipped(api: Api) -> None:
    first, second = save(api), save(api, "i am ALLERGIC, to peanuts!")
    assert second["outcome"] == "skipped"
    assert second["id"] == first["id"]
    assert Entry.objects.get().access.repeat_count == 1


def test_rewording_is_merged_and_the_answer_has_the_newest_version(api: Api) -> None:
    words = "the office coffee machine needs fresh filters and clean water every single morning"
    first = save(api, words)
    second = save(api, words + " please")
    assert second["outcome"] == "merged"
    assert second["id"] == first["id"]
    assert second["content"] == words + " please"
    assert second["version"] == Entry.objects.get().version == first["version"] + 1


def test_what_differs_in_a_number_is_kept_and_linked(api: Api) -> None:
    first = save(api, "the staging server of the web shop listens on port 8080")
    second = save(api, "the staging server of the web shop listens on port 9090")
    assert second["outcome"] == "created"
    assert second["linked"] == [first["id"]]


def test_a_scope_begins_with_its_first_entry(api: Api) -> None:
    for key, kind in (("main", "user"), ("direct_mei", "user"), ("lark:bot1:group_oc1", "chat")):
        assert api.post("entries", {"scope": key, "content": "a beginning"}).status_code == 201
        assert Scope.objects.get(key=key).kind == kind


@pytest.mark.parametrize(
    "key", ["Main", "telegram:direct_", "telegram", "a:b:c:d", "telegram:Direct_u1", "x" * 250, "../main", "群"]
)
def test_a_key_no_address_could_have_begins_no_scope(api: Api, key: str) -> None:
    assert api.post("entries", {"scope": key, "content": "a beginning"}).status_code == 404
    assert not Scope.objects.exists()


def test_a_frozen_scope_takes_no_entry(api: Api, scope: Scope) -> None:
    Scope.objects.filter(pk=scope.pk).update(frozen=True)
    response = api.post("entries", {"scope": scope.key, "content": "too late"})
    assert response.status_code == 409


def test_a_turn_saved_by_hand_needs_its_sender(api: Api) -> None:
    response = api.post("entries", {"scope": SCOPE, "type": "chat_turn", "content": "User: hi"})
    assert response.status_code == 400
    assert response.json()["errors"][0]["attr"] == "slots.sender_id"


def test_8000_characters_are_kept_whole(api: Api) -> None:
    content = "年糕" * 4_000
    assert save(api, content)["content"] == content


def test_entries_are_listed_newest_first(api: Api) -> None:
    for day in (2, 3, 1):
        save(api, f"said on day number {day}", at=f"2026-03-0{day}T00:00:00Z")
    assert listed(api) == ["said on day number 3", "said on day number 2", "said on day number 1"]


def test_entries_are_found_by_scope_type_words_and_slots(api: Api) -> None:
    save(api, "Peanuts are dangerous", slots={"env": "prod", "speaker": "Mei"})
    save(api, "walnuts are fine", slots={"env": "test"})
    api.post("entries", {"scope": "main", "content": "cashews 腰果 are fine too"})
    api.post("turns", {"address": TELEGRAM, "user": "I bought a bike", "assistant": "ok"})
    assert listed(api, scope="main") == ["cashews 腰果 are fine too"]
    assert listed(api, type="chat_turn") == ["User: I bought a bike\nAssistant: ok"]
    assert listed(api, q="peanuts dangerous") == ["Peanuts are dangerous"]
    assert listed(api, q="腰果") == ["cashews 腰果 are fine too"]
    assert listed(api, q="100%") == []
    assert listed(api, **{"slot.env": "prod"}) == ["Peanuts are dangerous"]
    assert listed(api, **{"slot.env": "prod", "slot.speaker": "Mei"}) == ["Peanuts are dangerous"]
    assert listed(api, **{"slot.env": "test", "slot.speaker": "Mei"}) == []
    assert listed(api, **{"slot.sender_id": "u42"}) == ["User: I bought a bike\nAssistant: ok"]
    assert listed(api, **{"slot.source": "conversation_capture"}) == ["User: I bought a bike\nAssistant: ok"]
    assert listed(api, **{"slot.scope": "chat"}) == []


def test_two_slots_are_found_together_on_one_entry_only(api: Api) -> None:
    save(api, "both at once", slots={"env": "prod", "service": "shop"})
    save(api, "only the place", slots={"env": "prod"})
    save(api, "only the thing", slots={"service": "shop"})
    assert listed(api, **{"slot.env": "prod", "slot.service": "shop"}) == ["both at once"]


@pytest.mark.usefixtures("turns_are_read")
def test_entries_are_listed_by_their_state(api: Api, scope: Scope, settings: Any) -> None:
    settings.TEST_CLOCK = True
    for name in (
        "living",
        "due by policy",
        "due by hand",
        "expired",
        "archived",
        "kept by hand",
        "superseded",
        "taken out",
    ):
        kwargs = (
            {"type": "chat_turn", "slots": {"sender_id": "u42"}} if name in ("due by policy", "kept by hand") else {}
        )
        store.remember(make_draft(scope, f"{name} thing", **kwargs), now=NOW, actor="t")
    entries = Entry.objects
    entries.filter(content="due by hand thing").update(expires_at=NOW + timedelta(days=1))
    entries.filter(content="kept by hand thing").update(expires_at=NOW + timedelta(days=400))
    entries.filter(content="expired thing").update(expired_at=Now())
    entries.filter(content="archived thing").update(archived_at=Now())
    entries.filter(content="superseded thing").update(superseded_by=entries.get(content="living thing"))
    entries.filter(content="taken out thing").update(suppressed_at=Now())
    states = {
        state: {row["content"]: row["state"] for row in _at(api, "2026-04-15T09:00:00Z", state=state)}
        for state in ("live", "due", "expired", "archived", "superseded", "suppressed")
    }
    assert states == {
        "live": {"living thing": "live", "kept by hand thing": "live"},
        "due": {"due by policy thing": "due", "due by hand thing": "due"},
        "expired": {"expired thing": "expired"},
        "archived": {"archived thing": "archived"},
        "superseded": {"superseded thing": "superseded"},
        "suppressed": {"taken out thing": "suppressed"},
    }


def _at(api: Api, moment: str, **parameters: str) -> list[dict[str, Any]]:
    query = "&".join(f"{name}={value}" for name, value in parameters.items())
    response = api.request("GET", f"entries?{query}", **{"X-Memplatform-Now": moment})
    assert response.status_code == 200
    return response.json()["results"]


def walk(api: Api, **parameters: Any) -> list[str]:
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = api.get("entries", **parameters, **cursor).json()
        seen += [row["id"] for row in page["results"]]
        if page["cursor"] is None:
            assert page["next"] is None
            return seen
        assert page["cursor"] in page["next"]
        cursor = {"cursor": page["cursor"]}


@pytest.mark.thorough
@pytest.mark.parametrize(("count", "limit"), [(500, 7), (1_300, 200)])
def test_a_walk_over_entries_of_one_moment_sees_each_once(api: Api, scope: Scope, count: int, limit: int) -> None:
    Entry.objects.bulk_create(
        Entry(
            workspace_id=scope.workspace_id, scope=scope, type="user_explicit", source="tool", content=f"entry {n}",
            created_at=NOW, stated_at=NOW, updated_at=NOW,
        )
        for n in range(count)
    )  # fmt: skip
    seen = walk(api, limit=limit)
    assert len(seen) == len(set(seen)) == count


def test_a_walk_is_not_disturbed_by_what_arrives_meanwhile(api: Api, scope: Scope) -> None:
    for n in range(6):
        save(api, f"number {n} of the old ones", at=f"2026-03-01T00:00:0{n}Z")
    first = api.get("entries", limit=3).json()
    save(api, "one that came later", at="2026-03-02T00:00:00Z")
    rest = api.get("entries", limit=3, cursor=first["cursor"]).json()
    assert [row["content"][7] for row in first["results"] + rest["results"]] == ["5", "4", "3", "2", "1", "0"]


def test_a_page_holds_fifty_unless_told_otherwise(api: Api, scope: Scope) -> None:
    store.remember_many([make_draft(scope, f"{n} {'x' * n}") for n in range(1, 61)], now=NOW, actor="t")
    assert len(listed(api)) == 50
    assert len(listed(api, limit=1)) == 1
    assert len(listed(api, limit=200)) == 60


def test_listing_takes_the_same_statements_for_one_and_for_many(
    api: Api, scope: Scope, django_assert_max_num_queries: Any
) -> None:
    store.remember_many(
        [make_draft(scope, f"{n} {'x' * n}", slots={"env": "prod"}) for n in range(1, 41)], now=NOW, actor="t"
    )
    api.get("entries")
    with django_assert_max_num_queries(7):
        assert len(listed(api)) == 40


def test_slots_of_another_entry_do_not_answer(api: Api, workspace: Workspace) -> None:
    other = make_scope(workspace, "main")
    save(api, "mine", slots={"env": "prod"})
    store.remember(make_draft(other, "other", slots={"env": "test"}), now=NOW, actor="t")
    assert Slot.objects.count() == 2
    assert listed(api, scope=SCOPE, **{"slot.env": "test"}) == []

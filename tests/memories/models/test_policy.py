"""How long memories live and how facts fade, as the clock moves (A9, D4)."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from memories.models import Entry, EntryAccess, Policy, Workspace
from tests.conftest import GROUP, NOW, TELEGRAM, Api

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("turns_are_read")]
SCOPE = "telegram:direct_u42"


@pytest.fixture(autouse=True)
def clock(settings: Any) -> None:
    settings.TEST_CLOCK = True


def at(moment: datetime) -> dict[str, str]:
    return {"X-Memplatform-Now": moment.isoformat()}


def day(n: float) -> datetime:
    return NOW + timedelta(days=n)


def save(api: Api, content: str, when: datetime = NOW, **kwargs: Any) -> None:
    response = api.post("entries", {"scope": SCOPE, "content": content, **kwargs}, **at(when))
    assert response.status_code == 201, response.json()


def recalled(api: Api, when: datetime, message: str = "which tea is it?", **kwargs: Any) -> list[str]:
    body = {"scope": SCOPE, "message": message, "quotas": False, **kwargs}
    if "address" in kwargs:
        del body["scope"]
    response = api.post("recall", body, **at(when))
    assert response.status_code == 200, response.json()
    return [memory["content"] for memory in response.json()["memories"]]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "days"),
    [("chat_turn", 30), ("auto_capture", 90), ("workflow_trace", 180), ("user_explicit", None), ("note", None)],
)
def test_every_type_lives_as_long_as_it_should(api: Api, kind: str, days: int | None) -> None:
    save(api, "the tea is green", type=kind, slots={"sender_id": "u42"})
    if days is None:
        assert recalled(api, day(20_000))
    else:
        assert recalled(api, day(days) - timedelta(seconds=1))
        assert not recalled(api, day(days))


def test_a_groups_turns_live_shorter_than_a_persons(api: Api) -> None:
    api.post("turns", {"address": GROUP, "user": "the tea is green", "assistant": "ok"}, **at(NOW))
    silent = {**GROUP, "peer": ""}
    assert recalled(api, day(13.9), address=silent) and not recalled(api, day(14), address=silent)
    assert recalled(api, day(29.9)) and not recalled(api, day(30))


def test_a_life_runs_from_when_it_was_last_said(api: Api, settings: Any) -> None:
    settings.MEMORY_SESSION_STALE_AFTER = "0"  # else the end of the conversation is a memory too
    turn = {"address": TELEGRAM, "user": "the tea is green", "assistant": "ok"}
    api.post("turns", turn, **at(NOW))
    api.post("turns", turn, **at(day(20)))
    assert recalled(api, day(49)) and not recalled(api, day(50))


def test_a_turn_reported_late_is_as_old_as_it_is(api: Api) -> None:
    turn = {"address": TELEGRAM, "user": "the tea is green", "assistant": "ok", "at": day(-31).isoformat()}
    api.post("turns", turn, **at(NOW))
    assert not recalled(api, NOW) and Entry.objects.count() == 1


def test_a_policy_holds_from_the_next_call_on(api: Api, workspace: Workspace) -> None:
    save(api, "the tea is green")
    policy = Policy.objects.create(
        workspace=workspace, kind="ttl", entry_type="user_explicit", scope_kind="user", value=2
    )
    assert recalled(api, day(1.9)) and not recalled(api, day(2))
    Policy.objects.filter(pk=policy.pk).update(value=0.5)
    assert not recalled(api, day(1))
    Policy.objects.filter(pk=policy.pk).update(value=None)
    assert recalled(api, day(9_000))


@pytest.mark.thorough
@pytest.mark.parametrize("days", [1e6, 1e9, 1e15, 1e300])
def test_a_policy_may_say_nearly_for_ever(api: Api, workspace: Workspace, days: float) -> None:
    Policy.objects.create(workspace=workspace, kind="ttl", entry_type="chat_turn", scope_kind="user", value=days)
    save(api, "the tea is green", type="chat_turn", slots={"sender_id": "u42"})
    save(api, "the tea is green", type="chat_turn", slots={"sender_id": "u42"})
    assert recalled(api, day(9_000))
    assert api.get("entries", state="live").status_code == 200


def test_a_policy_of_another_workspace_has_no_say(api: Api, stranger: Workspace) -> None:
    Policy.objects.create(workspace=stranger, kind="ttl", entry_type="user_explicit", scope_kind="user", value=0)
    save(api, "the tea is green")
    assert recalled(api, day(1))


def test_an_end_set_by_hand_wins_over_the_policy(api: Api) -> None:
    save(api, "the tea is green", expires_at=day(1).isoformat())
    save(api, "the tea is black", type="chat_turn", slots={"sender_id": "u42"}, expires_at=day(400).isoformat())
    assert sorted(recalled(api, day(0.9))) == ["the tea is black", "the tea is green"]
    assert recalled(api, day(1)) == ["the tea is black"]
    assert recalled(api, day(399)) == ["the tea is black"]
    assert recalled(api, day(400)) == []


def test_what_is_pinned_outlives_the_policy_but_not_its_own_end(api: Api) -> None:
    save(api, "the tea is green", type="chat_turn", slots={"sender_id": "u42"}, pinned=True)
    save(
        api,
        "the tea is black",
        type="chat_turn",
        slots={"sender_id": "u42"},
        pinned=True,
        expires_at=day(2).isoformat(),
    )
    assert sorted(recalled(api, day(1))) == ["the tea is black", "the tea is green"]
    assert recalled(api, day(31)) == ["the tea is green"]
    assert [entry["state"] for entry in api.get("entries", state="live").json()["results"]]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["hybrid", "keyword", "vector"])
@pytest.mark.parametrize("fusion", ["relative", "rrf"])
def test_no_way_of_searching_finds_what_is_over(api: Api, settings: Any, kind: str, fusion: str) -> None:
    settings.MEMORY_FUSION = fusion
    save(api, "the tea is green", expires_at=day(1).isoformat())
    assert recalled(api, day(0.5), mode=kind) and not recalled(api, day(2), mode=kind)


@pytest.mark.thorough
def test_facts_fade_by_their_category(api: Api) -> None:
    for category in ("identity", "solution", "event", "temp"):
        save(api, f"the {category} tea", type="fact", tier=2, category=category, importance=0.8, topic=category)
    for when in (1, 10, 100):
        assert recalled(api, day(when)) == [f"the {name} tea" for name in ("identity", "solution", "event", "temp")]


def test_a_fresh_trifle_goes_before_an_old_one_and_identity_stays(api: Api) -> None:
    save(api, "the old tea", type="fact", tier=2, category="temp", importance=0.5, topic="a")
    save(api, "the new tea", when=day(30), type="fact", tier=2, category="temp", importance=0.5, topic="b")
    save(api, "the own tea", type="fact", tier=2, category="identity", importance=0.5, topic="c")
    assert recalled(api, day(31)) == ["the own tea", "the new tea", "the old tea"]


def test_a_fact_that_was_used_lately_fades_from_then(api: Api) -> None:
    for name in ("used", "lone"):
        save(api, f"the {name} tea", type="fact", tier=2, category="temp", importance=0.5, topic=name)
    used = Entry.objects.get(content="the used tea")
    EntryAccess.objects.create(entry=used, workspace_id=used.workspace_id, access_count=1, last_accessed=day(29))
    answer = api.post("recall", {"scope": SCOPE, "message": "which tea is it?"}, **at(day(30))).json()
    decays = {memory["content"]: memory["why"]["decay"] for memory in answer["memories"]}
    assert list(decays) == ["the used tea", "the lone tea"]
    assert decays["the used tea"] == pytest.approx(0.5 * 2.718281828 ** (-0.099 * 1), abs=1e-3)
    assert decays["the lone tea"] == pytest.approx(0.5 * 2.718281828 ** (-0.099 * 30), abs=1e-3)


def test_only_facts_fade(api: Api) -> None:
    save(api, "the tea is green", category="temp", importance=0.1)
    answer = api.post("recall", {"scope": SCOPE, "message": "which tea is it?"}, **at(day(3_000))).json()
    assert answer["memories"][0]["why"]["decay"] == 1.0


def test_the_clock_is_believed_in_tests_of_time_only(api: Api, settings: Any) -> None:
    settings.TEST_CLOCK = False
    save(api, "the tea is green", when=day(-10_000))
    assert Entry.objects.get().created_at > NOW


@pytest.mark.parametrize("text", ["yesterday", "2026-03-01", "2026-03-01T09:00:00", "0000", "9999-01-01T00:00:00Z"])
def test_a_time_that_is_none_is_refused(api: Api, text: str) -> None:
    response = api.post("recall", {"address": TELEGRAM, "message": "which tea?"}, **{"X-Memplatform-Now": text})
    assert response.status_code == 400
    assert response.json()["errors"][0]["attr"] == "X-Memplatform-Now"

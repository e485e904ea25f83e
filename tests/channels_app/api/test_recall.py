"""POST /recall: what is served, and what is left out (A7, A8, D3)."""

import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from channels_app.models import Channel
from memories.index.worker import drain
from memories.language.quoting import NOTICE
from memories.models import Entry, Policy, RecallTrace, Scope, Workspace
from tests.conftest import GROUP, TELEGRAM, Api

pytestmark = pytest.mark.django_db
SCOPE = "telegram:direct_u42"
LATER = datetime(2030, 1, 1, tzinfo=UTC)


def save(api: Api, content: str, **kwargs: Any) -> str:
    response = api.post("entries", {"scope": SCOPE, "content": content, **kwargs})
    assert response.status_code == 201, response.json()
    return str(response.json()["id"])


def ask(api: Api, message: str, **kwargs: Any) -> dict[str, Any]:
    where = {} if "scope" in kwargs or "address" in kwargs else {"address": TELEGRAM}
    response = api.post("recall", {**where, "message": message, **kwargs})
    assert response.status_code == 200, response.json()
    return response.json()


def contents(answer: dict[str, Any]) -> list[str]:
    return [memory["content"] for memory in answer["memories"]]


def test_an_address_never_seen_has_nothing_to_say(api: Api) -> None:
    answer = ask(api, "what is my name?")
    assert answer["memories"] == [] and answer["evidence"] == "none"
    assert answer["context"] == "" and answer["tokens"] == 0
    assert answer["need"] == {"retrieve": True, "rule": "question"}
    assert not Scope.objects.exists() and not Channel.objects.exists()


def test_a_memory_comes_with_what_a_bot_needs_to_know(api: Api) -> None:
    uid = save(api, "my cat is called Mochi", at="2026-03-01T09:00:00Z")
    answer = ask(api, "what is my cat called?")
    memory = answer["memories"][0]
    assert {name: memory[name] for name in ("id", "type", "scope", "content", "created_at")} == {
        "id": uid,
        "type": "user_explicit",
        "scope": SCOPE,
        "content": "my cat is called Mochi",
        "created_at": "2026-03-01T09:00:00Z",
    }
    assert memory["score"] > 0 and {"keyword", "vector", "decay"} <= set(memory["why"])
    assert answer["evidence"] == "found"
    assert answer["context"] == f"{NOTICE['en']}\n- [2026-03-01] my cat is called Mochi"
    assert answer["tokens"] > 0
    assert "left_out" not in answer


def test_the_context_dates_are_those_of_the_workspace(api: Api, workspace: Workspace) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(time_zone="Asia/Shanghai")
    save(api, "my cat is called Mochi", at="2026-03-01T20:00:00Z")
    assert "[2026-03-02]" in ask(api, "what is my cat called?")["context"]


@pytest.mark.thorough
def test_slots_are_filtered_by_before_anything_is_ranked(api: Api) -> None:
    for n in range(60):
        save(api, f"deploy number {n} of the shop went fine", slots={"env": "test"})
    wanted = save(api, "the shop", slots={"env": "prod", "speaker": "Mei"})
    for filters in ({"env": "prod"}, {"env": "prod", "speaker": "Mei"}, {"speaker": "Mei"}):
        answer = ask(api, "what deploy number of the shop went fine?", filters=filters)
        assert [memory["id"] for memory in answer["memories"]] == [wanted]
    assert contents(ask(api, "how did the shop deploy go?", filters={"env": "prod", "speaker": "Jun"})) == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("slot", "value", "found"),
    [
        ("type", "fact", False),
        ("type", "user_explicit", True),
        ("source", "tool", True),
        ("source", "manual", False),
        ("scope", "user", True),
        ("scope", "chat", False),
        ("channel", "telegram", False),
        ("unheard", "of", False),
    ],
)
def test_what_an_entry_is_can_be_filtered_by_as_slots_too(api: Api, slot: str, value: str, found: bool) -> None:
    save(api, "my cat is called Mochi")
    assert bool(contents(ask(api, "what is my cat called?", filters={slot: value}))) is found


def test_recall_is_narrowed_to_types(api: Api) -> None:
    save(api, "my cat is called Mochi")
    save(api, "the cat likes tuna", type="fact", tier=2)
    assert contents(ask(api, "what does the cat like?", types=["fact"])) == ["the cat likes tuna"]
    assert len(contents(ask(api, "what does the cat like?", types=["fact", "user_explicit"]))) == 2
    assert contents(ask(api, "what does the cat like?", types=["note"])) == []


def test_recall_is_narrowed_to_a_stretch_of_time(api: Api) -> None:
    for day in (1, 2, 3):
        save(api, f"the weather on walk {day} was fine", at=f"2026-03-0{day}T12:00:00Z")
    since = ask(api, "how was the weather?", since="2026-03-02T12:00:00Z", quotas=False)
    until = ask(api, "how was the weather?", until="2026-03-02T12:00:00Z", quotas=False)
    assert sorted(contents(since)) == ["the weather on walk 2 was fine", "the weather on walk 3 was fine"]
    assert contents(until) == ["the weather on walk 1 was fine"]


def test_recall_is_narrowed_to_a_project(api: Api) -> None:
    save(api, "the shop deploys on fridays", type="fact", tier=2, project="shop")
    save(api, "the blog deploys on mondays", type="fact", tier=2, project="blog")
    assert contents(ask(api, "when does it deploy?", project="blog")) == ["the blog deploys on mondays"]


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        ("ok", "too_short"),
        ("好", "too_short"),
        ("好的", "acknowledgement"),
        ("继续", "acknowledgement"),
        ("sounds good!", "acknowledgement"),
    ],
)
def test_a_message_that_needs_no_memory_is_not_searched_for(api: Api, message: str, rule: str) -> None:
    save(api, "ok sounds good 好的 继续")
    answer = ask(api, message)
    assert answer["need"] == {"retrieve": False, "rule": rule}
    assert answer["memories"] == [] and answer["degraded"] == []
    forced = ask(api, message, need="off")
    assert forced["need"] == {"retrieve": True, "rule": "off"}


def test_memory_that_is_always_wanted_is_searched_for_any_message(api: Api) -> None:
    save(api, "sounds good")
    assert contents(ask(api, "sounds good", need="off")) == ["sounds good"]


def test_a_channel_may_always_want_memory(api: Api, workspace: Workspace) -> None:
    Channel.objects.create(workspace=workspace, platform="telegram", account="mybot", need="off")
    assert ask(api, "ok")["need"] == {"retrieve": True, "rule": "off"}


@pytest.mark.thorough
def test_quotas_leave_places_for_other_kinds(api: Api) -> None:
    for n in range(12):
        save(api, f"tea ceremony {n} " + "x" * n)
        save(api, f"tea harvest {n} " + "y" * n, type="auto_capture")
    answer = ask(api, "what about tea?", limit=8, explain=True)
    types = [memory["type"] for memory in answer["memories"]]
    assert len(types) == 8
    assert types.count("user_explicit") >= 2 and types.count("auto_capture") >= 3
    assert {memory["reason"] for memory in answer["left_out"]} <= {"quota", "limit"}
    assert len(answer["left_out"]) == 16


def test_a_quota_is_a_cap_when_places_are_short_and_no_cap_when_they_are_not(api: Api) -> None:
    for n in range(4):
        save(api, f"tea ceremony {n} " + "x" * n)
    assert len(contents(ask(api, "what about tea?", limit=8))) == 4


def test_without_quotas_the_best_are_served_whatever_they_are(api: Api) -> None:
    for n in range(6):
        save(api, f"tea {n} " + "x" * n)
    save(api, "green tea in a long tale about mountains and rivers and a monk", type="auto_capture")
    answer = ask(api, "which tea?", limit=3, quotas=False)
    assert [memory["type"] for memory in answer["memories"]] == ["user_explicit"] * 3


@pytest.mark.thorough
def test_policies_set_quotas_and_how_many_are_served(api: Api, workspace: Workspace) -> None:
    for n in range(12):
        save(api, f"tea ceremony {n} " + "x" * n)
        save(api, f"tea harvest {n} " + "y" * n, type="auto_capture")
    Policy.objects.create(workspace=workspace, kind="weight", name="max_recalls", value=3)
    assert len(contents(ask(api, "what about tea?"))) == 3
    Policy.objects.create(workspace=workspace, kind="quota", entry_type="auto_capture", scope_kind="user", value=0)
    types = [memory["type"] for memory in ask(api, "what about tea?", limit=2)["memories"]]
    assert types == ["user_explicit", "user_explicit"]


@pytest.mark.thorough
@pytest.mark.parametrize("limit", [1, 5, 50])
def test_no_more_are_served_than_asked_for(api: Api, limit: int) -> None:
    for n in range(60):
        save(api, f"tea {n} " + "x" * n)
    answer = ask(api, "which tea?", limit=limit, quotas=False)
    assert len(answer["memories"]) == limit
    scores = [memory["score"] for memory in answer["memories"]]
    assert scores == sorted(scores, reverse=True)


def test_the_context_never_exceeds_its_tokens(api: Api) -> None:
    for n in range(8):
        save(api, f"tea number {n}: " + "leaves and water " * n)
    sizes = []
    for budget in (0, 5, 20, 100, 1_000):
        answer = ask(api, "which tea number?", token_budget=budget, quotas=False)
        assert answer["tokens"] <= budget
        assert len(answer["memories"]) == 8
        sizes.append(answer["context"].count("\n") + bool(answer["context"]))
    assert sizes[0] == 0 and sizes == sorted(sizes) and sizes[-1] == 1 + 8


def test_keywords_alone_and_vectors_alone_can_be_asked_for(api: Api) -> None:
    save(api, "my cat is called Mochi")
    drain(now=LATER)
    keyword = ask(api, "what is my cat called?", mode="keyword")["memories"][0]["why"]
    vector = ask(api, "what is my cat called?", mode="vector")["memories"][0]["why"]
    both = ask(api, "what is my cat called?", mode="hybrid")["memories"][0]["why"]
    assert keyword["vector"] is None and keyword["keyword"] > 0
    assert vector["vector"] > 0 and vector["fused"] == pytest.approx(vector["vector"], abs=1e-3)
    assert both["vector"] > 0 and both["keyword"] > 0


def test_what_has_nothing_to_do_with_the_question_stays_out(api: Api) -> None:
    save(api, "my cat is called Mochi")
    assert contents(ask(api, "where does quantum chromodynamics come from?", mode="keyword")) == []


def test_reciprocal_ranks_may_fuse_the_retrievers(api: Api, settings: Any) -> None:
    settings.MEMORY_FUSION = "rrf"
    save(api, "my cat is called Mochi")
    save(api, "the weather in Lisbon was fine")
    drain(now=LATER)
    assert contents(ask(api, "what is my cat called?"))[0] == "my cat is called Mochi"


def test_taken_out_of_use_is_never_served(api: Api, now: datetime) -> None:
    for mark in ("expired_at", "archived_at", "suppressed_at"):
        uid = save(api, f"my cat is called {mark}")
        Entry.objects.filter(uid=uid).update(**{mark: now})
    result = save(api, "my cat is called Mochi")
    gone = save(api, "my cat was called Mochi-san")
    Entry.objects.filter(uid=gone).update(superseded_by=Entry.objects.get(uid=result))
    answer = ask(api, "what is my cat called?", explain=True, quotas=False)
    assert contents(answer) == ["my cat is called Mochi"]
    assert {memory["reason"] for memory in answer["left_out"]} == {"expired", "archived", "suppressed", "superseded"}
    assert {memory["content"] for memory in answer["left_out"]} == {None}


def test_every_recall_leaves_a_trace_with_its_candidates(api: Api, workspace: Workspace) -> None:
    for n in range(3):
        save(api, f"tea number {n}")
    answer = ask(api, "which tea number?", limit=1, filters={"type": "user_explicit"})
    trace = RecallTrace.objects.get(uid=answer["recall_id"])
    served = Entry.objects.get(uid=answer["memories"][0]["id"])
    assert (trace.workspace, trace.bot.name, trace.message) == (workspace, "bot", "which tea number?")
    assert trace.served == [served.pk] and trace.scopes == [served.scope_id]
    assert trace.rule == "question" and trace.query["filters"] == {"type": "user_explicit"}
    assert trace.session_key.startswith("telegram-")
    assert trace.tokens == answer["tokens"] and trace.timings["total"] > 0
    rows = {row[0]: row[-1] for row in trace.candidates["rows"]}
    assert len(rows) == 3 and rows.pop(served.pk) == "served" and set(rows.values()) == {"limit", "quota"}


def test_a_recall_that_searched_nothing_leaves_a_trace_too(api: Api) -> None:
    trace = RecallTrace.objects.get(uid=ask(api, "ok")["recall_id"])
    assert trace.rule == "too_short" and trace.served == []


def test_candidates_are_kept_of_a_sample_only(api: Api, settings: Any) -> None:
    settings.MEMORY_TRACE_SAMPLE = 0.0
    save(api, "tea number one")
    trace = RecallTrace.objects.get(uid=ask(api, "which tea number?")["recall_id"])
    assert trace.candidates is None and len(trace.served) == 1


def test_the_log_counts_words_and_does_not_repeat_them(api: Api, caplog: Any, settings: Any) -> None:
    save(api, "tea number one")
    with caplog.at_level(logging.INFO, logger="memories.recall"):
        ask(api, "which tea is mine?")
        settings.MEMORY_LOG_CONTENT = True
        ask(api, "which tea is mine?")
    quiet, loud = [record.getMessage() for record in caplog.records if record.name == "memories.recall"]
    assert "memory_recall" in quiet and "'results_count': 1" in quiet and "tea" not in quiet
    assert "which tea is mine?" in loud


@pytest.mark.thorough
def test_a_recall_takes_as_many_statements_for_many_memories_as_for_one(
    api: Api, django_assert_max_num_queries: Any
) -> None:
    for n in range(20):
        save(api, f"tea number {n}")
        api.post("turns", {"address": GROUP, "user": f"the tea of round {n}", "assistant": "x" * n})
    drain(now=LATER)
    ask(api, "which tea is it?")
    with django_assert_max_num_queries(22):  # one of them reads what a group may not hear
        answer = ask(api, "which tea number is it?", address=GROUP, explain=True)
    assert len(answer["memories"]) + len(answer["left_out"]) > 20

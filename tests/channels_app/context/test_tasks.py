"""A task that used tools becomes a memory, and the order of its tools one that is counted (A6)."""

import json
from typing import Any

import pytest

from memories.models import Entry, Slot, Workspace
from sessions_app.models import SessionEvent
from tests.conftest import GROUP, TELEGRAM
from tests.sessions_app.conftest import Talk

pytestmark = pytest.mark.django_db
DEPLOY = {"name": "deploy", "arguments": {"service": "billing", "api_key": "hunter2"}, "result": "token: hunter2"}
CHECK = {"name": "check", "arguments": {"url": "https://mei:hunter2@example.com"}, "result": {"password": "hunter2"}}


def entries(kind: str) -> list[Entry]:
    return list(Entry.objects.filter(type=kind).select_related("scope").order_by("scope__kind", "pk"))


def task(talk: Talk, *calls: Any, user: str = "请部署 billing", **more: Any) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = talk.say(user, "好了", tool_calls=list(calls), **more)["entries"]
    return entries


def test_it_works(talk: Talk) -> None:
    result = task(talk, DEPLOY, CHECK, outcome="部署成功")
    assert [entry["type"] for entry in result] == ["chat_turn", "auto_capture", "workflow_trace"]
    (done,) = entries("auto_capture")
    assert done.content == (
        "Asked: 请部署 billing\nDone: deploy(service=billing, api_key=[not stored])"
        " → check(url=https://[not stored]@example.com)\nOutcome: 部署成功"
    )
    (trace,) = entries("workflow_trace")
    assert trace.content == "Task: 请部署 billing\nTools: deploy → check"
    assert dict(trace.slots.values_list("name", "value")) == {"tool_sequence": "deploy > check"}
    assert trace.origins == done.origins == [f"session_events/{e.session.uid}/1/event-{e.pk}" for e in events()]
    answer = talk.post("recall", {"address": TELEGRAM, "message": "how did I deploy billing?"}).json()
    assert {"auto_capture", "workflow_trace"} <= {memory["type"] for memory in answer["memories"]}


def events() -> list[SessionEvent]:
    return list(SessionEvent.objects.select_related("session").order_by("pk"))


def test_no_secret_of_a_tool_is_stored_anywhere(talk: Talk) -> None:
    task(talk, DEPLOY, CHECK, outcome="done, with password=hunter2")
    stored = [*Entry.objects.values_list("content", flat=True), *Slot.objects.values_list("value", flat=True)]
    stored += [json.dumps(event.data) for event in events()]
    assert not [item for item in stored if "hunter2" in item]
    assert events()[1].data["tool_calls"][0]["arguments"]["service"] == "billing"


def test_one_tool_is_no_way_of_working_and_none_is_no_task(talk: Talk) -> None:
    task(talk, DEPLOY)
    assert (len(entries("auto_capture")), entries("workflow_trace")) == (1, [])
    talk.say("thanks for all of that", outcome="well")
    assert len(entries("auto_capture")) == 1


def test_without_an_outcome_it_ended_as_the_answer_says(talk: Talk) -> None:
    task(talk, DEPLOY)
    assert entries("auto_capture")[0].content.endswith("\nOutcome: 好了")


def test_the_same_order_again_is_counted_and_another_is_another(talk: Talk) -> None:
    task(talk, DEPLOY, CHECK, user="deploy billing please")
    again = task(talk, DEPLOY, CHECK, user="roll the shop out, and look whether it lives")
    assert [e["outcome"] for e in again if e["type"] == "workflow_trace"] == ["skipped"]
    (trace,) = entries("workflow_trace")
    assert trace.access.repeat_count == 1 and trace.content.startswith("Task: deploy billing please")
    assert len(entries("auto_capture")) == 2
    task(talk, CHECK, DEPLOY, user="deploy billing please")
    assert len(entries("workflow_trace")) == 2


def test_an_order_that_was_taken_out_begins_anew(talk: Talk) -> None:
    task(talk, DEPLOY, CHECK)
    first = entries("workflow_trace")[0]
    talk.request("DELETE", f"entries/{first.uid}")
    task(talk, DEPLOY, CHECK, user="once more, with feeling")
    assert [trace.is_live() for trace in entries("workflow_trace")] == [False, True]


@pytest.mark.parametrize(("captured", "kinds"), [(True, ["chat", "user"]), (False, ["user"])])
def test_a_group_hears_of_the_task_and_the_order_is_the_speakers(
    talk: Talk, workspace: Workspace, captured: bool, kinds: list[str]
) -> None:
    talk.say("hello", address=GROUP)
    workspace.channels.update(capture_group_memory=captured)
    task(talk, DEPLOY, CHECK, address=GROUP)
    assert [done.scope.kind for done in entries("auto_capture")] == kinds
    (trace,) = entries("workflow_trace")
    assert (trace.scope.kind, trace.chats) == ("user", ["telegram:mybot:group_g1"])


def test_a_task_nobody_is_known_to_have_asked_for_is_the_groups_alone(talk: Talk) -> None:
    task(talk, DEPLOY, CHECK, address={**GROUP, "peer": ""})
    assert [done.scope.kind for done in entries("auto_capture")] == ["chat"] and entries("workflow_trace") == []


def test_a_turn_with_all_its_slots_may_use_tools(talk: Talk) -> None:
    slots = {f"slot{n}": "x" for n in range(30)}
    task(talk, DEPLOY, CHECK, slots=slots)
    assert Slot.objects.filter(entry=entries("workflow_trace")[0]).count() == 30


def test_odd_tools_do_not_lose_a_turn(talk: Talk) -> None:
    odd = {"name": "t" * 100, "arguments": {"a" * 500: "b" * 500, "n": None, "l": [[[]]]}, "result": "结果" * 200}
    task(talk, *[odd] * 40)
    assert len(entries("auto_capture")[0].content) < 1_500 and len(entries("workflow_trace")) == 1

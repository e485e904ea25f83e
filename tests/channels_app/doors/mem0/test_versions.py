"""What mem0's former clients and its own server's clients send, and what they read of the answers."""

import json
from typing import Any

import pytest
from django.test import Client

from memories.models import Entry, Workspace
from sessions_app.models import SessionEvent
from tests.conftest import make_key

pytestmark = pytest.mark.django_db
TEA = {"messages": [{"role": "user", "content": "I like tea"}], "user_id": "alice", "infer": False}


class Wire:
    """Requests below the address that clients are given, with a key as they show it."""

    def __init__(self, key: str, header: str = "Token") -> None:
        shown = {"HTTP_X_API_KEY": key} if header == "X-API-Key" else {"HTTP_AUTHORIZATION": f"{header} {key}"}
        self._client = Client(**shown)

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        kind = {"content_type": "application/json"}
        return self._client.generic(method, f"/api/mem0/{path}", "" if body is None else json.dumps(body), **kind)


@pytest.fixture
def wire(workspace: Workspace) -> Wire:
    return Wire(make_key(workspace))


def memories(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.json()
    rows = answer.json()
    return [row["memory"] for row in (rows if isinstance(rows, list) else rows["results"])]


def test_the_first_version_adds_lists_and_searches_with_bare_lists(wire: Wire) -> None:
    added = wire("POST", "v1/memories/", TEA | {"output_format": "v1.1", "version": "v2"}).json()
    assert added["results"][0]["memory"] == "I like tea" and added["status"] == "SUCCEEDED"
    for former in (TEA, TEA | {"output_format": "v1.0"}):
        (memory,) = wire("POST", "v1/memories/", former).json()
        assert (memory["data"], memory["memory"], memory["event"]) == ({"memory": "I like tea"}, "I like tea", "NONE")
    listed = wire("GET", "v1/memories/?user_id=alice&org_id=1&project_id=1")
    assert isinstance(listed.json(), list) and memories(listed) == ["I like tea"]
    page = wire("GET", "v1/memories/?user_id=alice&page=1&page_size=5").json()
    assert (page["count"], page["next"], len(page["results"])) == (1, None, 1)
    asked = {"query": "tea", "user_id": "alice", "limit": 3}
    assert isinstance(wire("POST", "v1/memories/search/", asked).json(), list)
    assert set(wire("POST", "v1/memories/search/", asked | {"output_format": "v1.1"}).json()) == {"results"}


def test_the_second_version_lists_and_searches_by_filters_and_ids(wire: Wire) -> None:
    wire("POST", "v1/memories/", TEA)
    for body in ({"filters": {"AND": [{"user_id": "alice"}]}}, {"user_id": "alice"}, {"filters": {"userId": "alice"}}):
        assert memories(wire("POST", "v2/memories/", body)) == ["I like tea"]
        assert memories(wire("POST", "v2/memories/search/", {"query": "tea", **body})) == ["I like tea"]
    page = wire("POST", "v2/memories/?page=1&page_size=1", {"user_id": "alice"}).json()
    assert page["count"] == 1 and len(page["results"]) == 1


def test_a_score_is_between_0_and_1(wire: Wire) -> None:
    wire("POST", "v1/memories/", TEA)
    (found,) = wire("POST", "v2/memories/search/", {"query": "I like tea", "user_id": "alice"}).json()
    assert 0 < found["score"] <= 1


def test_an_add_is_asked_about_by_its_event(wire: Wire, workspace: Workspace) -> None:
    event = wire("POST", "v1/memories/", TEA | {"output_format": "v1.1"}).json()["event_id"]
    assert wire("POST", "v1/memories/", TEA).json()[0]["event_id"]
    event_answer = wire("GET", f"v1/event/{event}/").json()
    assert (event_answer["status"], event_answer["results"][0]["memory"]) == ("SUCCEEDED", "I like tea")
    assert wire("GET", "v1/events/").json()["results"][0]["event_type"] == "ADD"
    assert wire("GET", "v1/event/0190-0000/").status_code == 404
    narrow = Wire(make_key(workspace, scope_patterns=["telegram:*"]))
    assert narrow("GET", f"v1/event/{event}/").status_code == 404


def test_fields_that_change_nothing_are_taken_and_named(wire: Wire) -> None:
    body = TEA | {"source": "PIPECAT", "enable_graph": True, "org_id": "x", "new line\n": 1}
    answer = wire("POST", "v1/memories/", body)
    assert answer.status_code == 200
    named = answer["X-Memplatform-Ignored"].split(", ")
    assert {"source", "org_id", "enable_graph"} <= set(named) and "\n" not in answer["X-Memplatform-Ignored"]
    assert "X-Memplatform-Ignored" not in wire("POST", "v1/memories/", TEA)


def test_what_might_have_narrowed_a_deletion_is_no_field_to_leave_out(wire: Wire) -> None:
    wire("POST", "v1/memories/", TEA)
    refused = wire("DELETE", "v1/memories/?user_id=alice&run=r1&org_id=1")
    assert refused.status_code == 400 and refused.json()["errors"][0]["attr"] == "run"
    assert Entry.objects.live().count() == 1


def test_after_a_memory_is_cleared_the_same_is_remembered_again(wire: Wire) -> None:
    body = {"messages": [{"role": "user", "content": "I moved to Hangzhou"}], "user_id": "alice"}
    for clear in ("v1/memories/?user_id=alice&org_id=1", "v2/entities/user/alice/", "v1/entities/user/user_id:alice/"):
        wire("POST", "v1/memories/", body)
        assert len(memories(wire("GET", "v1/memories/?user_id=alice"))) == 1
        assert wire("DELETE", clear).status_code == 200
        assert memories(wire("GET", "v1/memories/?user_id=alice")) == []


def test_two_users_speak_with_one_agent(wire: Wire) -> None:
    for user in ("alice", "bob"):
        body = TEA | {"user_id": user, "agent_id": "waiter", "infer": True}
        assert wire("POST", "v1/memories/", body).status_code == 200
    assert len(memories(wire("POST", "v2/memories/", {"user_id": "bob", "agent_id": "waiter"}))) == 1


def test_a_project_is_the_workspace(wire: Wire, workspace: Workspace) -> None:
    project = "api/v1/orgs/organizations/1/projects/1/"
    assert wire("GET", project).json()["name"] == workspace.name
    assert set(wire("GET", f"{project}?fields=name&fields=custom_categories").json()) == {"name", "custom_categories"}
    assert wire("PATCH", project, {"enable_graph": True}).status_code == 200
    assert wire("PATCH", project, {"custom_instructions": "Only food."}).status_code == 501


@pytest.mark.parametrize("header", ["X-API-Key", "Bearer", "Token"])
def test_the_servers_routes_do_what_the_platforms_do(workspace: Workspace, header: str) -> None:
    wire = Wire(make_key(workspace), header)
    (added,) = wire("POST", "memories", TEA).json()["results"]
    assert memories(wire("GET", "memories?user_id=alice")) == ["I like tea"]
    assert memories(wire("POST", "search", {"query": "tea", "user_id": "alice"})) == ["I like tea"]
    one = f"memories/{added['id']}"
    for name, text in (("text", "I like milk"), ("data", "I like beer"), ("memory", "I like wine")):
        assert wire("PUT", one, {name: text}).status_code == 200
        assert wire("GET", one).json()["memory"] == text
    assert [step["event"] for step in wire("GET", f"{one}/history").json()] == ["ADD", "UPDATE", "UPDATE", "UPDATE"]
    assert wire("DELETE", one).status_code == 200 and wire("GET", one).status_code == 404
    wire("POST", "memories", TEA | {"user_id": "bob"})
    assert wire("DELETE", "memories?user_id=bob").status_code == 200
    wire("POST", "memories", TEA | {"user_id": "carol"})
    wire("POST", "memories", TEA | {"user_id": None, "agent_id": "waiter"})
    assert wire("POST", "reset").status_code == 200
    assert not Entry.objects.live().exists()


def test_an_unknown_key_in_its_header_is_refused(workspace: Workspace) -> None:
    assert Wire("mp_unknown", "X-API-Key")("GET", "memories?user_id=alice").status_code == 401


def test_images_are_refused_as_mem0_writes_them(wire: Wire) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    for content in (image, [image]):
        body = TEA | {"messages": [{"role": "user", "content": content}]}
        assert wire("POST", "v1/memories/", body).status_code == 501


def test_a_conversation_that_is_sent_whole_with_each_message_is_stored_once(wire: Wire) -> None:
    context: list[dict[str, str]] = [{"role": "system", "content": "You are a helpful voice."}]
    for n in range(60):
        context.append({"role": "user", "content": f"I have seen bird number {n} today"})
        answer = wire("POST", "v3/memories/add/", {"messages": context[:1] + context[-119:], "user_id": "alice"})
        assert answer.status_code == 200, answer.json()
        context.append({"role": "assistant", "content": f"Bird {n}, noted."})
    stored = list(SessionEvent.objects.order_by("position").values_list("kind", "content"))
    assert stored == [(message["role"], message["content"]) for message in context[1:-1]]


KEY = "-----BEGIN {} KEY-----\nMIIE{{n}}\n-----END {} KEY-----".format("PRIVATE", "PRIVATE")


@pytest.mark.parametrize("is_question_first", [True, False], ids=["question first", "with its answer"])
@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("I saw bird {n}", ["One moment.", "", "Bird {n},\n\nnoted."]),
        ("My password is Tr0ub4dor&3x{n}", ["I keep Tr0ub4dor&3x{n}.", "Anything else?"]),
        ("Tr0ub4dor&3x{n}", ["Your password is Tr0ub4dor&3x{n}, then."]),
        ("The {n}th key, please", [f"This:\n{KEY}\nRight?", "Tell me."]),
    ],
    ids=["two answers", "a secret", "a secret the answer tells", "a secret of many lines"],
)
def test_a_conversation_that_is_stored_in_another_form_than_it_is_sent_is_stored_once(
    wire: Wire, question: str, answers: list[str], is_question_first: bool
) -> None:
    context: list[dict[str, str]] = []
    for n in range(4):
        context.append({"role": "user", "content": question.format(n=n)})
        said = [{"role": "assistant", "content": text.format(n=n)} for text in answers]
        context += [] if is_question_first else said
        assert wire("POST", "v3/memories/add/", {"messages": context, "user_id": "alice"}).status_code == 200
        context += said if is_question_first else []
    kinds = list(SessionEvent.objects.order_by("position").values_list("kind", flat=True))
    assert kinds == (["user", "assistant"] * 4)[: 7 if is_question_first else 8]


def test_a_conversation_of_many_messages_with_a_secret_is_still_taken(wire: Wire) -> None:
    context = [{"role": "user", "content": "my password is Tr0ub4dor&3x"}]
    for n in range(83):
        context += [{"role": "assistant", "content": text} for text in (f"Bird {n}, noted.", "Next?")]
        context.append({"role": "user", "content": f"I saw bird {n + 1}"})
    for count in (199, 250):
        answer = wire("POST", "v3/memories/add/", {"messages": context[:count], "user_id": "alice"})
        assert answer.status_code == 200, answer.json()
    assert SessionEvent.objects.filter(kind="user").count() == 84


def test_what_somebody_says_twice_is_no_conversation_that_was_sent_again(wire: Wire) -> None:
    messages = [{"role": "user", "content": "good night"}, {"role": "assistant", "content": "Good night!"}]
    for _night in range(2):
        wire("POST", "v3/memories/add/", {"messages": messages, "user_id": "alice"})
    assert SessionEvent.objects.count() == 4


def test_more_new_messages_than_one_request_takes_are_refused(wire: Wire) -> None:
    many = [{"role": "user", "content": f"bird {n}"} for n in range(201)]
    for more in ({}, {"infer": False}):
        answer = wire("POST", "v3/memories/add/", {"messages": many, "user_id": "alice", **more})
        assert answer.status_code == 400 and "200" in json.dumps(answer.json())


def test_what_is_no_id_of_a_memory_is_told_from_a_memory_there_is_not(wire: Wire) -> None:
    assert wire("GET", "v1/memories/invalid-id/").status_code == 400
    assert wire("GET", "v1/memories/0190a3b0-0000-7000-8000-000000000000/").status_code == 404

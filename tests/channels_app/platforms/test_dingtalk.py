"""DingTalk, by the pages of open.dingtalk.com that tests.support.fake_dingtalk names."""

import json
import time
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from django.test import Client
from django.utils import timezone

from channels_app.models import (
    Answerer,
    Channel,
    Connection,
    ConnectionProblem,
    IncomingMessage,
    MessageState,
    OutgoingMessage,
    Receiving,
)
from channels_app.platforms import dingtalk, intake, network, platform_named
from channels_app.platforms.wire import Account, KeyRefused, NotReadable, TryLater
from memories import secrets
from memories.models import Entry, Workspace
from tests.channels_app.platforms.conftest import work_through
from tests.memories.llm.fake_server import FakeModel
from tests.support.fake_api import Answered
from tests.support.fake_dingtalk import APP, SECRET, FakeDingTalk, fake_dingtalk, signed
from tests.support.pulling import Pulling, until

ANN, BOB, GROUP = "ann01", "bob02", "cidWalkers=="
ACCOUNT = Account({"client_id": APP, "client_secret": SECRET})


@pytest.fixture
def server(settings: Any) -> Iterator[FakeDingTalk]:
    with fake_dingtalk() as fake:
        settings.DINGTALK_API_URL = settings.DINGTALK_SESSION_URL = fake.url
        yield fake
        network.close()


@pytest.fixture
def robot(workspace: Workspace, server: FakeDingTalk) -> Connection:
    channel = Channel.objects.create(workspace=workspace, platform="dingtalk", account=APP)
    columns = {"receiving": Receiving.WEBHOOK, "answerer": Answerer.MODEL, "noticed_entry": 0}
    options = {"client_id": APP, "bot_id": APP}
    row = Connection.objects.create(workspace=workspace, channel=channel, options=options, **columns)
    secrets.keep(row.secret_name("client_secret"), SECRET, workspace=workspace)
    return row


def call(row: Connection, body: Any, headers: dict[str, str] | None = None) -> int:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = signed() if headers is None else headers
    response = Client().post(f"/channels/dingtalk/{row.uid}", raw, content_type="application/json", headers=headers)
    return int(response.status_code)


def arrive(row: Connection, *bodies: dict[str, Any]) -> None:
    for body in bodies:
        intake.keep(row, dingtalk.read(body, intake.account_of(row)), now=timezone.now())


# calls


def test_a_genuine_call_is_stored_once_whatever_is_redelivered(robot: Connection, server: FakeDingTalk) -> None:
    body = server.write(ANN, "hello")
    assert [call(robot, body) for _twice in range(2)] == [200, 200]
    row = IncomingMessage.objects.get()
    assert (row.body["text"], row.peer, row.chat.key, row.body["name"]) == ("hello", ANN, f"user:{ANN}", f"User {ANN}")


def test_a_call_that_is_not_signed_in_its_hour_is_turned_away(robot: Connection, server: FakeDingTalk) -> None:
    body, now = server.write(ANN, "hello"), time.time()
    for headers in (
        {},
        signed("another"),
        signed(at=now - 3700),
        signed(at=now + 900),
        signed() | {"timestamp": str(int(now * 1000) - 1)},
        signed() | {"sign": "é"},
    ):
        assert call(robot, body, headers) == 401
    assert call(robot, server.write(ANN, "hello", robotCode="somebody-else"), signed()) == 401
    assert not IncomingMessage.objects.exists()


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b"[" * 100_000, b"[]", b"null", b"{}", {"msgtype": "text"}, {"msgtype": 3, "text": []}],
)
def test_what_cannot_be_read_is_refused_and_nothing_is_stored(robot: Connection, body: Any) -> None:
    assert call(robot, body) == 400
    assert not IncomingMessage.objects.exists()


@pytest.mark.parametrize("change", [{"createAt": "9" * 40}, {"msgId": 7}, {"senderStaffId": [1]}, {"senderNick": 7}])
def test_a_message_of_another_shape_is_not_readable(server: FakeDingTalk, change: dict[str, Any]) -> None:
    body = server.write(ANN, "hello") | change
    with pytest.raises(NotReadable):
        dingtalk.read(body, ACCOUNT)


def test_a_call_that_is_too_long_is_refused_before_it_is_read(robot: Connection, server: FakeDingTalk) -> None:
    assert call(robot, server.write(ANN, "a" * 10_000_000)) == 413


# what is reported


@pytest.mark.parametrize(
    ("kind", "content", "text"),
    [
        ("picture", {"downloadCode": "c"}, "[photo]"),
        ("audio", {"duration": 4000, "recognition": "see you"}, "[voice message] see you"),
        ("video", {"duration": 4000}, "[video]"),
        ("file", {"fileName": "plan.pdf", "downloadCode": "c"}, "[file] plan.pdf"),
        ("richText", {"richText": [{"text": "look: "}, {"downloadCode": "c", "type": "picture"}]}, "look: [photo]"),
        ("of the future", {}, "[message]"),
    ],
)
def test_what_is_no_text_stands_as_a_placeholder(
    server: FakeDingTalk, kind: str, content: dict[str, Any], text: str
) -> None:
    body = server.write(ANN, "", msgtype=kind, content=content)
    del body["text"]
    assert dingtalk.read(body, ACCOUNT)[0].text == text


def test_somebody_of_no_company_is_known_by_the_id_there_is(server: FakeDingTalk) -> None:
    body = server.write(ANN, "hello", group=GROUP, senderStaffId=None)
    (message,) = dingtalk.read(body, ACCOUNT)
    assert (message.peer, message.chat, message.is_for_bot) == (f"$:LWCP_v1:$ {ANN}", GROUP, True)


# whole turns


def test_what_is_told_in_one_message_is_known_when_the_next_is_answered(
    robot: Connection, server: FakeDingTalk, model: FakeModel
) -> None:
    arrive(robot, server.write(ANN, "I moved to Hangzhou in March."))
    work_through()
    assert server.sent == [("session", ANN, "You wrote: I moved to Hangzhou in March.")]
    assert Entry.objects.get().speaker == f"User {ANN}"
    arrive(robot, server.write(ANN, "/reset"), server.write(ANN, "In which month did I move, and to where?"))
    work_through()
    assert "Hangzhou" in model.requests[-1].body["messages"][0]["content"]


def test_an_answer_after_the_session_goes_by_the_robots_own_way(
    robot: Connection, server: FakeDingTalk, model: FakeModel
) -> None:
    server.is_session_over = True
    arrive(robot, server.write(ANN, "hello"), server.write(BOB, "hi", group=GROUP))
    work_through()
    assert sorted(server.sent) == [("direct", ANN, "You wrote: hello"), ("group", GROUP, "You wrote: hi")]


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:9/robot", "https://oapi.dingtalk.com.example.org/x", "file:///x"]
)
def test_an_address_that_is_not_dingtalks_is_not_called(
    robot: Connection, server: FakeDingTalk, model: FakeModel, address: str
) -> None:
    arrive(robot, server.write(ANN, "hello", sessionWebhook=address))
    work_through()
    assert server.sent == [("direct", ANN, "You wrote: hello")]


def test_what_is_private_goes_to_its_person_alone(robot: Connection, server: FakeDingTalk, model: FakeModel) -> None:
    arrive(robot, server.write(ANN, "/privacy", group=GROUP))
    arrive(robot, server.write(BOB, "/privacy", group=GROUP, senderStaffId=""))
    work_through()
    private, public = server.sent
    assert private[:2] == ("direct", ANN)
    assert public[1] == GROUP and "direct chat" in public[2]


# failures


@pytest.mark.parametrize(
    "failure",
    [
        Answered({"errcode": 410100, "errmsg": "send too fast"}),
        Answered({"errcode": 130101, "errmsg": "send too fast, exceed 20 times per minute"}),
        Answered({}, 503),
    ],
)
def test_a_server_that_is_busy_gets_the_answer_later_once(
    robot: Connection, server: FakeDingTalk, model: FakeModel, failure: Answered
) -> None:
    server.failures = [failure]
    arrive(robot, server.write(ANN, "hello"))
    work_through()
    assert OutgoingMessage.objects.get().state == MessageState.WAITING
    work_through(seconds=60)
    assert server.texts() == ["You wrote: hello"] and len(model.requests) == 1


def test_limits_and_refusals_of_the_robots_own_way(robot: Connection, server: FakeDingTalk, model: FakeModel) -> None:
    server.failures = [Answered({"code": "Forbidden.AccessDenied.QpsLimitForApi", "message": "limit"}, 403)]
    arrive(robot, server.write(ANN, "one", group=GROUP, sessionWebhook=""))
    work_through()
    assert OutgoingMessage.objects.get().state == MessageState.WAITING
    server.failures = [Answered({"code": "invalid.openConversationId", "message": "gone"}, 400)]
    work_through(seconds=60)
    server.invalid = {BOB}
    arrive(robot, server.write(BOB, "two", sessionWebhook=""))
    work_through()
    errors = OutgoingMessage.objects.filter(state=MessageState.FAILED).values_list("error", flat=True)
    assert sorted(error.partition(" ")[0] for error in errors) == ["invalid.openConversationId", "invalidStaffId"]


def test_a_token_that_ran_out_is_renewed_and_a_secret_that_is_revoked_stops_the_connection(
    robot: Connection, server: FakeDingTalk, model: FakeModel
) -> None:
    arrive(robot, server.write(ANN, "hello", sessionWebhook=""))
    work_through()
    server.tokens = 7
    arrive(robot, server.write(ANN, "good morning", sessionWebhook=""))
    work_through()
    assert server.texts() == ["You wrote: hello", "You wrote: good morning"] and server.tokens == 8
    server.tokens, server.is_revoked = 9, True
    arrive(robot, server.write(ANN, "still there?", sessionWebhook=""))
    work_through()
    robot.refresh_from_db()
    assert robot.problem == ConnectionProblem.REFUSED
    with pytest.raises(KeyRefused):
        platform_named("dingtalk").introduce(Account({"client_id": APP, "client_secret": "wrong"}))


def test_an_export_is_a_file_in_the_direct_chat(robot: Connection, server: FakeDingTalk, model: FakeModel) -> None:
    arrive(robot, server.write(ANN, "I live in Porto."), server.write(ANN, "/export", group=GROUP))
    work_through()
    assert server.sent[-1] == ("direct", ANN, "memory.zip @media1")
    (upload,) = server.uploads
    with ZipFile(BytesIO(upload[upload.index(b"PK\3\4") :])) as archive:
        assert archive.namelist() == ["memory.md"] and "Porto" in archive.read("memory.md").decode()


@pytest.mark.parametrize(
    ("failure", "state"),
    [
        (Answered({"errcode": 90018, "errmsg": "too fast"}), MessageState.WAITING),
        (Answered({"errcode": 40004, "errmsg": "invalid media"}), MessageState.FAILED),
    ],
)
def test_a_file_that_is_not_taken_waits_or_is_given_up(
    robot: Connection, server: FakeDingTalk, model: FakeModel, failure: Answered, state: MessageState
) -> None:
    server.failures = [failure]
    arrive(robot, server.write(ANN, "/export"))
    work_through()
    assert OutgoingMessage.objects.order_by("pk").first().state == state  # type: ignore[union-attr]


# Stream mode


def test_in_stream_mode_a_message_is_stored_then_acknowledged(server: FakeDingTalk) -> None:
    pulling = Pulling("dingtalk", ACCOUNT)
    until(lambda: pulling.keeps and server.connections)
    server.deliver("SYSTEM", "ping", {"opaque": "o1"})
    server.deliver("CALLBACK", dingtalk.TOPIC, server.write(ANN, "hello"))
    server.deliver("CALLBACK", dingtalk.TOPIC, ["of another shape"])
    server.deliver("CALLBACK", dingtalk.TOPIC, server.write(ANN, "to another robot", robotCode="somebody-else"))
    server.deliver("CALLBACK", dingtalk.TOPIC, server.write(ANN, "again"))
    until(lambda: len(server.acknowledged) == 5)
    assert [message.text for message in pulling.kept] == ["hello", "again"]
    assert {answer["code"] for answer in server.acknowledged} == {200}
    assert json.loads(server.acknowledged[0]["data"]) == {"opaque": "o1"}
    pulling.is_over = True
    pulling.thread.join(10)
    assert not pulling.thread.is_alive() and pulling.failure is None


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_connection_that_ends_is_opened_again_after_a_pause(server: FakeDingTalk, is_asked: bool) -> None:
    pulling = Pulling("dingtalk", ACCOUNT)
    until(lambda: server.connections)
    if is_asked:
        server.deliver("SYSTEM", "disconnect", {"reason": "expired"})
    else:
        server.connections[-1].close()
    pulling.thread.join(10)
    assert isinstance(pulling.failure, TryLater) and pulling.failure.seconds == network.AGAIN_SECONDS
    assert len(server.connections) == 1


def test_a_secret_that_is_refused_ends_stream_mode(server: FakeDingTalk) -> None:
    pulling = Pulling("dingtalk", Account({"client_id": APP, "client_secret": "wrong"}))
    pulling.thread.join(10)
    assert isinstance(pulling.failure, KeyRefused)

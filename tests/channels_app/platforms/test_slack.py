"""A bot on Slack remembers. Shapes as docs.slack.dev has them, page by page in tests/support/fake_slack.py."""

import json
import random
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from django.http import HttpResponse
from django.test import Client

from channels_app.models import (
    Answerer,
    Channel,
    Connection,
    ConnectionProblem,
    Contact,
    IncomingMessage,
    MessageKind,
    MessageState,
    Notice,
    NoticeMode,
    OutgoingMessage,
    Receiving,
)
from channels_app.platforms import intake, network, platform_named, slack, wire
from channels_app.platforms.wire import Account, KeyRefused, Outgoing, TryLater
from memories import secrets
from memories.choices import EntryType
from memories.models import Entry, Workspace
from sessions_app.models import SessionEvent
from tests.channels_app.platforms.conftest import work_through
from tests.memories.admin.conftest import enter, make_user
from tests.memories.llm.fake_server import FakeModel
from tests.support import fake_slack as fake
from tests.support.fake_slack import APP, APP_TOKEN, BOT, SIGNING_SECRET, TEAM, TOKEN, FakeSlack, fake_slack
from tests.support.pulling import Pulling, until

ANN, BOB, GROUP = "U0ANN", "U0BOB", "C0WALK"


@pytest.fixture
def web_api(settings: Any) -> Iterator[FakeSlack]:
    wire.names.clear()
    with fake_slack() as server:
        settings.SLACK_API_URL = server.url
        yield server


@pytest.fixture
def connection(workspace: Workspace, web_api: FakeSlack) -> Connection:
    channel = Channel.objects.create(workspace=workspace, platform="slack", account=f"{TEAM}-{BOT}")
    row = Connection.objects.create(
        workspace=workspace,
        channel=channel,
        options={"bot_name": "mem", "bot_id": BOT, "bot_app": APP},
        receiving=Receiving.WEBHOOK,
        answerer=Answerer.MODEL,
        notices=NoticeMode.OFF,
        noticed_entry=0,
    )
    secrets.keep(row.secret_name("token"), TOKEN, workspace=workspace)
    secrets.keep(row.secret_name("signing_secret"), SIGNING_SECRET, workspace=workspace)
    return row


def post(connection: Connection, body: Any, **headers: str) -> HttpResponse:
    """Slack calls; what it is answered."""
    is_form = isinstance(body, bytes) and not body.startswith((b"{", b"["))
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Client().post(  # type: ignore[return-value]
        f"/channels/slack/{connection.uid}",
        raw,
        content_type="application/x-www-form-urlencoded" if is_form else "application/json",
        headers={**fake.signed(raw), **headers},
    )


def arrive(connection: Connection, *events: dict[str, Any]) -> None:
    """Events are reported."""
    for event in events:
        assert post(connection, fake.wrapped(event)).status_code == 200


def live() -> list[str]:
    """What is remembered."""
    return [entry.content.partition("\n")[0] for entry in Entry.objects.order_by("pk") if entry.is_live()]


def test_the_address_is_verified_by_its_challenge(connection: Connection) -> None:
    asked = {"token": "XXYYZZ", "challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P", "type": ""}
    answer = post(connection, {**asked, "type": "url_verification"})
    assert (answer.status_code, answer.json()) == (200, {"challenge": asked["challenge"]})


def test_a_bot_is_known_by_its_workspace_and_its_user(web_api: FakeSlack) -> None:
    introduced = platform_named("slack").introduce(Account({"token": TOKEN}))
    assert (introduced.account, introduced.name, introduced.id) == ("T0001-U0BOT", "mem", BOT)
    assert introduced.app == APP
    web_api.may_ask_for_bots = False
    assert platform_named("slack").introduce(Account({"token": TOKEN})).app == ""
    web_api.token_error = "invalid_auth"
    with pytest.raises(KeyRefused):
        platform_named("slack").introduce(Account({"token": TOKEN}))


def test_what_was_written_in_one_message_is_known_when_the_next_is_answered(
    connection: Connection, web_api: FakeSlack, model: FakeModel
) -> None:
    arrive(connection, fake.message(ANN, "I moved to Hangzhou in March &amp; like it."))
    work_through()
    assert web_api.texts() == ["You wrote: I moved to Hangzhou in March &amp; like it."]
    entry = Entry.objects.get()
    assert (entry.scope.key, entry.sender_id, entry.speaker) == ("slack:direct_%550%41%4e%4e", ANN, "Person U0ANN")
    assert "Hangzhou in March & like it" in entry.content and Contact.objects.get().name == "Person U0ANN"
    arrive(connection, fake.message(ANN, "/reset"), fake.message(ANN, "In which month did I move, and to where?"))
    work_through()
    assert "Hangzhou" in model.requests[-1].body["messages"][0]["content"]
    assert [method for method, _asked in web_api.calls].count("users.info") == 1


def test_a_message_that_names_the_bot_comes_as_two_events_and_is_one(
    connection: Connection, web_api: FakeSlack, model: FakeModel
) -> None:
    plain = fake.message(ANN, "the walk is on Sunday", group=GROUP)
    asked = fake.message(BOB, f"<@{BOT}> when is the walk?", group=GROUP)
    mention = {name: value for name, value in asked.items() if name != "channel_type"} | {"type": "app_mention"}
    bodies = [fake.wrapped(event) for event in (plain, asked, mention)]
    again = [*bodies, *bodies]
    random.Random(3).shuffle(again)
    assert {post(connection, body, **{"X-Slack-Retry-Num": "1"}).status_code for body in again} == {200}
    work_through()
    assert web_api.texts(GROUP) == ["You wrote: when is the walk?"]
    kinds = list(SessionEvent.objects.order_by("pk").values_list("kind", "sender_id"))
    assert kinds == [("ambient", ANN), ("user", BOB), ("assistant", "")]


def test_an_answer_stands_in_the_thread_it_was_asked_in(
    connection: Connection, web_api: FakeSlack, model: FakeModel
) -> None:
    first = fake.message(ANN, f"<@{BOT}> hello", group=GROUP)
    reply = fake.message(ANN, "and more?", group=GROUP, thread_ts=first["ts"], parent_user_id=BOT)
    aside = fake.message(BOB, "not for the bot", group=GROUP, thread_ts=first["ts"], parent_user_id=ANN)
    arrive(connection, first, reply, aside)
    work_through()
    assert [(row["text"], row.get("thread_ts")) for row in web_api.sent] == [
        ("You wrote: hello", None),
        ("You wrote: and more?", first["ts"]),
    ]


def test_an_edit_takes_the_place_of_what_was_written_and_a_deletion_takes_it_out(
    connection: Connection, web_api: FakeSlack, model: FakeModel
) -> None:
    event = fake.message(ANN, "I live in Porto.")
    arrive(connection, event)
    work_through()
    preview = fake.changed(event, "I live in Porto.")
    del preview["message"]["edited"]
    arrive(connection, preview, fake.changed(event, "I live in Lisbon."))
    work_through()
    assert live() == ["User: I live in Lisbon."]
    arrive(connection, fake.deleted(event))
    work_through()
    assert live() == []
    kinds = list(IncomingMessage.objects.order_by("pk").values_list("kind", flat=True))
    assert kinds == [MessageKind.MESSAGE, MessageKind.EDITED, MessageKind.RECALLED]


def test_a_deletion_that_leaves_a_thread_behind_is_a_deletion(connection: Connection, web_api: FakeSlack) -> None:
    event = fake.message(ANN, "I live in Porto.", group=GROUP)
    arrive(connection, event, fake.changed(event, "This message was deleted.", subtype="tombstone"))
    row = IncomingMessage.objects.order_by("pk").last()
    assert row and (row.kind, row.message) == (MessageKind.RECALLED, event["ts"])


def test_members_who_join_and_leave_are_noted_and_the_bot_itself_is_not(connection: Connection) -> None:
    for kind, user in (("joined", ANN), ("left", ANN), ("joined", BOT)):
        event = {"type": f"member_{kind}_channel", "user": user, "channel": GROUP, "channel_type": "C", "team": TEAM}
        arrive(connection, {**event, "event_ts": fake.stamp()})
    rows = list(IncomingMessage.objects.order_by("pk").values_list("kind", "peer"))
    assert rows == [(MessageKind.JOINED, ANN), (MessageKind.LEFT, ANN)]


def test_files_are_a_word_with_their_caption_and_bots_and_notes_of_slack_are_nobody(connection: Connection) -> None:
    picture = [{"id": "F1", "mimetype": "image/png"}, {"id": "F2", "mimetype": "application/pdf"}]
    arrive(
        connection,
        fake.message(ANN, "our cat", subtype="file_share", files=picture),
        fake.message(ANN, "has joined", subtype="channel_join"),
        fake.message(BOB, "I am a bot", bot_id="B2"),
        fake.message(BOT, "I am you"),
        {"type": "reaction_added", "user": ANN},
    )
    assert [row.body["text"] for row in IncomingMessage.objects.all()] == ["[photo] [file] our cat"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<https://example.org/a|a page> and <https://example.org>", "a page and https://example.org"),
        ("<@U7|ann> in <#C1|walkers>, <!here> &lt;b&gt;", "@ann in #walkers, @here <b>"),
        ("<@U0BOT>", ""),
        ("a < b", "a < b"),
    ],
)
def test_marks_of_slack_become_words(text: str, words: str) -> None:
    assert slack.plain(text, BOT) == (words, BOT in text)


def test_a_slash_command_in_a_channel_is_answered_for_one_person_alone(
    connection: Connection, web_api: FakeSlack, model: FakeModel
) -> None:
    arrive(connection, fake.message(ANN, "Remember that I have a cat named Mochi."))
    work_through()
    assert post(connection, fake.slash(ANN, "/memory", "", channel=GROUP)).content == b""
    work_through()
    shown = web_api.sent[-1]
    assert (shown["method"], shown["channel"], shown["user"]) == ("chat.postEphemeral", GROUP, ANN)
    assert "Mochi" in shown["text"]
    web_api.outsiders = {ANN}
    post(connection, fake.slash(ANN, "/memory", "1", channel=GROUP))
    work_through()
    assert web_api.sent[-1]["method"] == "chat.postMessage" and "direct chat first" in web_api.sent[-1]["text"]
    assert not any("Mochi" in text for text in web_api.texts(GROUP)[1:])


def test_a_slash_command_in_any_direct_chat_is_answered_in_that_with_the_bot(
    connection: Connection, web_api: FakeSlack, model: FakeModel
) -> None:
    post(connection, fake.slash(ANN, "/memory", "", channel="D0BOBS"))
    work_through()
    assert web_api.sent[-1]["channel"] == ANN


def test_an_export_from_a_channel_is_a_file_in_the_direct_chat(
    connection: Connection, web_api: FakeSlack, model: FakeModel
) -> None:
    arrive(connection, fake.message(ANN, "Remember that I have a cat named Mochi."))
    post(connection, fake.slash(ANN, "/export", "", channel=GROUP))
    work_through()
    file = web_api.sent[-1]
    assert file["channel"] == f"D{ANN}" and "Mochi" in file["text"]


def test_what_was_kept_is_undone_by_a_button(connection: Connection, web_api: FakeSlack, model: FakeModel) -> None:
    Connection.objects.update(notices=NoticeMode.EACH)
    arrive(connection, fake.message(ANN, f"<@{BOT}> remember that I have a cat named Mochi.", group=GROUP))
    work_through()
    notice = web_api.sent[-1]
    assert notice["method"] == "chat.postEphemeral" and notice["text"].startswith("Saved:")
    for _twice in range(2):
        assert post(connection, fake.pressed(ANN, notice, chat=GROUP)).status_code == 200
    work_through()
    assert Notice.objects.get().undone_at is not None
    assert not any(entry.is_live() for entry in Entry.objects.filter(type=EntryType.USER_EXPLICIT))
    assert "Undone: it is no longer remembered." in web_api.texts()


def test_slack_that_is_busy_gets_the_answer_when_it_said(
    connection: Connection, web_api: FakeSlack, model: FakeModel
) -> None:
    web_api.failures = [(429, "ratelimited", {"Retry-After": "30"})]
    arrive(connection, fake.message(ANN, "hello"))
    work_through()
    assert web_api.texts() == [] and OutgoingMessage.objects.get().state == MessageState.WAITING
    work_through(seconds=20)
    assert web_api.texts() == []
    work_through(seconds=40)
    assert web_api.texts() == ["You wrote: hello"]


def test_an_answer_whose_sending_was_not_noted_is_not_there_twice(
    connection: Connection, web_api: FakeSlack, model: FakeModel
) -> None:
    arrive(connection, fake.message(ANN, "hello"))
    work_through()
    first = OutgoingMessage.objects.get()
    OutgoingMessage.objects.update(state=MessageState.WAITING, message="", sent_at=None)  # killed before its commit
    work_through()
    assert web_api.texts() == ["You wrote: hello"]
    assert OutgoingMessage.objects.get().message == first.message
    OutgoingMessage.objects.update(state=MessageState.WAITING, message="", sent_at=None)
    web_api.failures = [(200, "duplicate_message_not_found", {})]  # somebody has deleted it meanwhile
    work_through()
    assert web_api.texts() == ["You wrote: hello"]
    assert OutgoingMessage.objects.get().state == MessageState.DONE


def test_a_token_that_is_revoked_stops_the_connection(
    connection: Connection, web_api: FakeSlack, model: FakeModel
) -> None:
    web_api.token_error = "token_revoked"
    arrive(connection, fake.message(ANN, "hello"))
    work_through()
    connection.refresh_from_db()
    assert connection.problem == ConnectionProblem.REFUSED


@pytest.mark.parametrize("error", ["channel_not_found", "is_archived", "not_in_channel", "no_such_error_yet"])
def test_a_message_slack_never_takes_does_not_hold_up_the_next(
    connection: Connection, web_api: FakeSlack, model: FakeModel, error: str
) -> None:
    web_api.failures = [(200, error, {})]
    arrive(connection, fake.message(ANN, "hello"), fake.message(ANN, "again"))
    work_through()
    assert web_api.texts() == ["You wrote: again"]
    assert OutgoingMessage.objects.get(state=MessageState.FAILED).error == error


def test_no_connection_and_an_error_of_the_server_pass(settings: Any, web_api: FakeSlack) -> None:
    platform, message = platform_named("slack"), Outgoing(chat=GROUP, text="hello")
    web_api.failures = [(503, "service_unavailable", {})]
    for url in (web_api.url, "http://127.0.0.1:9"):
        settings.SLACK_API_URL = url
        with pytest.raises(TryLater):
            platform.send(message, Account({"token": TOKEN}))


def test_a_call_that_is_not_slacks_is_turned_away_and_nothing_is_stored(connection: Connection) -> None:
    body = fake.wrapped(fake.message(ANN, "hello"))
    raw = json.dumps(body).encode()
    other = fake.signed(raw, secret="another")
    old, future = (fake.signed(raw, at=time.time() + seconds) for seconds in (-301, 400))
    for headers in (
        other, old, future, fake.signed(raw + b" "), {"X-Slack-Signature": "v0=é"}, {"X-Slack-Signature": ""},
        {"X-Slack-Request-Timestamp": "soon"}, {"X-Slack-Request-Timestamp": "9" * 400},
    ):  # fmt: skip
        assert post(connection, body, **headers).status_code == 401
    assert post(connection, b"\xff\xfe{").status_code == 401
    assert not IncomingMessage.objects.exists()


def test_what_another_workspace_or_another_app_was_meant_to_have_is_turned_away(connection: Connection) -> None:
    event, shown = fake.message(ANN, "hello"), {"blocks": [{"elements": [{"action_id": "a", "value": "undo:1"}]}]}
    body = fake.wrapped(event)
    forms = [fake.slash(ANN, "/memory", "", channel=GROUP), fake.pressed(ANN, shown, chat=GROUP)]
    others = [
        {**body, "team_id": "T9", "authorizations": [{"team_id": "T9", "user_id": BOT}]},
        {**body, "api_app_id": "A9"},
        {name: value for name, value in body.items() if name != "api_app_id"},
        *(form.replace(TEAM.encode(), b"T9") for form in forms),
        *(form.replace(b"A1", b"A9") for form in forms),
    ]
    assert {post(connection, other).status_code for other in others} == {401}
    assert not IncomingMessage.objects.exists()
    shared = {**body, "team_id": "T9"}  # written in another workspace, in a channel it shares with this one
    assert {post(connection, own).status_code for own in (shared, *forms)} == {200}
    assert IncomingMessage.objects.count() == 3


def test_a_connection_without_a_signing_secret_takes_no_calls(connection: Connection) -> None:
    secrets.forget(connection.secret_name("signing_secret"), workspace=connection.workspace)
    body = fake.wrapped(fake.message(ANN, "hello"))
    assert post(connection, body, **fake.signed(json.dumps(body).encode(), secret="")).status_code == 401


def test_a_replay_within_five_minutes_changes_nothing(connection: Connection) -> None:
    body = fake.wrapped(fake.message(ANN, "hello"))
    headers = fake.signed(json.dumps(body).encode(), at=time.time() - 200)
    assert [post(connection, body, **headers).status_code for _thrice in range(3)] == [200] * 3
    assert IncomingMessage.objects.count() == 1


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b"[" * 100_000, b'{"type": "event_callback"}', json.dumps(fake.wrapped([1])),  # type: ignore[arg-type]
     json.dumps(fake.wrapped({"type": "message", "channel": "C1", "user": "U1", "ts": "x"})),
     json.dumps(fake.wrapped({"type": "message", "channel": {"id": 1}, "ts": "1.000001"})),
     json.dumps(fake.wrapped({"type": "message", "subtype": "message_deleted", "channel": "C"})),
     json.dumps(fake.wrapped({"type": "member_joined_channel", "channel": "C1", "user": "U1"}) | {"event_time": True}),
     urlencode({"payload": "{"}), urlencode({"payload": "[" * 100_000}), urlencode({"command": "/memory"}),
     "&".join(f"a{n}=1" for n in range(1000)),
     urlencode({"payload": '{"type": "block_actions", "actions": [{"value": "x"}]}'})],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_and_nothing_is_stored(connection: Connection, body: bytes | str) -> None:
    raw = body.encode() if isinstance(body, str) else body
    assert post(connection, raw).status_code == 400
    assert not IncomingMessage.objects.exists()


def test_a_call_that_is_too_long_is_refused(connection: Connection) -> None:
    assert post(connection, fake.wrapped(fake.message(ANN, "a" * 10_000_000))).status_code == 413
    assert not IncomingMessage.objects.exists()


def test_the_name_of_the_platform_leads_to_it() -> None:
    assert intake.platform_named("slack").name == "slack"


# Socket Mode

ACCOUNT = Account({"token": TOKEN, "app_token": APP_TOKEN}, id=BOT, channel=f"{TEAM}-{BOT}", app=APP)


@pytest.fixture
def pulling(web_api: FakeSlack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pulling]:
    monkeypatch.setattr(network, "AGAIN_SECONDS", 0.3)
    monkeypatch.setattr(network, "LOOK_SECONDS", 0.1)
    pulling = Pulling("slack", ACCOUNT)
    until(lambda: web_api.connections and pulling.keeps)
    yield pulling
    pulling.is_over = True
    pulling.thread.join(10)
    assert not pulling.thread.is_alive()


def test_in_socket_mode_events_commands_and_buttons_are_stored_then_acknowledged(
    web_api: FakeSlack, pulling: Pulling
) -> None:
    shown = {"blocks": [{"elements": [{"action_id": "a", "value": "undo:1"}]}]}
    command = dict(parse_qsl(fake.slash(ANN, "/memory", "2", channel=GROUP).decode()))
    button = json.loads(dict(parse_qsl(fake.pressed(ANN, shown, chat=GROUP).decode()))["payload"])
    event = fake.wrapped(fake.message(ANN, "I have a cat."))
    envelopes = [
        web_api.deliver("events_api", event, retry_attempt=0, retry_reason=""),
        web_api.deliver("slash_commands", command),
        web_api.deliver("interactive", button),
    ]
    until(lambda: len(web_api.acknowledged) == 3)
    assert web_api.acknowledged == envelopes
    assert [message.text or message.target for message in pulling.kept] == ["I have a cat.", "/memory 2", "undo:1"]


def test_in_socket_mode_what_is_another_workspaces_or_unreadable_is_acknowledged_and_not_kept(
    web_api: FakeSlack, pulling: Pulling
) -> None:
    body = fake.wrapped(fake.message(ANN, "hello"))
    web_api.connections[-1].send("[")
    web_api.deliver("events_api", {**body, "team_id": "T9", "authorizations": []})
    web_api.deliver("events_api", {**body, "api_app_id": "A9"})
    web_api.deliver("events_api", {**body, "event": []})
    web_api.deliver("something_new", {"a": 1})
    until(lambda: len(web_api.acknowledged) == 4)
    assert pulling.kept == []


def test_a_message_is_not_acknowledged_that_could_not_be_stored(web_api: FakeSlack, pulling: Pulling) -> None:
    pulling.storing = OSError("the database is away")
    web_api.deliver("events_api", fake.wrapped(fake.message(ANN, "hello")))
    pulling.thread.join(10)
    assert isinstance(pulling.failure, OSError) and web_api.acknowledged == []


def test_a_socket_that_asks_to_be_renewed_is_opened_anew_after_a_pause_and_goes_on(
    web_api: FakeSlack, pulling: Pulling
) -> None:
    for n in (1, 2, 3):
        began = time.monotonic()
        web_api.deliver("disconnect", reason="refresh_requested")
        until(lambda n=n: len(web_api.connections) == n + 1)  # type: ignore[misc]
        assert time.monotonic() - began > 0.2
    web_api.deliver("events_api", fake.wrapped(fake.message(ANN, "hello")))
    until(lambda: pulling.kept)
    assert pulling.failure is None


def test_a_socket_that_is_lost_is_reported_and_opened_later(web_api: FakeSlack, pulling: Pulling) -> None:
    web_api.connections[-1].close()
    pulling.thread.join(10)
    assert isinstance(pulling.failure, TryLater) and pulling.failure.seconds == network.AGAIN_SECONDS


def test_socket_mode_that_was_switched_off_stops_the_connection(web_api: FakeSlack, pulling: Pulling) -> None:
    web_api.deliver("disconnect", reason="link_disabled")
    pulling.thread.join(10)
    assert isinstance(pulling.failure, KeyRefused)


def test_an_app_level_token_that_is_refused_or_another_apps_says_so(web_api: FakeSlack) -> None:
    web_api.app = "A9"
    pulling = Pulling("slack", ACCOUNT)
    pulling.thread.join(10)
    web_api.app_token_error = "invalid_auth"
    with pytest.raises(KeyRefused) as refused:
        platform_named("slack").introduce(ACCOUNT)
    assert isinstance(pulling.failure, KeyRefused)
    assert pulling.failure.option == refused.value.option == "app_token"


def test_the_page_asks_for_what_the_chosen_way_of_receiving_needs(
    web_api: FakeSlack, workspace: Workspace, settings: Any
) -> None:
    settings.PUBLIC_URL = "https://memory.example.org"
    owner = enter(make_user("owner", is_staff=True, workspace=workspace))
    form = {"workspace": workspace.pk, "option_token": TOKEN, "answerer": "model", "notices": "each",
            "is_enabled": "on", "receiving": "pull", "option_signing_secret": SIGNING_SECRET}  # fmt: skip

    def save(path: str = "add/?platform=slack", **more: str) -> str:
        page = owner.post(f"/admin/channels_app/connection/{path}", {**form, **more}, follow=True)
        return str(page.content.decode())

    assert "This way of receiving needs it." in save() and not Connection.objects.exists()
    web_api.app_token_error = "invalid_auth"
    assert "The platform refuses it." in save(option_app_token=APP_TOKEN) and not Connection.objects.exists()
    web_api.app_token_error = ""
    assert "Slack knows it as mem." in save(option_app_token=APP_TOKEN)
    connection = Connection.objects.get()
    assert connection.options["bot_app"] == APP
    for receiving in ("pull", "webhook"):
        save(f"{connection.pk}/change/", receiving=receiving, option_token="", option_signing_secret="")
        connection.refresh_from_db()
        assert connection.receiving == receiving
    secrets.forget(connection.secret_name("app_token"), workspace=workspace)
    assert "This way of receiving needs it." in save(f"{connection.pk}/change/", option_token="")

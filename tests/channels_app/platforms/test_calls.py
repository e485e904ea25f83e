"""Where a platform calls: only what proves to be its own is stored, and nothing breaks the door."""

import json

import pytest
from django.test import Client

from channels_app.models import Connection, IncomingMessage
from channels_app.platforms import intake
from tests.channels_app.platforms.conftest import SECRET, make_connection
from tests.support.fake_telegram import FakeTelegram

HEADER = "X-Telegram-Bot-Api-Secret-Token"


def call(connection: Connection, body: object, *, secret: str = SECRET, **more: str) -> int:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    response = Client().post(
        f"/channels/telegram/{connection.uid}",
        raw,
        content_type="application/json",
        headers={HEADER: secret} if secret else {},
        **more,
    )
    return response.status_code


def test_a_genuine_call_is_stored_once_whatever_is_redelivered(connection: Connection, bot_api: FakeTelegram) -> None:
    update = bot_api.write(42, "hello")
    assert [call(connection, update) for _twice in range(2)] == [200, 200]
    assert IncomingMessage.objects.get().body["text"] == "hello"


@pytest.mark.parametrize("secret", ["", "wrong", SECRET + "x", "é"])
def test_a_call_without_the_secret_is_turned_away_and_nothing_is_stored(
    connection: Connection, bot_api: FakeTelegram, secret: str
) -> None:
    assert call(connection, bot_api.write(42, "hello"), secret=secret) == 401
    assert not IncomingMessage.objects.exists()


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"[]", b"null", b'{"update_id": "x"}', b'{"update_id": 1, "message": 3}',
     b'{"update_id": 1, "message": {"message_id": 1, "date": 99999999999999999, "chat": {"id": 1, "type": "private"}}}',
     b'{"update_id": 1, "message": {"message_id": "a", "chat": []}}', b'{"update_id": 1, "callback_query": {}}'],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_and_nothing_is_stored(connection: Connection, body: bytes) -> None:
    assert call(connection, body) == 400
    assert not IncomingMessage.objects.exists()


def test_a_call_that_is_too_long_is_refused_before_it_is_read(connection: Connection, bot_api: FakeTelegram) -> None:
    assert call(connection, bot_api.write(42, "a" * 10_000_000)) == 413
    assert not IncomingMessage.objects.exists()


def test_halves_of_characters_and_nul_are_stored_as_something_that_can_be(
    connection: Connection, bot_api: FakeTelegram
) -> None:
    update = bot_api.write(42, "a\0b\ud800c")
    assert call(connection, update) == 200
    assert IncomingMessage.objects.get().body["text"] == "a�b?c"


def test_an_unknown_connection_another_platform_and_one_that_is_off_are_not_there(
    connection: Connection, bot_api: FakeTelegram
) -> None:
    update = bot_api.write(42, "hello")
    Connection.objects.update(is_enabled=False)
    assert call(connection, update) == 404
    Connection.objects.update(is_enabled=True)
    response = Client().post(f"/channels/lark/{connection.uid}", update, content_type="application/json")
    assert response.status_code == 404


def test_a_call_asks_the_database_a_fixed_number_of_questions(
    connection: Connection, bot_api: FakeTelegram, django_assert_max_num_queries: object
) -> None:
    call(connection, bot_api.write(42, "hello"))
    with django_assert_max_num_queries(4):  # type: ignore[operator] # the wall, the message, a word to who works, the wall
        call(connection, bot_api.write(42, "again"))


def test_a_connection_that_is_called_is_read_anew_when_it_was_saved(
    connection: Connection, bot_api: FakeTelegram
) -> None:
    assert call(connection, bot_api.write(42, "hello")) == 200
    Connection.objects.update(is_enabled=False)
    intake.forget_accounts()
    assert call(connection, bot_api.write(42, "again")) == 404


def test_connections_of_other_workspaces_do_not_meet(
    connection: Connection, bot_api: FakeTelegram, stranger: object
) -> None:
    other = make_connection(stranger)  # type: ignore[arg-type]
    update = bot_api.write(42, "hello")
    assert call(connection, update) == call(other, update) == 200
    rows = IncomingMessage.objects.order_by("pk").values_list("workspace_id", "connection_id")
    assert list(rows) == [(connection.workspace_id, connection.pk), (other.workspace_id, other.pk)]

"""Telegram by long polling: what it hands out is taken in, and nothing it hands out stops that."""

from channels_app.models import Connection
from channels_app.platforms import intake
from tests.support.fake_telegram import FakeTelegram
from tests.support.pulling import Pulling, until


def test_an_update_that_cannot_be_read_is_passed_over(connection: Connection, bot_api: FakeTelegram) -> None:
    bot_api.write(42, "before")
    poll = {"id": "1", "question": "When?", "options": [{"text": "May", "voter_count": 0}], "type": "regular"}
    bot_api.write(42, poll=poll)  # as a server older than Bot API 9.6 tells of it
    last = bot_api.write(42, "behind")
    pulling = Pulling("telegram", intake.account_of(connection))
    try:
        until(lambda: bot_api.confirmed > last["update_id"], 20)
    finally:
        pulling.is_over = True
        pulling.thread.join(10)
    assert [message.text for message in pulling.kept] == ["before", "behind"] and pulling.failure is None

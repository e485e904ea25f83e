"""Memory follows what happens in a chat: edits, messages taken back, members who leave, a chat with another id."""

import time
from typing import Any

from django.utils import timezone

from channels_app.models import Chat, Connection, IncomingMessage, MessageKind, NoticeMode
from channels_app.platforms import intake
from channels_app.platforms.wire import Incoming
from memories.models import Batch, Entry
from sessions_app.history.replay import replay_messages
from sessions_app.models import Session
from tests.channels_app.platforms.conftest import arrive, work_through
from tests.memories.llm.fake_server import FakeModel
from tests.support.fake_telegram import BOT, FakeTelegram, chat_of, user_of

ANN, BOB, GROUP = 42, 77, -100_1


def edited(update: dict[str, Any], text: str) -> dict[str, Any]:
    """The edit of a message."""
    return {"edited_message": {**update["message"], "text": text, "edit_date": int(time.time())}}


def live() -> list[str]:
    return [entry.content.partition("\n")[0] for entry in Entry.objects.order_by("pk") if entry.is_live()]


def history() -> list[str]:
    return [event.content for event in replay_messages(Session.objects.get(), 10_000)]


def test_an_edited_message_takes_the_place_of_its_former_words(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    Connection.objects.update(notices=NoticeMode.OFF)
    update = bot_api.write(ANN, "I live in Lisbon.")
    arrive(connection, update)
    work_through()
    arrive(connection, bot_api.push(edited(update, "I live in Porto.")))
    arrive(connection, bot_api.push(edited(update, "I live in Porto.")))  # as a reaction or preview makes them come
    work_through()
    assert live() == ["User: I live in Porto."]
    assert history() == ["I live in Porto.", "You wrote: I live in Lisbon."]
    assert len(bot_api.texts()) == 1
    arrive(connection, bot_api.push(edited(update, "I live in Braga.")))
    work_through()
    assert live() == ["User: I live in Braga."]


def test_an_edit_before_anybody_has_read_the_message_is_what_is_read(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    update = bot_api.write(ANN, "I live in Lisbon.")
    arrive(connection, update, bot_api.push(edited(update, "I live in Porto.")))
    IncomingMessage.objects.filter(kind=MessageKind.EDITED).update(sent_at=update_time(update))
    work_through()
    assert live() == ["User: I live in Porto."]


def update_time(update: dict[str, Any]) -> Any:
    return timezone.datetime.fromtimestamp(update["message"]["date"] - 1, tz=timezone.get_current_timezone())


def test_a_message_that_is_taken_back_is_out_of_memory_and_of_the_conversation(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    update = bot_api.write(ANN, "Remember that my sister is ill.")
    arrive(connection, update, bot_api.write(ANN, "I live in Porto."))
    work_through()
    recalled = Incoming(
        key="recall:1",
        kind=MessageKind.RECALLED,
        chat=str(ANN),
        peer=str(ANN),
        message=str(update["message"]["message_id"]),
        sent_at=timezone.now(),
    )
    intake.keep(connection, [recalled], now=timezone.now())
    work_through()
    assert live() == ["User: I live in Porto."]
    assert not any("sister" in content for content in history())
    assert Batch.objects.get(reason="recalled").actor == "channel:telegram:mem_bot"
    assert not any("sister" in str(row.body) for row in IncomingMessage.objects.all())


def test_who_leaves_a_group_takes_what_they_told_it_along_and_brings_it_back(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    for user, text in ((ANN, "@mem_bot I can bring a tent."), (BOB, "@mem_bot I can bring a stove.")):
        arrive(connection, bot_api.write(user, text, group=GROUP))
    work_through()

    def of_group() -> list[str]:
        rows = Entry.objects.filter(scope__kind="chat").order_by("pk")
        return [entry.sender_id for entry in rows if entry.is_live()]

    assert of_group() == ["42", "77"]

    def change(before: str, after: str) -> dict[str, Any]:
        old, new = ({"user": user_of(ANN), "status": status} for status in (before, after))
        about = {"chat": chat_of(ANN, GROUP), "from": user_of(ANN), "date": int(time.time())}
        return bot_api.push({"chat_member": {**about, "old_chat_member": old, "new_chat_member": new}})

    arrive(connection, bot_api.write(ANN, group=GROUP, left_chat_member=user_of(ANN)))
    work_through()
    assert of_group() == ["77"]
    assert len([entry for entry in Entry.objects.filter(scope__kind="user", sender_id="42") if entry.is_live()]) == 1
    arrive(connection, change("member", "left"))  # an administrator is told of it twice
    work_through()
    arrive(connection, change("left", "member"))
    work_through()
    assert of_group() == ["42", "77"]


def test_a_group_that_moves_to_another_id_keeps_its_memory(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    arrive(connection, bot_api.write(ANN, "@mem_bot the hut is booked for May.", group=GROUP))
    work_through()
    arrive(connection, bot_api.write(ANN, group=GROUP, migrate_to_chat_id=-100_2))
    work_through()
    arrive(connection, bot_api.write(BOB, "@mem_bot when is the hut booked?", group=-100_2))
    work_through()
    assert bot_api.sent[-1]["chat_id"] == "-1002"
    assert "booked for May" in "".join(model.requests[-1].texts[:-1])
    assert set(Chat.objects.values_list("place", flat=True)) == {str(GROUP)}


def test_what_waits_for_a_group_is_sent_where_it_has_moved_to_also_where_somebody_wrote_there_first(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    arrive(connection, bot_api.write(ANN, "@mem_bot the hut is booked for May.", group=GROUP))
    arrive(connection, bot_api.write(BOB, "nobody reads this", group=-100_2))
    bot_api.moved = {str(GROUP): -100_2}
    work_through()
    assert [row["chat_id"] for row in bot_api.sent] == ["-1002"]
    assert set(Chat.objects.values_list("key", "place")) == {(str(GROUP), str(GROUP)), ("-1002", str(GROUP))}


def test_pictures_and_voices_are_kept_as_what_they_are_with_their_captions(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    photo = [{"file_id": "1", "file_unique_id": "1", "width": 1, "height": 1}]
    arrive(connection, bot_api.write(ANN, photo=photo, caption="our new kitchen"))
    voice = {"file_id": "2", "file_unique_id": "2", "duration": 3}
    arrive(connection, bot_api.write(ANN, voice=voice))
    work_through()
    assert bot_api.texts() == ["You wrote: [photo] our new kitchen", "You wrote: [voice message]"]


def test_bots_and_anonymous_administrators_are_nobody_whose_memory_it_could_become(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    for sender in (BOT | {"id": 5}, user_of(1087968824)):
        arrive(connection, bot_api.write(ANN, "@mem_bot hello", group=GROUP, **{"from": sender}))
    work_through()
    assert not Entry.objects.exists() and not bot_api.sent

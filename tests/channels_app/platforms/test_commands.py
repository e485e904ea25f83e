"""People see, correct and take back in the chat itself what is remembered of them."""

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from channels_app.models import Channel, Connection, Contact, Identity, Notice, NoticeMode
from channels_app.people import linking
from channels_app.platforms import commands, notices
from memories.audit.models import AuditRecord
from memories.choices import BatchVerb, DmScope, EntryType, Source
from memories.models import Batch, Entry
from sessions_app.models import EventKind, SessionEvent
from tests.channels_app.platforms.conftest import arrive, later, work_through
from tests.conftest import make_draft
from tests.memories.llm.fake_server import FakeModel
from tests.support.fake_telegram import FakeTelegram

ANN, BOB, GROUP = 42, 77, -100_1


@pytest.fixture(autouse=True)
def quiet(connection: Connection) -> None:
    """Nobody is told what is kept, where that is not what is tried."""
    Connection.objects.update(notices=NoticeMode.OFF)


def say(connection: Connection, bot_api: FakeTelegram, text: str, user: int = ANN, group: int | None = None) -> str:
    """Somebody writes; the last thing the bot sends then."""
    arrive(connection, bot_api.write(user, text, group=group))
    work_through()
    return bot_api.texts()[-1]


@pytest.fixture
def facts(connection: Connection, bot_api: FakeTelegram, model: FakeModel) -> list[Entry]:
    """Two things Ann had remembered, and one of Bob."""
    for user, text in ((ANN, "Remember that I have a cat named Mochi."), (ANN, "Please remember: I work in Lisbon."),
                       (BOB, "Remember that I keep bees.")):  # fmt: skip
        say(connection, bot_api, text, user)
    return list(Entry.objects.filter(type=EntryType.USER_EXPLICIT).order_by("pk"))


def test_memory_shows_ones_own_with_numbers_and_a_number_says_where_it_is_from(
    connection: Connection, bot_api: FakeTelegram, facts: list[Entry]
) -> None:
    shown = say(connection, bot_api, "/memory")
    assert "1. Please remember: I work in Lisbon.\n2. Remember that I have a cat named Mochi.\n" in shown
    assert "bees" not in shown
    origin = say(connection, bot_api, "/memory 2")
    assert "Mochi" in origin and "in our chat" in origin and f"{timezone.now():%Y-%m}" in origin
    assert "no number 9" in say(connection, bot_api, "/memory 9")


def test_what_is_asked_in_a_group_is_answered_alone_or_not_at_all(
    connection: Connection, bot_api: FakeTelegram, facts: list[Entry]
) -> None:
    say(connection, bot_api, "/memory", group=GROUP)
    assert bot_api.sent[-1]["chat_id"] == str(ANN) and "Mochi" in bot_api.sent[-1]["text"]
    bot_api.blocked = {str(BOB)}
    say(connection, bot_api, "/memory@mem_bot", user=BOB, group=GROUP)
    assert bot_api.sent[-1]["chat_id"] == str(GROUP) and "direct chat first" in bot_api.sent[-1]["text"]
    assert not any("bees" in text for text in bot_api.texts(GROUP))


def test_a_correction_replaces_the_words_and_can_be_undone_by_an_operator(
    connection: Connection, bot_api: FakeTelegram, facts: list[Entry]
) -> None:
    say(connection, bot_api, "/memory")
    assert "is now “I work in Porto.”" in say(connection, bot_api, "/correct 1 I work in Porto.")
    entry = Entry.objects.get(pk=facts[1].pk)
    assert entry.content == "I work in Porto."
    assert Batch.objects.filter(actor="person:telegram:42", name=BatchVerb.CHANGE).count() == 1


@pytest.mark.parametrize("gap", ["\u3000", "\n", "\t "])
def test_after_a_number_comes_any_white_space(
    connection: Connection, bot_api: FakeTelegram, facts: list[Entry], gap: str
) -> None:
    say(connection, bot_api, "/memory")
    assert "我在苏州工作。" in say(connection, bot_api, f"/更正{gap}1{gap}我在苏州工作。")
    assert Entry.objects.get(pk=facts[1].pk).content == "我在苏州工作。"


def test_that_is_wrong_corrects_what_the_last_answer_rested_on(
    connection: Connection, bot_api: FakeTelegram, facts: list[Entry]
) -> None:
    say(connection, bot_api, "/reset")
    say(connection, bot_api, "In which city do I work, Lisbon?")
    say(connection, bot_api, "That's wrong: I work in Porto.")
    contents = [entry.content for entry in Entry.objects.filter(type=EntryType.USER_EXPLICIT, sender_id="42")]
    assert "I work in Porto." in contents
    shown = say(connection, bot_api, "/memory")
    assert "Porto" in shown and "remember: I work in Lisbon" not in shown


def test_what_is_forgotten_is_gone_and_one_tap_brings_it_back(
    connection: Connection, bot_api: FakeTelegram, facts: list[Entry]
) -> None:
    say(connection, bot_api, "/memory")
    assert say(connection, bot_api, "/forget 2").startswith("Forgotten: “Remember that I have a cat")
    assert not Entry.objects.get(pk=facts[0].pk).is_live()
    arrive(connection, bot_api.press(ANN, bot_api.sent[-1]))
    work_through()
    assert Entry.objects.get(pk=facts[0].pk).is_live() and bot_api.texts()[-1] == "It is remembered again."


def test_what_was_forgotten_is_kept_when_it_is_asked_for_anew(
    connection: Connection, bot_api: FakeTelegram, facts: list[Entry]
) -> None:
    Connection.objects.update(notices=NoticeMode.EACH)
    connection.refresh_from_db()
    say(connection, bot_api, "/memory")
    say(connection, bot_api, "/forget 2")
    say(connection, bot_api, "I have a cat named Mochi.")
    assert "Mochi" not in say(connection, bot_api, "/memory"), "told in passing it stays forgotten"
    a_minute_later = int(time.time()) + 60
    arrive(connection, bot_api.write(ANN, "Remember that I have a cat named Mochi.", date=a_minute_later))
    work_through()
    assert bot_api.texts()[-1].startswith("Saved: ")
    assert "Remember that I have a cat named Mochi." in say(connection, bot_api, "/memory")
    assert not Entry.objects.get(pk=facts[0].pk).is_live(), "what was forgotten stays as it is"


def test_undo_undoes_what_was_done_last(connection: Connection, bot_api: FakeTelegram, model: FakeModel) -> None:
    Connection.objects.update(notices=NoticeMode.EACH)
    connection.refresh_from_db()
    say(connection, bot_api, "Remember that I have a cat named Mochi.")
    say(connection, bot_api, "Remember that my brother has bees.")
    say(connection, bot_api, "/memory")
    assert "bees" in say(connection, bot_api, "/forget 1")
    say(connection, bot_api, "/correct 2 I have a cat named Mika.")
    assert say(connection, bot_api, "/undo") == "It is remembered again."
    assert "Mochi" in say(connection, bot_api, "/memory") and "bees" not in bot_api.texts()[-1]
    assert say(connection, bot_api, "/undo") == "It is remembered again."
    assert "Mochi" in say(connection, bot_api, "/memory") and "bees" in bot_api.texts()[-1]
    assert say(connection, bot_api, "/undo") == "Undone: it is no longer remembered."
    assert "Mochi" in say(connection, bot_api, "/memory") and "bees" not in bot_api.texts()[-1]


def test_what_is_put_right_where_nothing_was_known_is_undone_as_what_was_kept(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    assert say(connection, bot_api, "that's wrong: I live in Suzhou.").startswith("Saved: “I live in Suzhou.”")
    assert say(connection, bot_api, "/undo") == "Undone: it is no longer remembered."
    assert "nothing" in say(connection, bot_api, "/memory")


def test_everything_is_forgotten_after_a_yes_and_nothing_of_anybody_else(
    connection: Connection, bot_api: FakeTelegram, facts: list[Entry]
) -> None:
    assert "Write “yes”" in say(connection, bot_api, "/forget everything")
    assert "memories are forgotten" in say(connection, bot_api, "yes")
    assert [entry.sender_id for entry in Entry.objects.filter(expired_at=None)] == ["77"]
    assert say(connection, bot_api, "yes") == "You wrote: yes"
    assert [row.details for row in AuditRecord.objects.filter(actor="person:telegram:42")] == [{"forgotten": 2}]


def test_a_yes_to_something_else_forgets_nothing(
    connection: Connection, bot_api: FakeTelegram, facts: list[Entry]
) -> None:
    say(connection, bot_api, "/forget everything")
    assert say(connection, bot_api, "no") == "You wrote: no"
    assert say(connection, bot_api, "yes") == "You wrote: yes"
    assert all(entry.is_live() for entry in Entry.objects.filter(type=EntryType.USER_EXPLICIT))
    say(connection, bot_api, "/forget everything")
    say(connection, bot_api, "/memory", group=GROUP)
    assert say(connection, bot_api, "yes") == "You wrote: yes"
    say(connection, bot_api, "/forget everything")
    assert "memories are forgotten" in say(connection, bot_api, "yes")


@pytest.mark.parametrize("name", ["gamebot", "mem_bot_games"])
def test_a_command_to_another_bot_of_the_group_is_overheard_and_nothing_else(
    connection: Connection, bot_api: FakeTelegram, facts: list[Entry], name: str
) -> None:
    say(connection, bot_api, "/memory")
    say(connection, bot_api, "/forget 2")
    count = len(bot_api.sent)
    say(connection, bot_api, f"/undo@{name}", group=GROUP)
    assert len(bot_api.sent) == count and not Entry.objects.get(pk=facts[0].pk).is_live()
    assert SessionEvent.objects.filter(kind=EventKind.AMBIENT, content=f"/undo@{name}").exists()
    assert say(connection, bot_api, "/undo@mem_bot", group=GROUP) == "It is remembered again."


def test_a_press_of_a_button_is_acknowledged(connection: Connection, bot_api: FakeTelegram, facts: list[Entry]) -> None:
    say(connection, bot_api, "/memory")
    say(connection, bot_api, "/forget 2")
    update = bot_api.press(ANN, bot_api.sent[-1])
    arrive(connection, update)
    work_through()
    taken = [asked for method, asked in bot_api.calls if method == "answerCallbackQuery"]
    assert taken == [{"callback_query_id": update["callback_query"]["id"]}]


def test_nobody_presses_a_button_of_another(connection: Connection, bot_api: FakeTelegram, facts: list[Entry]) -> None:
    say(connection, bot_api, "/memory")
    say(connection, bot_api, "/forget 2")
    arrive(connection, bot_api.press(BOB, bot_api.sent[-1]))
    work_through()
    assert not Entry.objects.get(pk=facts[0].pk).is_live()
    assert bot_api.texts()[-1] == "There is nothing to undo."


def test_export_why_privacy_and_help_answer_in_the_language_of_who_asks(
    connection: Connection, bot_api: FakeTelegram, facts: list[Entry]
) -> None:
    say(connection, bot_api, "/export")
    assert "Mochi" in bot_api.sent[-1]["document"] and "bees" not in bot_api.sent[-1]["document"]
    assert "nothing I remember" in say(connection, bot_api, "/why")
    assert "/forget" in say(connection, bot_api, "/privacy")
    assert "/memory" in say(connection, bot_api, "/start")


def test_reset_is_answered_in_the_language_of_who_writes_it(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    def written_by(user: int, text: str, **program: str) -> str:
        person = {"id": user, "is_bot": False, "first_name": "Li", **program}
        arrive(connection, bot_api.write(user, text, **{"from": person}))
        work_through()
        return bot_api.texts()[-1]

    assert written_by(1, "/reset", language_code="zh-hans").startswith("已清空对话历史")
    assert written_by(1, "/重置", language_code="zh-hans").startswith("已清空对话历史")
    assert written_by(2, "/reset").startswith("The conversation history is cleared"), "that of the workspace"
    written_by(2, "我住在杭州。")
    assert written_by(2, "/reset").startswith("已清空对话历史"), "that of what they wrote before"
    written_by(2, "Good morning!")
    assert written_by(2, "/reset").startswith("The conversation history is cleared")


def test_saved_is_told_at_once_and_undone_with_one_tap(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    Connection.objects.update(notices=NoticeMode.EACH)
    connection.refresh_from_db()
    assert say(connection, bot_api, "Remember that I have a cat named Mochi.").startswith("Saved: “")
    arrive(connection, bot_api.press(ANN, bot_api.sent[-1]))
    work_through()
    assert not Entry.objects.get(type=EntryType.USER_EXPLICIT).is_live()
    assert Notice.objects.get().undone_at
    assert say(connection, bot_api, "/undo") == "There is nothing to undo."


def test_what_is_learnt_later_is_told_once_and_once_a_day_to_who_wants_it_so(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel
) -> None:
    say(connection, bot_api, "hello")
    scope = Entry.objects.first().scope

    def learn(content: str) -> None:
        from memories import entries

        slots = {"channel": "telegram", "sender_id": str(ANN)}
        draft = make_draft(scope, content, type=EntryType.FACT, tier=1, source=Source.EXTRACTION, slots=slots)
        entries.remember(draft, now=timezone.now(), actor="extraction")

    learn("Ann keeps bees.")
    for mode, seconds in (
        (NoticeMode.EACH, 10),
        (NoticeMode.EACH, 20),
        (NoticeMode.DAILY, 30),
        (NoticeMode.DAILY, 90_000),
    ):
        Connection.objects.update(notices=mode)
        row = Connection.objects.select_related("channel", "workspace").get()
        notices.announce_new_memories(row, now=later(seconds)())
        work_through(seconds + 1)
        if seconds == 20:
            learn("Ann sails a dinghy.")
    texts = [text for text in bot_api.texts() if text.startswith("Learnt")]
    assert texts == ["Learnt about you: “Ann keeps bees.”", "Learnt about you: “Ann sails a dinghy.”"]


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/memory", ("memory", "")), ("/Memory 3", ("memory", "3")), ("/忘记 2", ("forget", "2")),
        ("不对：我住在杭州", ("wrong", "我住在杭州")), ("No, that's wrong: it is 8080", ("wrong", "it is 8080")),
        ("/unknown", None), ("memory", None), ("that's wrong", None), ("/reset", None), ("//", None),
        ("/undo@gamebot", None),
    ],
)  # fmt: skip
def test_commands_are_read_by_their_names_in_both_languages(text: str, command: tuple[str, str] | None) -> None:
    read = commands.read(text)
    assert (read and (read.name, read.argument)) == command


def test_two_accounts_become_one_person_by_a_code_of_one_that_the_other_sends(
    connection: Connection, bot_api: FakeTelegram, facts: list[Entry]
) -> None:
    assert "keeps each account's memory apart" in say(connection, bot_api, "/link")
    Channel.objects.update(dm_scope=DmScope.PER_PEER)
    connection = Connection.objects.select_related("channel", "workspace").get()
    say(connection, bot_api, "Remember that I sail a dinghy.")
    code = say(connection, bot_api, "/link").split()[-1]
    assert "not known" in say(connection, bot_api, "/link 0000000000", user=BOB)
    assert "not known" in say(connection, bot_api, f"/link {code}")  # nobody links themselves
    assert "share one memory" in say(connection, bot_api, f"/link {code}", user=BOB)
    assert "not known" in say(connection, bot_api, f"/link {code}", user=BOB)
    linking.unite_waiting(now=timezone.now())
    assert "dinghy" in say(connection, bot_api, "/memory", user=BOB)
    assert Identity.objects.values("person").distinct().count() == 1
    assert AuditRecord.objects.filter(actor="person:telegram:77", details={"linked": 1}).count() == 1


def test_a_code_is_good_for_ten_minutes(connection: Connection, bot_api: FakeTelegram, facts: list[Entry]) -> None:
    Channel.objects.update(dm_scope=DmScope.PER_PEER)
    connection = Connection.objects.select_related("channel", "workspace").get()
    code = say(connection, bot_api, "/link").split()[-1]
    Contact.objects.update(link_code_at=timezone.now() - timedelta(minutes=11))
    assert "not known" in say(connection, bot_api, f"/link {code}", user=BOB)

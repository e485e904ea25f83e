"""What was accepted without the database is in it once it is back: once, in order, as it was said."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from django_q.models import OrmQ

from channels_app import tasks
from channels_app.api.turns import EFFECTS
from channels_app.doors.files import replay
from channels_app.models import Channel, ReplayedRecord
from channels_app.tasks import JournalReplayer
from memories.models import Bot, BotKey, Change, Entry, Scope, Workspace
from memories.models.ids import uuid7
from memories.offline import journal
from sessions_app.models import Session, SessionEvent
from tests.channels_app.doors.files.conftest import stream, turn, waiting
from tests.conftest import GROUP, NOW, TELEGRAM, Api, make_key
from tests.support.outage import database_away

pytestmark = pytest.mark.django_db


def user_messages() -> list[str]:
    """What users said, in the order of their sessions."""
    rows = SessionEvent.objects.filter(kind="user").order_by("session", "conversation", "position")
    return [content for content in rows.values_list("content", flat=True) if content != "before it all"]


def outcomes_of() -> list[str]:
    return list(ReplayedRecord.objects.order_by("pk").values_list("outcome", flat=True))


@pytest.mark.thorough
def test_everything_is_there_once_in_order_with_its_time_and_actor(bot: Api, workspace: Workspace) -> None:
    begun = timezone.now()
    with database_away():
        for n in range(30):
            assert bot.post("turns", turn(f"message {n}: 我家的猫叫年糕{n}", "ok")).status_code == 201
        old = bot.post("turns", turn("said long ago", "then", at="2026-01-05T08:00:00Z"))
        assert old.status_code == 201
    accepted = timezone.now()
    assert tasks.count_waiting() == {"calls": 31}
    assert tasks.replay_journal() == {"calls": 31, "parked": 0}
    assert user_messages() == [*(f"message {n}: 我家的猫叫年糕{n}" for n in range(30)), "said long ago"]
    assert not journal.is_pending(stream(workspace)) and tasks.count_waiting() == {"calls": 0}
    times = SessionEvent.objects.filter(content__startswith="message").values_list("at", flat=True)
    assert all(begun <= at <= accepted for at in times)
    assert SessionEvent.objects.get(content="said long ago").at.isoformat() == "2026-01-05T08:00:00+00:00"
    entry = Entry.objects.get(content__contains="message 7:")
    assert Change.objects.filter(table_name="memories_entry", row_id=entry.pk, op="I", actor="bot:bot").exists()
    assert set(outcomes_of()) == {"applied"}


def test_replayed_twice_it_is_there_once(bot: Api, workspace: Workspace, tmp_path: Any) -> None:
    with database_away():
        for n in range(5):
            bot.post("turns", turn(f"message {n}"))
    (segment,) = stream(workspace).folder.glob("*.jsonl")
    text = segment.read_bytes()
    assert tasks.replay_journal() == {"calls": 5, "parked": 0}
    segment.write_bytes(text)  # as if the process had been killed before it removed the file
    assert tasks.replay_journal() == {"calls": 0, "parked": 0}
    assert user_messages() == [f"message {n}" for n in range(5)] and not journal.is_pending(stream(workspace))


def test_killed_in_the_middle_it_goes_on_where_it_was(bot: Api, workspace: Workspace, monkeypatch: Any) -> None:
    with database_away():
        for n in range(6):
            bot.post("turns", turn(f"message {n}"))
    real, applied = EFFECTS["turn"].apply, []

    def killed_at_the_fourth(*call: Any) -> Any:
        applied.append(call)
        answer = real(*call)
        if len(applied) == 4:
            raise KeyboardInterrupt  # after it was written, before it was committed
        return answer

    effects = {"turn": replace(EFFECTS["turn"], apply=killed_at_the_fourth)}
    with pytest.raises(KeyboardInterrupt):
        replay.replay_all(effects, timezone.now, until=timezone.now() + timedelta(seconds=60))
    assert user_messages() == [f"message {n}" for n in range(3)]
    tasks.replay_journal()
    assert user_messages() == [f"message {n}" for n in range(6)]


def test_a_stream_that_cannot_be_read_keeps_no_other_waiting(bot: Api, workspace: Workspace) -> None:
    with database_away():
        bot.post("turns", turn("我家的猫叫年糕"))
        for account in ("another", "third"):
            bot.post("turns", {"address": {**TELEGRAM, "account": account}, "user": f"by {account}", "assistant": ""})
    first = journal.streams(workspace.pk)[0]
    (path,) = first.folder.glob("*.jsonl")
    (first.folder / "copy of it.jsonl").write_bytes(path.read_bytes())
    assert tasks.replay_journal() == {"calls": 2, "parked": 0}
    assert len(user_messages()) == 2 and path.exists()
    (first.folder / "copy of it.jsonl").unlink()
    assert tasks.replay_journal() == {"calls": 1, "parked": 0}
    assert sorted(user_messages()) == ["by another", "by third", "我家的猫叫年糕"]


def test_the_process_that_embeds_applies_it_by_itself(bot: Api, workspace: Workspace, settings: Any) -> None:
    replayer = JournalReplayer()
    with database_away():
        bot.post("turns", turn("while it was away"))
    settings.MEMORY_JOB_REPLAY_JOURNAL = False
    assert replayer(now=NOW) > 0 and user_messages() == []
    settings.MEMORY_JOB_REPLAY_JOURNAL = True
    Channel.objects.update(path_mode="legacy_only")
    assert replayer(now=NOW) > 0 and user_messages() == []
    Channel.objects.update(path_mode="hooks_only")
    assert replayer(now=NOW) == 0.0 and user_messages() == ["while it was away"]
    assert replayer(now=NOW) > 0 and not journal.is_pending(stream(workspace))


def test_new_turns_go_behind_those_that_wait(bot: Api, workspace: Workspace) -> None:
    with database_away():
        bot.post("turns", turn("first, without the database"))
    answer = bot.post("turns", turn("second, with it"))  # it is back, and the first is not in it yet
    assert (answer.status_code, answer.json()["degraded"]) == (201, ["database"])
    other = bot.post("turns", {"address": {**TELEGRAM, "account": "other"}, "user": "another channel", "assistant": ""})
    assert other.json()["degraded"] == []
    assert waiting(workspace) == ["first, without the database", "second, with it"]
    tasks.replay_journal()
    assert [text for text in user_messages() if text != "another channel"] == [
        "first, without the database",
        "second, with it",
    ]
    assert bot.post("turns", turn("third")).json()["degraded"] == []


def test_a_turn_that_comes_when_the_last_was_drained_goes_to_the_database(
    bot: Api, workspace: Workspace, monkeypatch: Any
) -> None:
    with database_away():
        bot.post("turns", turn("first"))
    real, drained = journal.append, []

    def drained_meanwhile(*call: Any, **more: Any) -> Any:
        if not drained:
            drained.append(tasks.replay_journal())
        return real(*call, **more)

    monkeypatch.setattr(journal, "append", drained_meanwhile)
    answer = bot.post("turns", turn("second"))
    assert (answer.json()["degraded"], len(answer.json()["entries"])) == ([], 1)
    assert user_messages() == ["first", "second"] and waiting(workspace) == []


def test_the_worker_is_told_when_calls_wait(bot: Api, workspace: Workspace, monkeypatch: Any) -> None:
    monkeypatch.setattr(replay, "_queued_at", None)
    with database_away():
        bot.post("turns", turn("first"))
    assert OrmQ.objects.count() == 0
    for n in range(3):
        bot.post("turns", turn(f"behind it {n}"))
    assert [row.task["func"] for row in OrmQ.objects.all()] == ["channels_app.tasks.replay_journal"]


def test_the_same_key_after_the_replay_gets_the_answer_of_the_call(bot: Api, workspace: Workspace) -> None:
    with database_away():
        assert bot.post("turns", turn("once"), **{"Idempotency-Key": "k1"}).status_code == 201
    tasks.replay_journal()
    again = bot.post("turns", turn("once"), **{"Idempotency-Key": "k1"})
    assert again.status_code == 201 and again.headers["Idempotent-Replayed"] == "true"
    assert len(again.json()["entries"]) == 1
    assert user_messages() == ["once"]


def test_a_call_the_database_had_already_is_not_applied_again(bot: Api, workspace: Workspace) -> None:
    """Its answer was lost with the connection, and the bot has sent it again."""
    assert bot.post("turns", turn("once"), **{"Idempotency-Key": "k1"}).json()["degraded"] == []
    with database_away():
        assert bot.post("turns", turn("once"), **{"Idempotency-Key": "k1"}).json()["degraded"] == ["database"]
    tasks.replay_journal()
    assert user_messages() == ["once"] and outcomes_of() == ["known"]


def test_a_key_that_was_another_calls_parks_the_call(bot: Api, workspace: Workspace) -> None:
    bot.post("turns", turn("once"), **{"Idempotency-Key": "k1"})
    with database_away():
        bot.post("turns", turn("something else"), **{"Idempotency-Key": "k1"})
    tasks.replay_journal()
    (parked,) = ReplayedRecord.objects.filter(outcome="parked")
    assert "Idempotency-Key" in parked.reason and parked.body
    assert parked.body["body"]["request"]["user"] == "something else"


def test_what_cannot_be_applied_is_kept_with_its_reason_and_holds_up_nothing(bot: Api, workspace: Workspace) -> None:
    with database_away():
        bot.post("turns", turn("into a frozen scope"))
        bot.post("turns", {**turn("into another"), "address": {**TELEGRAM, "peer": "u43", "chat": "c8"}})
    Scope.objects.filter(key="telegram:direct_u42").update(frozen=True)
    assert tasks.replay_journal() == {"calls": 2, "parked": 1}
    (parked,) = ReplayedRecord.objects.filter(outcome="parked")
    assert parked.reason.startswith("ScopeFrozen") and parked.body
    assert parked.body["body"]["request"]["user"] == "into a frozen scope"
    assert (parked.platform, parked.account, parked.kind) == ("telegram", "mybot", "turn")
    assert user_messages() == ["into another"]


def test_a_damaged_line_is_shown_and_those_around_it_are_applied(bot: Api, workspace: Workspace) -> None:
    with database_away():
        for text in ("one", "two", "three"):
            bot.post("turns", turn(text))
    (segment,) = stream(workspace).folder.glob("*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b'"two"', b'"tw\x00"'))
    tasks.replay_journal()
    assert user_messages() == ["one", "three"]
    (parked,) = ReplayedRecord.objects.filter(outcome="parked")
    assert parked.body and "tw" in parked.body["line"]


def test_a_line_that_was_cut_short_is_nothing(bot: Api, workspace: Workspace) -> None:
    with database_away():
        bot.post("turns", turn("whole"))
    (segment,) = stream(workspace).folder.glob("*.jsonl")
    with segment.open("ab") as file:
        file.write(b'0123456789abcdef {"uid": "cut')
    tasks.replay_journal()
    assert user_messages() == ["whole"] and not journal.is_pending(stream(workspace))
    segment.write_bytes(b"cut")
    tasks.replay_journal()
    assert not journal.is_pending(stream(workspace))


def test_a_reset_waits_its_turn(bot: Api, workspace: Workspace) -> None:
    with database_away():
        for text in ("before", "/reset", "after"):
            bot.post("turns", turn(text))
    tasks.replay_journal()
    session = Session.objects.get()
    assert session.conversation == 2
    assert [event.content for event in session.messages(2)] == ["after"]


def test_a_bot_that_was_disabled_since_loses_nothing_it_was_told_is_kept(bot: Api, workspace: Workspace) -> None:
    with database_away():
        bot.post("turns", turn("accepted"))
    Bot.objects.update(disabled_at=timezone.now())
    BotKey.objects.update(revoked_at=timezone.now())
    tasks.replay_journal()
    assert user_messages() == ["accepted"]


def test_what_an_answer_used_does_not_cost_the_turn(bot: Api, workspace: Workspace) -> None:
    with database_away():
        used = turn("used", recall_id=str(uuid7()), used=[str(uuid7())])
        assert bot.post("turns", used).status_code == 201
    assert tasks.replay_journal()["parked"] == 0
    assert user_messages() == ["used"]


def test_members_of_a_group_stay_apart(bot: Api, workspace: Workspace) -> None:
    other = Api(make_key(workspace, name="other bot"))
    other.get("sessions")
    with database_away():
        for peer, text in (("u42", "我对花生过敏"), ("u43", "I like peanuts")):
            bot.post("turns", {"address": {**GROUP, "peer": peer}, "user": text, "assistant": ""})
    tasks.replay_journal()
    own = Entry.objects.filter(scope__key="telegram:direct_u43", content__contains="peanuts")
    assert own.count() == 1
    assert not Entry.objects.filter(scope__key="telegram:direct_u42", content__contains="peanuts").exists()


# events of a session


def test_events_are_accepted_and_applied_behind_the_turns(
    bot: Api, workspace: Workspace, django_capture_on_commit_callbacks: Any
) -> None:
    session = Session.objects.get()
    events = {"events": [{"kind": "user", "content": "an event", "sender": "u42"}]}
    with database_away():
        bot.post("turns", turn("a turn"))
        answer = bot.post(f"sessions/{session.uid}/events", events)
        by_key = bot.post(f"sessions/{session.key}/events", {"events": [{"kind": "assistant", "content": "又一条"}]})
        unknown = bot.post("sessions/telegram-000000000000000000000000/events", events)
    assert (answer.status_code, answer.json()["degraded"]) == (201, ["database"])
    assert (by_key.status_code, unknown.status_code) == (201, 503)
    assert answer.json()["session"] is None and answer.json()["events"] == []
    assert bot.post(f"sessions/{session.uid}/events", events).json()["degraded"] == ["database"]
    tasks.replay_journal()
    contents = [event.content for event in session.messages()]
    assert contents[-4:] == ["a turn", "an event", "又一条", "an event"]
    assert bot.post(f"sessions/{session.uid}/events", events).json()["degraded"] == []

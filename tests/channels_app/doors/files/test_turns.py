"""A turn is accepted without the database: in the journal and the transcript, once a key."""

from typing import Any

import pytest
from django.db import connection

from memories.models import BotKey, Workspace
from memories.offline import database, journal
from sessions_app.models import Session
from tests.channels_app.doors.files.conftest import MINE, stream, transcript, turn, waiting
from tests.conftest import GROUP, TELEGRAM, Api, make_key
from tests.support.outage import connection_lost_at, database_away

pytestmark = pytest.mark.django_db


def test_a_turn_is_accepted_and_says_what_is_missing(bot: Api, workspace: Workspace) -> None:
    result = str(Session.objects.get().uid)
    with database_away():
        answer = bot.post("turns", turn("我家的猫叫年糕", "A fine name."))
    assert answer.status_code == 201
    reply = answer.json()
    assert (reply["entries"], reply["degraded"], reply["reply"]) == ([], ["database"], None)
    assert reply["session"] == {"id": result, "key": reply["session"]["key"], "conversation": None, "tokens": None}
    assert waiting(workspace) == ["我家的猫叫年糕"]
    assert "u42: 我家的猫叫年糕" in transcript(workspace) and "assistant: A fine name." in transcript(workspace)


def test_a_database_that_is_lost_in_the_middle_is_no_error(bot: Api, workspace: Workspace) -> None:
    with connection_lost_at("memories_entry"):
        answer = bot.post("turns", turn("said while it went", "ok"))
    assert (answer.status_code, answer.json()["degraded"]) == (201, ["database"])
    (line,) = journal.read(stream(workspace))
    assert line.record and line.record.transaction and line.record.transaction["number"].isdigit()


@pytest.mark.parametrize("part", ["memplatform_admit", "channels_app_channel", "sessions_app_session"])
def test_wherever_the_connection_is_lost_the_turn_is_accepted(bot: Api, workspace: Workspace, part: str) -> None:
    with connection_lost_at(part):
        answer = bot.post("turns", turn("said while it went"))
    assert (answer.status_code, answer.json()["degraded"]) == (201, ["database"])
    assert waiting(workspace) == ["said while it went"]


def test_another_error_of_the_database_stays_one(bot: Api, workspace: Workspace) -> None:
    with connection.execute_wrapper(_fail):
        assert bot.post("turns", turn("not this way")).status_code == 500
    assert waiting(workspace) == [] and not database.is_away()


def _fail(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
    if "sessions_app_session" in str(sql):
        raise RuntimeError("a fault of ours")
    return execute(sql, params, many, context)


def test_the_same_key_again_is_the_same_call(bot: Api, workspace: Workspace) -> None:
    with database_away():
        first, second = (bot.post("turns", turn("once"), **{"Idempotency-Key": "k1"}) for _ in range(2))
        other = bot.post("turns", turn("something else"), **{"Idempotency-Key": "k1"})
        bot.post("turns", turn("twice"))
        bot.post("turns", turn("twice"))
    assert first.json() == second.json() and second.status_code == 201
    assert (other.status_code, other.json()["errors"][0]["code"]) == (409, "idempotency_key_taken")
    assert waiting(workspace) == ["once", "twice", "twice"]
    assert transcript(workspace).count("once") == 1


@pytest.mark.thorough
def test_what_is_wrong_with_a_turn_is_told_as_ever(bot: Api, workspace: Workspace) -> None:
    with database_away():
        assert bot.post("turns", {"user": "whose?"}).status_code == 400
        assert bot.post("turns", turn("x", at="2999-01-01T00:00:00Z")).status_code == 400
        nobody = {"platform": "telegram", "account": "mybot"}
        assert bot.post("turns", {"address": nobody, "user": "whose?"}).status_code == 400
        spelled = {**TELEGRAM, "account": "MyBot"}
        assert bot.post("turns", {"address": spelled, "user": "which?"}).status_code == 400
        assert bot.post("turns", turn("x"), **{"Idempotency-Key": "\t"}).status_code == 400
    assert waiting(workspace) == []


def test_a_key_reaches_no_further_without_the_database(workspace: Workspace, bot: Api) -> None:
    bound, reader = (Api(make_key(workspace, name=name)) for name in ("bound", "reader"))
    BotKey.objects.filter(bot__name="bound").update(scope_patterns=["lark:*"])
    BotKey.objects.filter(bot__name="reader").update(permissions=["read"])
    for one in (bound, reader):
        one.get("sessions")
    with database_away():
        assert bound.post("turns", turn("into another's memory")).status_code == 404
        assert reader.post("turns", turn("without the right")).status_code == 403
    assert waiting(workspace) == []


def test_keys_that_ended_and_strangers_are_not_let_in(workspace: Workspace, bot: Api, settings: Any) -> None:
    token = make_key(workspace, name="revoked")
    assert Api(token).get("sessions").status_code == 200
    BotKey.objects.filter(digest=BotKey.digest_of(token)).update(revoked_at="2026-01-01T00:00:00Z")
    assert Api(token).get("sessions").status_code == 401
    never_seen = make_key(workspace, name="never seen")
    with database_away():
        for one in (token, never_seen, "mp_guess"):
            assert Api(one).post("turns", turn("let me in")).status_code == 503
        assert Api(None).post("turns", turn("let me in")).status_code == 401
    assert waiting(workspace) == []


def test_calls_are_counted_by_the_process(bot: Api, settings: Any) -> None:
    settings.MEMORY_CALLS_PER_MINUTE = 3
    with database_away():
        codes = [bot.post("turns", turn(f"call {n}")).status_code for n in range(5)]
    assert codes.count(429) >= 2 and codes[0] == 201


def test_a_group_and_its_members_keep_what_is_theirs(bot: Api, workspace: Workspace) -> None:
    with database_away():
        for peer, words in (("u42", "Lantau on Sunday?"), ("u43", "我带伞")):
            address = {**GROUP, "peer": peer}
            assert bot.post("turns", {"address": address, "user": words, "assistant": ""}).status_code == 201
    lines = transcript(workspace, scope="telegram:mybot:group_g1")
    assert "u42: Lantau on Sunday?" in lines and "u43: 我带伞" in lines
    assert transcript(workspace) == ""


def test_a_direct_chat_without_a_peer_is_with_whom_it_was(
    bot: Api, workspace: Workspace, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        bot.post("turns", turn("so that the chat is known"))
    nameless = {name: value for name, value in TELEGRAM.items() if name != "peer"}
    with database_away():
        assert bot.post("turns", {"address": nameless, "user": "it is me again"}).status_code == 201
    assert "u42: it is me again" in transcript(workspace, scope=MINE)


def test_reset_is_answered_at_once(bot: Api, workspace: Workspace) -> None:
    with database_away():
        assert "cleared" in bot.post("turns", turn("/reset")).json()["reply"]
    assert waiting(workspace) == ["/reset"]


def test_a_journal_that_cannot_be_written_accepts_nothing(bot: Api, workspace: Workspace, monkeypatch: Any) -> None:
    monkeypatch.setattr("memories.offline.journal.os.fsync", lambda _fd: (_ for _ in ()).throw(OSError("full")))
    with database_away():
        refused = bot.post("turns", turn("no room for this"))
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (503, "database_unavailable")
    assert waiting(workspace) == []


def test_secrets_are_not_written_to_transcripts(bot: Api, workspace: Workspace) -> None:
    with database_away():
        bot.post("turns", turn("my password is hunter2-and-more", "I keep it"))
    assert "hunter2" not in transcript(workspace)

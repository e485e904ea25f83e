"""What two platforms have in common is there once after an import of one into the other (F8)."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from memories.models import Entry, Workspace
from memories.models.batch import Batch
from sessions_app.models import Session, SessionEvent, event_ids
from tests.conftest import Api, make_key
from tests.memplatform.transfer.test_import_of_an_export import command_answer, live
from tests.sessions_app.stretches import compact, summary_of

pytestmark = pytest.mark.django_db

ADDRESS = {"platform": "telegram", "account": "mybot", "peer": "u42", "chat": "c7"}
COMMON = ["The bakery closes on Tuesdays", "我家的猫叫豆包", "The router stands behind the piano"]
LATER = ["My cello teacher comes on Saturdays", "房租每月五号交"]


@pytest.fixture
def bot(workspace: Workspace) -> Api:
    return Api(make_key(workspace))


@pytest.fixture
def other_bot(stranger: Workspace) -> Api:
    return Api(make_key(stranger))


def talk(bot: Api, sentences: list[str], *, day: int) -> None:
    for number, sentence in enumerate(sentences):
        at = (timezone.now() - timedelta(days=9 - day) + timedelta(minutes=number)).isoformat()
        turn = {"address": ADDRESS, "user": sentence, "assistant": "Noted.", "at": at}
        assert bot.post("turns", turn).status_code == 201


def move(source: Workspace, target: Workspace, folder: Path) -> Any:
    command_answer("export", folder, "--workspace", source.name)
    return command_answer("import", folder, "--workspace", target.name)


def messages_by_session(workspace: Workspace) -> list[list[str]]:
    """What users said in each session of a workspace, in order."""
    return [
        list(
            SessionEvent.objects.filter(session=session, kind="user")
            .order_by("position")
            .values_list("content", flat=True)
        )
        for session in Session.objects.filter(workspace=workspace).order_by("pk")
    ]


def turns_of(sentences: list[str]) -> list[str]:
    return sorted(f"User: {sentence}\nAssistant: Noted." for sentence in sentences)


@pytest.mark.parametrize(
    ("there", "here"),
    [(COMMON, COMMON), ([*COMMON, *LATER], COMMON), (COMMON, [*COMMON, *LATER])],
    ids=["the same", "longer there", "longer here"],
)
def test_a_conversation_that_began_alike_on_both_is_one_and_holds_all(
    there: list[str],
    here: list[str],
    bot: Api,
    other_bot: Api,
    workspace: Workspace,
    stranger: Workspace,
    tmp_path: Path,
) -> None:
    talk(bot, there, day=3)
    talk(other_bot, here, day=5)
    longer = max(there, here, key=len)
    done = move(workspace, stranger, tmp_path / "out")
    assert (done["left_out"], done["created"].get("session", 0)) == ([], 0)
    assert done["created"]["message"] == 2 * (len(longer) - len(here))
    assert messages_by_session(stranger) == [longer]
    assert live(stranger) == turns_of(longer)
    again = command_answer("import", tmp_path / "out", "--workspace", stranger.name)
    assert (sum(again["created"].values()), again["batches"], again["left_out"]) == (0, [], [])
    other_bot.post("turns", {"address": ADDRESS, "user": "And it goes on", "assistant": "Noted."})
    assert messages_by_session(stranger)[0][-1] == "And it goes on"
    assert live(stranger) == turns_of([*longer, "And it goes on"])


def test_from_where_two_conversations_part_what_was_said_there_stands_beside_the_one_here(
    bot: Api, other_bot: Api, workspace: Workspace, stranger: Workspace, tmp_path: Path
) -> None:
    talk(bot, [*COMMON, *LATER], day=3)
    talk(other_bot, [*COMMON, "I drive a green Lada"], day=5)
    tried = told_of_a_dry_run(workspace, stranger, tmp_path / "dry")
    done = move(workspace, stranger, tmp_path / "out")
    assert (done["left_out"], done["created"]) == ([], tried)
    assert messages_by_session(stranger) == [[*COMMON, "I drive a green Lada"], LATER]
    assert live(stranger) == turns_of([*COMMON, "I drive a green Lada", *LATER])
    again = command_answer("import", tmp_path / "out", "--workspace", stranger.name)
    assert (sum(again["created"].values()), again["batches"], again["left_out"]) == (0, [], [])
    context = other_bot.post("context", {"address": ADDRESS, "message": "Which car do I drive?"}).json()
    assert [row["content"] for row in context["history"]][-2:] == ["I drive a green Lada", "Noted."]
    answer = other_bot.post("recall", {"address": ADDRESS, "message": "When does my cello teacher come?"}).json()
    assert "cello" in answer["memories"][0]["content"]


def told_of_a_dry_run(source: Workspace, target: Workspace, folder: Path) -> dict[str, int]:
    command_answer("export", folder, "--workspace", source.name)
    counts: dict[str, int] = command_answer("import", folder, "--workspace", target.name, "--dry-run")["created"]
    return counts


def test_a_memory_rests_on_the_messages_that_are_here(
    bot: Api, other_bot: Api, workspace: Workspace, stranger: Workspace, tmp_path: Path
) -> None:
    talk(bot, [*COMMON, *LATER], day=3)
    talk(other_bot, [*COMMON, "I drive a green Lada"], day=5)
    move(workspace, stranger, tmp_path / "out")
    for entry in Entry.objects.filter(workspace=stranger):
        messages = SessionEvent.objects.filter(workspace=stranger, pk__in=list(event_ids(entry.origins)))
        assert {message.content in entry.content for message in messages} == {True}


def test_an_export_that_has_grown_is_brought_again_and_both_go_on(
    bot: Api, other_bot: Api, workspace: Workspace, stranger: Workspace, tmp_path: Path
) -> None:
    talk(bot, COMMON, day=3)
    move(workspace, stranger, tmp_path / "first")
    talk(bot, LATER, day=4)
    assert move(workspace, stranger, tmp_path / "second")["created"]["message"] == 4
    assert messages_by_session(stranger) == [[*COMMON, *LATER]]
    talk(other_bot, ["I drive a green Lada"], day=5)
    talk(bot, ["I moved to Suzhou"], day=5)
    assert move(workspace, stranger, tmp_path / "third")["left_out"] == []
    assert messages_by_session(stranger) == [[*COMMON, *LATER, "I drive a green Lada"], ["I moved to Suzhou"]]
    assert live(stranger) == turns_of([*COMMON, *LATER, "I drive a green Lada", "I moved to Suzhou"])


def copy_of(entry: Entry) -> Entry:
    columns = {column.attname: getattr(entry, column.attname) for column in Entry._meta.concrete_fields}
    return Entry(**{name: value for name, value in columns.items() if name not in ("id", "uid")})


def test_what_was_said_twice_there_comes_twice(
    bot: Api, workspace: Workspace, stranger: Workspace, tmp_path: Path
) -> None:
    talk(bot, COMMON, day=3)
    entry = Entry.objects.filter(workspace=workspace).earliest("pk")
    Entry.objects.bulk_create([copy_of(entry)])
    move(workspace, stranger, tmp_path / "out")
    assert live(stranger) == live(workspace)
    assert len(live(stranger)) == len(COMMON) + 1


def test_after_an_undo_another_export_brings_what_both_hold(
    bot: Api, other_bot: Api, workspace: Workspace, stranger: Workspace, tmp_path: Path
) -> None:
    third = Workspace.objects.create(name="Dora's")
    talk(bot, COMMON, day=3)
    talk(other_bot, COMMON, day=3)
    run = move(workspace, third, tmp_path / "one")["run"]
    uid = Batch.objects.get(run=run).uid
    assert Api(make_key(third)).post(f"batches/{uid}/undo").status_code == 201
    assert live(third) == []
    move(stranger, third, tmp_path / "two")
    assert (live(third), messages_by_session(third)) == (turns_of(COMMON), [COMMON])


@pytest.fixture
def summarised(bot: Api, workspace: Workspace) -> Session:
    """A conversation with a summary that leaves out its first turn, which was taken out."""
    for sentence in [*COMMON, *LATER]:
        assert bot.post("turns", {"address": ADDRESS, "user": sentence, "assistant": "Noted."}).status_code == 201
    take_out(bot, workspace, COMMON[0])
    session = Session.objects.get(workspace=workspace)
    assert compact(session)
    return session


def take_out(bot: Api, workspace: Workspace, sentence: str) -> None:
    entry = Entry.objects.get(workspace=workspace, type="chat_turn", content__contains=sentence)
    assert bot.request("DELETE", f"entries/{entry.uid}").status_code == 200


def history(bot: Api, session: Session) -> list[tuple[str, str]]:
    messages = bot.get(f"sessions/{session.uid}/history").json()["messages"]
    return [(message["role"], message["content"]) for message in messages]


def test_a_summary_leaves_out_the_same_messages_elsewhere_and_no_others(
    summarised: Session, bot: Api, other_bot: Api, workspace: Workspace, stranger: Workspace, tmp_path: Path
) -> None:
    move(workspace, stranger, tmp_path / "out")
    session = Session.objects.get(workspace=stranger)
    left_out = session.events.filter(pk__in=summary_of(session).data["left_out"]).order_by("position")
    assert [event.content for event in left_out] == [COMMON[0], "Noted."]
    assert history(other_bot, session) == history(bot, summarised)
    assert history(other_bot, session)[0][0] == "summary"
    take_out(other_bot, stranger, COMMON[1])
    assert history(other_bot, session)[0] == ("user", COMMON[2])


def test_what_a_summary_of_an_older_export_leaves_out_means_no_message_here(
    summarised: Session, other_bot: Api, workspace: Workspace, stranger: Workspace, tmp_path: Path
) -> None:
    command_answer("export", tmp_path / "out", "--workspace", workspace.name)
    file = tmp_path / "out" / "memory.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    (row,) = [row for row in rows if row.get("kind") == "summary"]
    row["data"] = summary_of(summarised).data
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command_answer("import", file, "--workspace", stranger.name)
    session = Session.objects.get(workspace=stranger)
    assert summary_of(session).data["covers_to"] > 0 and "left_out" not in summary_of(session).data
    assert history(other_bot, session)[0] == ("user", COMMON[1])

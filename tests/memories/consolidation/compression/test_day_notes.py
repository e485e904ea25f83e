"""At four in the morning the day before becomes a note, once (C10)."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memories import tasks
from memories.choices import BufferState, Source
from memories.consolidation import compression, summaries
from memories.models import DailyEvent, ExtractionBatch, Scope, Workspace
from memories.models.policy import Policies
from memories.recall.answer import notes_of
from tests.conftest import NOW, Api, make_scope
from tests.memories.consolidation.buffer.conversations import say
from tests.memories.consolidation.compression.conftest import past_event
from tests.memories.llm.fake_server import FakeModel, credulous

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def files(settings: Any, tmp_path: Path) -> Path:
    """An empty folder of files."""
    settings.MEMORY_FILES_ROOT = tmp_path
    return tmp_path


def archived(scope: Scope, now: datetime = NOW) -> dict[str, int]:
    return summaries.archive_day(scope.workspace_id, now=now)


def notes() -> list[DailyEvent]:
    return list(DailyEvent.objects.filter(source=Source.COMPRESSION).order_by("pk"))


def test_it_works_without_a_model(scope: Scope) -> None:
    past_event(scope, "米娅的猫叫年糕。", chats=("c1",), origins=("m1",))
    past_event(scope, "The deploy moved to Friday at 10:30.", chats=("c2",), origins=("m2",))
    assert archived(scope) == {"scopes": 1, "notes": 1, "by_model": 0, "files": 1}
    (note,) = notes()
    assert "年糕" in note.content and "10:30" in note.content
    assert (str(note.local_date), note.chats, note.origins) == ("2026-02-28", ["c1", "c2"], ["m1", "m2"])


def test_the_model_tells_it_when_there_is_one(scope: Scope, model: FakeModel) -> None:
    past_event(scope, "Mia moved to Hamburg.")
    model.otherwise = {"summary": "米娅搬家了。"}
    assert archived(scope)["by_model"] == 1
    assert notes()[0].content == "米娅搬家了。"


def test_a_sentence_nobody_said_is_left_out_of_a_note(scope: Scope, model: FakeModel) -> None:
    past_event(scope, "Mia moved to Hamburg on 4 May.")
    past_event(scope, "米娅的猫叫年糕。")
    model.otherwise = {"summary": "Mia moved to Hamburg. She paid 900 euros. 米娅的猫跑了。"}
    model.verdicts = {"米娅的猫跑了。": "contradicted"}
    assert archived(scope)["left_out"] == 2
    assert notes()[0].content == "Mia moved to Hamburg."


@pytest.mark.parametrize("statement", ["She paid 900 euros.", "米娅养了 3 只狗。"])
def test_a_note_of_which_nothing_is_left_is_made_of_the_words_of_the_day(
    statement: str, scope: Scope, model: FakeModel
) -> None:
    past_event(scope, "Mia moved to Hamburg.")
    model.otherwise = {"summary": statement}
    assert archived(scope)["by_model"] == 0 and notes()[0].content == "Mia moved to Hamburg."


def test_a_note_whose_reader_believes_decoys_is_made_of_the_words_of_the_day(scope: Scope, model: FakeModel) -> None:
    past_event(scope, "Mia moved to Hamburg.")
    model.otherwise, model.reader = {"summary": "米娅搬家了。"}, credulous
    assert archived(scope)["decoys_passed"] > 0 and notes()[0].content == "Mia moved to Hamburg."


def test_a_model_that_fails_costs_no_note(scope: Scope, model: FakeModel, settings: Any) -> None:
    settings.MEMORY_LLM_RETRIES = 0
    model.error_rate = 1.0
    past_event(scope, "Mia moved to Hamburg.")
    assert archived(scope)["notes"] == 1 and notes()[0].content == "Mia moved to Hamburg."


def test_each_active_scope_has_one_note_a_day_however_often_it_runs(scope: Scope) -> None:
    past_event(scope, "Mia moved to Hamburg.")
    past_event(make_scope(scope.workspace, "telegram:direct_u7"), "Bob plays chess.")
    assert archived(scope)["notes"] == 2
    assert archived(scope)["notes"] == 0
    assert archived(scope, NOW + timedelta(days=1))["notes"] == 0  # nobody said anything
    assert len(notes()) == 2


def test_a_machine_that_was_off_for_days_makes_up_for_each_day_it_missed(scope: Scope) -> None:
    past_event(scope, "Mia moved to Hamburg.", days_ago=4)
    past_event(scope, "米娅的猫叫年糕。", days_ago=3)
    assert summaries.count_days(scope.workspace_id, now=NOW) == 2
    assert archived(scope) == {"scopes": 1, "notes": 2, "by_model": 0, "files": 2}
    assert [(str(note.local_date), note.content) for note in notes()] == [
        ("2026-02-25", "Mia moved to Hamburg."),
        ("2026-02-26", "米娅的猫叫年糕。"),
    ]
    assert archived(scope, NOW + timedelta(days=1))["notes"] == 0


def test_a_note_is_no_news_for_the_facts(scope: Scope, model: FakeModel) -> None:
    past_event(scope, "Mia moved to Hamburg.")
    archived(scope)
    assert compression.compress_days(scope.workspace_id, clock=lambda: NOW, run="r")["days"] == 1
    assert all(event.compressed_at for event in DailyEvent.objects.all())


def test_what_was_taken_out_is_not_told(scope: Scope) -> None:
    event = past_event(scope, "Mia moved to Hamburg.")
    DailyEvent.objects.filter(pk=event.pk).update(expired_at=NOW)
    assert archived(scope)["notes"] == 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("zone", "now", "day"),
    [
        ("Asia/Kathmandu", "2026-02-28 22:30", "2026-02-28"),
        ("America/Sao_Paulo", "2026-03-01 07:00", "2026-02-28"),
        ("Europe/Berlin", "2026-03-29 02:00", "2026-03-28"),
    ],
)
def test_the_day_before_is_that_of_the_workspace(workspace: Workspace, zone: str, now: str, day: str) -> None:
    Workspace.objects.update(time_zone=zone)
    scope = make_scope(workspace)
    moment = datetime.fromisoformat(now).replace(tzinfo=UTC)
    for days_ago in range(4):
        past_event(scope, f"Something of {days_ago}.", days_ago=days_ago)
    past_event(scope, "The day that is meant.", days_ago=(NOW.date() - datetime.fromisoformat(day).date()).days)
    archived(scope, moment)
    assert str(notes()[-1].local_date) == day


def test_owners_may_want_no_notes(scope: Scope, settings: Any) -> None:
    settings.MEMORY_AUTO_MEMORY_SAVE_AT_4 = False
    past_event(scope, "Mia moved to Hamburg.")
    assert tasks.archive(scope.workspace_id, now=NOW) == {}
    assert notes() == []


def test_a_day_waits_for_its_note_until_all_of_it_is_extracted(api: Api, scope: Scope, settings: Any) -> None:
    settings.TEST_CLOCK = True
    past_event(scope, "Mia moved to Hamburg.")
    say(api, "And the cat 年糕 came along to Hamburg.", at=NOW - timedelta(days=1))
    assert archived(scope) == {"scopes": 0, "notes": 0, "by_model": 0, "waiting": 1}
    ExtractionBatch.objects.update(state=BufferState.PARKED, sealed=True)  # it may stay so for good
    assert archived(scope)["notes"] == 1


def test_a_note_that_only_repeats_the_day_stands_once(api: Api, scope: Scope) -> None:
    past_event(scope, "We moved the release to Thursday. The port is 3.5 km away.")
    past_event(scope, "米娅的猫叫年糕。")
    archived(scope)
    assert len(notes()) == 1
    assert len(api.get("events", scope=scope.key).json()["results"]) == 2
    (noted,) = notes_of(scope, Policies([]), now=NOW, zone=UTC)
    assert noted.content.count("Thursday") == noted.content.count("年糕") == 1


def test_a_note_in_words_of_its_own_is_told_beside_the_day(api: Api, scope: Scope) -> None:
    past_event(scope, "We moved the release to Thursday.")
    archived(scope)
    DailyEvent.objects.filter(source=Source.COMPRESSION).update(content="The release is later than planned.")
    assert len(api.get("events", scope=scope.key).json()["results"]) == 2

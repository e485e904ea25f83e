"""Importing a folder again whose daily files have grown: the events of their days grow with them (D8)."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from memories import batches
from memories.consolidation import compression
from memories.entries import daily_events
from memories.models import Batch, DailyEvent, Scope
from tests.conftest import NOW
from tests.memories.consolidation.compression.conftest import live, model
from tests.memories.llm.fake_server import Asked, FakeModel
from tests.memories.notes.conftest import days, imported, write

__all__ = ("model",)
pytestmark = pytest.mark.django_db(transaction=True)

DAY = "memory/2026-01-31.md"
OLD, NEW = "- Mia moved to Hamburg.\n", "- 米娅的猫叫年糕。\n"
BOTH = [("2026-01-31", (OLD + NEW).strip())]


def undone(made: Any) -> Batch:
    undo = batches.plan_undo(Batch.objects.get(uid=made["batch"]), actor="user:ann", now=NOW)
    return batches.apply_batch(undo, now=NOW)


def night(scope: Scope, run: str) -> dict[str, int]:
    return compression.compress_days(scope.workspace_id, clock=lambda: NOW, run=run)


def facts_of(asked: Asked) -> dict[str, Any]:
    """A fact of each line of the day a model is shown."""
    like = {"project": "_global", "topic": "_general", "category": "event", "importance": 0.5}
    lines = [line.removeprefix("- ") for line in asked.data["days"][0]["said"].splitlines()]
    return {"facts": [like | {"content": line, "quote": [{"day": "d1", "text": line}]} for line in lines]}


def test_its_event_has_the_lines_of_the_file_and_an_undo_gives_the_old_ones_back(tmp_path: Path, scope: Scope) -> None:
    imported(write(tmp_path, {DAY: OLD}))
    grown = imported(write(tmp_path, {DAY: OLD + NEW}))
    assert (grown["events"], days(scope)) == (1, BOTH)
    assert imported(tmp_path)["batch"] is None
    undone(grown)
    assert days(scope) == [("2026-01-31", OLD.strip())]
    again = imported(tmp_path)
    assert (again["events"], days(scope), DailyEvent.objects.count()) == (1, BOTH, 1)


def test_the_night_reads_it_again_and_an_undo_takes_only_what_was_found_since(
    tmp_path: Path, scope: Scope, model: FakeModel, settings: Any
) -> None:
    settings.MEMORY_VERIFY, model.otherwise = False, facts_of
    imported(write(tmp_path, {DAY: OLD}))
    assert night(scope, "first")["facts"] == 1
    read_at = DailyEvent.objects.get().compressed_at
    grown = imported(write(tmp_path, {DAY: OLD + NEW}))
    assert DailyEvent.objects.get().compressed_at is None
    counts = night(scope, "second")
    assert (counts["facts"], counts["repeated"]) == (1, 1)
    assert live(scope) == {"Mia moved to Hamburg.", "米娅的猫叫年糕。"}
    undone(grown)
    event = DailyEvent.objects.get()
    assert (event.content, event.compressed_at, live(scope)) == (OLD.strip(), read_at, {"Mia moved to Hamburg."})


def test_the_batch_shows_the_words_before_and_after(tmp_path: Path, scope: Scope) -> None:
    imported(write(tmp_path, {DAY: OLD}))
    grown = imported(write(tmp_path, {DAY: OLD + NEW}))
    for made, words in (
        (Batch.objects.get(uid=grown["batch"]), (OLD.strip(), (OLD + NEW).strip())),
        (undone(grown), ((OLD + NEW).strip(), OLD.strip())),
    ):
        (row,) = batches.describe(made, list(made.changes.select_related("event")))
        assert (row.before, row.after) == words


def test_what_does_not_fit_into_it_is_an_event_of_its_own(tmp_path: Path, scope: Scope, settings: Any) -> None:
    settings.MEMORY_CONTENT_MAX_CHARS = 100
    lines = [f"- 第{n}件事：去了第{n}个地方，见了第{n}个人" for n in range(20)]
    imported(write(tmp_path, {DAY: "\n".join(lines[:9])}))
    before = days(scope)
    imported(write(tmp_path, {DAY: "\n".join(lines)}))
    after = days(scope)
    assert after[: len(before) - 1] == before[:-1] and after[len(before) - 1] != before[-1]
    assert "\n".join(content for _on, content in after).split("\n") == lines
    assert max(len(content) for _on, content in after) <= 100


def test_an_event_people_corrected_stays_and_the_new_lines_stand_beside_it(tmp_path: Path, scope: Scope) -> None:
    imported(write(tmp_path, {DAY: OLD}))
    event = DailyEvent.objects.get(local_date=date(2026, 1, 31))
    daily_events.update(event, "- Mia moved to Bremen.", now=NOW, actor="user:ann")
    imported(write(tmp_path, {DAY: OLD + NEW}))
    assert [content for _on, content in days(scope)] == ["- Mia moved to Bremen.", NEW.strip()]


def test_a_correction_between_plan_and_import_is_not_written_over(scope: Scope) -> None:
    draft = daily_events.EventDraft(scope=scope, local_date=NOW.date() - timedelta(days=1), content="Mia moved.")
    (event,) = daily_events.write([draft], now=NOW, actor="t")
    version = event.version
    daily_events.update(event, "Mia stayed.", now=NOW, actor="user:ann")
    outcome = daily_events.grow(scope, {event.pk: "Mia moved.\nShe likes it."}, {event.pk: version}, now=NOW, actor="t")
    event.refresh_from_db()
    assert (outcome.applied, outcome.skipped, event.content) == ([], {event.pk: "changed"}, "Mia stayed.")

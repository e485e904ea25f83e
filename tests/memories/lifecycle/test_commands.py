"""The work of the night by hand: `manage.py expire` and `manage.py restore`."""

import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memories.consolidation.extraction import _ALWAYS_COUNTED
from memories.management.command_line import Bar
from memories.models import Batch, Entry, ExtractionBatch, Scope, Workspace
from tests.conftest import NOW, TELEGRAM, Api, make_key, make_scope
from tests.memories.lifecycle.conftest import SAID, expire, live, remember

pytestmark = pytest.mark.django_db


def command_answer(command: str, *words: str) -> Any:
    out = io.StringIO()
    call_command(command, *words, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_expire_counts_first_and_then_does_as_the_night_would(workspace: Workspace, scope: Scope) -> None:
    remember(scope, *SAID)
    assert command_answer("expire", "--dry-run", "--now", NOW.isoformat()) == {"scopes": 1, "entries": 4}
    assert (live(scope), Batch.objects.count()) == (set(SAID), 0)
    assert command_answer("expire", "--now", NOW.isoformat()) == {"scopes": 1, "entries": 4}
    assert live(scope) == set()
    assert Batch.objects.get().actor.startswith("command:")
    assert command_answer("expire", "--now", NOW.isoformat()) == {"scopes": 0, "entries": 0}


def test_as_if_it_were_another_time(workspace: Workspace, scope: Scope) -> None:
    remember(scope, *SAID, days_ago=0)
    for days, entries in ((29, 0), (30, 4)):
        counts = command_answer("expire", "--dry-run", "--now", (NOW + timedelta(days=days)).isoformat())
        assert counts["entries"] == entries


def test_one_workspace_is_worked_on_alone(workspace: Workspace, stranger: Workspace, scope: Scope) -> None:
    theirs = make_scope(stranger)
    for place in (scope, theirs):
        remember(place, *SAID)
    command_answer("expire", "--workspace", workspace.name)
    assert (live(scope), live(theirs)) == (set(), set(SAID))
    with pytest.raises(CommandError, match="Alice's, Charlie's|Charlie's, Alice's"):
        command_answer("expire", "--workspace", "nobody's")


def test_restore_brings_back_a_time_or_a_batch_with_a_term(workspace: Workspace, scope: Scope) -> None:
    remember(scope, *SAID)
    expire(workspace)
    at, batch = ["--now", (NOW + timedelta(hours=5)).isoformat()], Batch.objects.get()
    assert command_answer("restore", "--last-night", "--dry-run", *at) == {"scopes": 1, "entries": 4}
    assert live(scope) == set()
    since = ["--since", (NOW + timedelta(hours=1)).isoformat()]
    assert command_answer("restore", *since, *at)["entries"] == 0
    assert command_answer("restore", "--batch", str(batch.uid), "--term", "30d", *at) == {"scopes": 1, "entries": 4}
    assert live(scope) == set(SAID)
    assert Entry.objects.earliest("pk").expires_at == NOW + timedelta(hours=5, days=30)


@pytest.mark.parametrize(
    "words",
    [
        ["--batch", "00000000-0000-7000-8000-000000000000"],
        ["--since", "some day"],
        ["--last-night", "--term", "long"],
        ["--last-night", "--since", "2026-01-01"],
        [],
    ],
)
def test_what_cannot_be_meant_is_refused(workspace: Workspace, words: list[str]) -> None:
    with pytest.raises(CommandError):
        command_answer("restore", *words)


def test_people_read_plain_words(workspace: Workspace, scope: Scope) -> None:
    remember(scope, *SAID)
    out = io.StringIO()
    call_command("expire", stdout=out)
    assert out.getvalue() == "scopes 1, entries 4\n"


def test_extract_counts_first_and_works_on_one_workspace_alone(workspace: Workspace, stranger: Workspace) -> None:
    for owner in (workspace, stranger):
        Api(make_key(owner)).post("turns", {"address": TELEGRAM, "user": "我家的猫叫年糕", "assistant": "Noted."})
    assert command_answer("extract", "--dry-run") == {"extraction_batches": 0}  # it has not been quiet for long enough
    for everything in ("--all", "--now"):  # the shorter word of before, which is understood still
        assert command_answer("extract", "--dry-run", everything) == {"extraction_batches": 2}
    counts = command_answer("extract", "--all", "--workspace", workspace.name)
    assert (counts["sealed"], counts["extraction_batches"]) == (1, 1)
    assert ExtractionBatch.objects.get().workspace == stranger


def test_extract_works_as_if_it_were_another_time(workspace: Workspace) -> None:
    at = timezone.now()
    Api(make_key(workspace)).post("turns", {"address": TELEGRAM, "user": "我家的猫叫年糕", "assistant": "Noted."})
    for minutes, batches in ((2, 0), (4, 1)):
        moment = (at + timedelta(minutes=minutes)).isoformat()
        assert command_answer("extract", "--dry-run", "--now", moment) == {"extraction_batches": batches}
        assert command_answer("extract", "--now", moment)["extraction_batches"] == batches
    assert not ExtractionBatch.objects.exists()


def test_extract_tries_again_what_was_parked_and_goes_on_until_nothing_is_due(
    workspace: Workspace, settings: Any
) -> None:
    settings.MEMORY_EXTRACT_TIME = timedelta(0)  # a run has had its time before it begins
    Api(make_key(workspace)).post("turns", {"address": TELEGRAM, "user": "我家的猫叫年糕", "assistant": "Noted."})
    ExtractionBatch.objects.update(state="parked", sealed=True)
    assert command_answer("extract", "--all", "--dry-run") == {"extraction_batches": 0}
    assert command_answer("extract", "--retry-parked", "--dry-run") == {"extraction_batches": 1}
    assert command_answer("extract", "--retry-parked") == {"retried": 1} | dict.fromkeys(_ALWAYS_COUNTED, 0)
    assert ExtractionBatch.objects.get().state == "waiting"
    settings.MEMORY_EXTRACT_TIME = timedelta(seconds=50)
    assert command_answer("extract")["extraction_batches"] == 1


@pytest.mark.parametrize("work", ["sweep", "flush", "clean"])
def test_the_work_of_conversations_is_counted_first(workspace: Workspace, work: str) -> None:
    Api(make_key(workspace)).post("turns", {"address": TELEGRAM, "user": "我家的猫叫年糕", "assistant": "Noted."})
    later = timezone.now() + timedelta(days=1 if work == "flush" else 40)
    ExtractionBatch.objects.all().delete()
    if work == "clean":
        command_answer("sessions", "sweep", "--now", later.isoformat())
    counted = command_answer("sessions", work, "--dry-run", "--now", later.isoformat())
    assert set(counted.values()) == {2 if work == "clean" else 1}
    done = command_answer("sessions", work, "--now", later.isoformat())
    assert counted.items() <= done.items()
    assert set(command_answer("sessions", work, "--dry-run", "--now", later.isoformat()).values()) == {0}


@pytest.mark.parametrize(("total", "shown"), [(3, ["0 / 3", "3 / 3"]), (0, [])])
def test_a_person_at_a_terminal_sees_how_far_it_is(
    total: int, shown: list[str], capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    bar = Bar(total, "extraction_batches", "parked", has_lines=True)
    bar({"extraction_batches": 1, "turns": 40})
    bar.move_on({"extraction_batches": 1, "parked": 1})
    bar({"extraction_batches": 1})
    bar.end()
    drawn = capsys.readouterr().err
    assert [words for words in ("0 / 3", "3 / 3", "4 / 3") if words in drawn] == shown


@pytest.mark.parametrize(("has_lines", "lines"), [(True, 10), (False, 0)])
def test_without_a_terminal_a_long_work_writes_ten_lines(has_lines: bool, lines: int, capsys: Any) -> None:
    bar = Bar(1_000, head="Writing", has_lines=has_lines)
    for done in range(1, 1_001):
        bar({"entries": done})
    bar.end()
    written = capsys.readouterr().err.splitlines()
    assert len(written) == lines and written[-1:] == ["Writing 1,000 / 1,000"][:lines]


def test_compress_counts_what_the_model_would_be_asked_about(workspace: Workspace, scope: Scope) -> None:
    days = command_answer("compress", "days", "--dry-run")
    facts = command_answer("compress", "facts", "--dry-run", "--workspace", workspace.name)
    assert command_answer("compress", "--dry-run") == days | facts
    assert set(days.values()) | set(facts.values()) == {0}
    assert command_answer("compress").get("facts", 0) == 0  # without a model nothing is judged

"""The bot notices nothing of its shadow, whatever happens to it; and nothing is done twice."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from memplatform_shadow import Added, Asked, Deleted, Fact, Hit, Shadow
from memplatform_shadow.log import Log, log_files, read_lines
from memplatform_shadow.state import Lead, State

from memories.models import BotKey, Entry
from tests.clients.shadow.conftest import Line, until

live = [pytest.mark.django_db(transaction=True), pytest.mark.thorough]


class Notes:
    """A store a bot's developer wrote."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[str, str]] = {}

    def remember(self, who: str, text: str) -> int:
        self.rows[len(self.rows) + 1] = (who, text)
        return len(self.rows)

    def find(self, who: str, words: str, *, most: int = 3) -> list[tuple[int, str]]:
        results = [(n, text) for n, (owner, text) in self.rows.items() if owner == who and words in text]
        return results[:most]

    def forget(self, number: int) -> None:
        del self.rows[number]

    def size(self) -> int:
        return len(self.rows)


class NotesAdapter:
    """How its calls are read."""

    def remember(self, call: Any) -> Added:
        return Added({"user_id": call.arguments["who"]}, [Fact(str(call.answer), call.arguments["text"])])

    def find(self, call: Any) -> Asked:
        hits = [Hit(str(number), text) for number, text in call.answer]
        return Asked(call.arguments["words"], {"user_id": call.arguments["who"]}, hits, call.defaults["most"])

    def forget(self, call: Any) -> Deleted:
        return Deleted(str(call.arguments["number"]))

    def size(self, call: Any) -> None:
        raise RuntimeError("an adapter that fails")


@pytest.fixture
def nowhere(begin: Any) -> Shadow:
    """A shadow whose platform is never there."""

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("nobody there", request=request)

    shadow: Shadow = begin(http=lambda: httpx.Client(transport=httpx.MockTransport(refuse)), most_waiting=3)
    return shadow


class TestLive:
    pytestmark = live

    def test_a_store_of_ones_own_is_watched_through_an_adapter(self, begin: Any, noted: Callable[..., Any]) -> None:
        notes = (shadow := begin()).around(plain := Notes(), NotesAdapter())
        number = notes.remember("ann", text="The boat is called Wren")
        assert notes.find("ann", "boat") == [(1, "The boat is called Wren")]
        notes.forget(number)
        assert (plain.rows, repr(notes)) == ({}, repr(plain))
        write, read, delete = noted(shadow)
        assert (write["outcome"], read["pairs"], delete["outcome"]) == ("mirrored", [[0, 0, "mirrored"]], "mirrored")
        assert read["limit"] == 3

    def test_a_platform_that_was_away_gets_everything_in_order_once_it_is_back(
        self, mem0: Any, begin: Any, noted: Callable[..., Any], line: Line
    ) -> None:
        memory = (shadow := begin()).around(mem0)
        memory.add("Ann likes tea", user_id="ann", infer=False)
        assert shadow.wait(30)
        line.is_cut = True
        one = memory.add("Ann likes milk", user_id="ann", infer=False)["results"][0]["id"]
        assert len(memory.search("Ann likes milk", filters={"user_id": "ann"})["results"]) == 2
        memory.update(one, text="Ann likes coffee")
        assert not shadow.wait(0.1) and shadow.waiting() == 3
        line.is_cut = False
        writes = noted(shadow, "write")
        assert [(write["op"], write["outcome"]) for write in writes] == [("add", "mirrored")] * 2 + [
            ("change", "mirrored")
        ]
        assert writes[1]["tries"] > 1 and noted(shadow, "read")[0]["here"][0]["text"] == "Ann likes milk"
        assert set(Entry.objects.values_list("content", flat=True)) == {"Ann likes tea", "Ann likes coffee"}

    def test_an_error_of_the_store_is_the_bots_as_it_is_and_nothing_is_mirrored(
        self, mem0: Any, begin: Any, noted: Callable[..., Any], line: Line, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory, error = (shadow := begin()).around(mem0), RuntimeError("full")

        def fail(*args: Any, **kwargs: Any) -> None:
            raise error

        monkeypatch.setattr(mem0.vector_store, "insert", fail)
        with pytest.raises(RuntimeError) as raised:
            memory.add("Ann likes tea", user_id="ann", infer=False)
        assert raised.value is error and not hasattr(memory, "no_such_method")
        (item,) = noted(shadow)
        assert (item["kind"], item["call"], item["error"], line.passed) == ("error", "add", "RuntimeError", [])
        assert "full" not in json.dumps(item)

    def test_a_shadow_that_was_killed_goes_on_and_does_nothing_twice(
        self, mem0: Any, begin: Any, noted: Callable[..., Any], line: Line, tmp_path: Path
    ) -> None:
        memory = (killed := begin(mirror="messages")).around(mem0)
        line.loses_answers = True  # what is left of a process that dies while it waits for an answer
        one = memory.add("I moved to Hangzhou", user_id="ann")["results"][0]["id"]
        memory.delete(one)
        until(lambda: line.passed)
        killed.close()
        assert waiting_in(tmp_path) == 2
        line.loses_answers = False
        shadow = begin(mirror="messages")
        writes = noted(shadow, "write")
        assert [(line["op"], line["outcome"]) for line in writes] == [("add", "mirrored"), ("delete", "mirrored")]
        added = [(request, answer) for request, answer in line.passed if request.url.path.endswith("/add/")]
        assert len(added) > 1 and len({request.headers["Idempotency-Key"] for request, _answer in added}) == 1
        assert added[-1][1].headers["Idempotent-Replayed"] == "true"
        entry = Entry.objects.get()
        assert entry.expired_at is not None

    def test_a_door_that_is_closed_or_a_key_that_ended_is_waited_for(
        self, begin: Any, noted: Callable[..., Any], line: Line, settings: Any
    ) -> None:
        settings.MEMORY_MEM0_API = False
        notes = (shadow := begin()).around(Notes(), NotesAdapter())
        notes.remember("ann", text="The boat is called Wren")
        until(lambda: line.passed)
        assert {answer.status_code for _request, answer in line.passed} == {404} and shadow.waiting() == 1
        BotKey.objects.update(revoked_at=datetime.now(UTC))
        settings.MEMORY_MEM0_API = True
        until(lambda: line.passed[-1][1].status_code == 401)
        BotKey.objects.update(revoked_at=None)
        assert [write["outcome"] for write in noted(shadow)] == ["mirrored"]

    def test_what_the_platform_refuses_is_told_and_holds_nothing_up(
        self, begin: Any, noted: Callable[..., Any]
    ) -> None:
        notes = (shadow := begin()).around(Notes(), NotesAdapter())
        notes.remember("ann", text="x" * 9_000)
        notes.remember("ann", text="The boat is called Wren")
        notes.find("ann", "xxx")
        long, short, read = noted(shadow)
        assert (long["outcome"], short["outcome"]) == ("failed", "mirrored") and long["why"] == "invalid:content"
        assert read["why_missed"] == {"1": f"not_mirrored:{long['why']}"}


@pytest.mark.django_db
def test_what_is_too_much_is_dropped_and_counted_and_never_raised(nowhere: Shadow, tmp_path: Path) -> None:
    notes = nowhere.around(Notes(), NotesAdapter())
    for day in range(10):
        assert notes.remember("ann", f"Day {day}") == day + 1
    assert (nowhere.waiting(), notes.size()) == (3, 10)
    until(lambda: dropped(tmp_path / "shadow").total() >= 8)
    assert dropped(tmp_path / "shadow") == {"too_much_waits": 7, "not_noted:RuntimeError": 1}


def waiting_in(tmp_path: Path) -> int:
    state = State(tmp_path / "shadow")
    waiting = state.waiting()
    state.close()
    return waiting


def dropped(folder: Path) -> Counter[str]:
    times = Counter[str]()
    for line in read_lines(folder):
        if line and line["kind"] == "dropped":
            times[line["why"]] += line["times"]
    return times


def test_one_process_of_a_folder_works_and_another_takes_over(tmp_path: Path) -> None:
    first, second = Lead(tmp_path), Lead(tmp_path)
    assert first.is_ours() and not second.is_ours()
    first.close()
    assert second.is_ours()
    second.close()


def test_a_log_is_its_owners_alone_and_bounded(tmp_path: Path) -> None:
    (tmp_path / "shadow-000001.jsonl").write_text('{"key": "0"}\n{"key": "cut')
    log = Log(tmp_path, file_bytes=200, files=2)
    for number in range(1, 40):
        log.append({"key": str(number), "text": "龙井"})
    log.append({"key": "39"})  # killed between the log and the state: done again
    log.close()
    files = log_files(tmp_path)
    assert len(files) == 2 and all(file.stat().st_size < 260 for file in files)
    assert {oct(file.stat().st_mode)[-3:] for file in files} == {"600"}
    keys = [line["key"] for line in read_lines(tmp_path) if line]
    assert keys[-1] == "39" and keys == sorted(set(keys))

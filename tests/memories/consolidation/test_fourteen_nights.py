"""Two weeks of conversations and nights: whichever extraction is undone, nothing it told of is left (F3, D6, C10)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memories import batches
from memories.choices import BatchState, EntryType
from memories.consolidation import compression, summaries
from memories.models import Batch, DailyEvent, Entry, Workspace
from tests.conftest import NOW, TELEGRAM, Api
from tests.memories.consolidation.buffer.conversations import QUIET, extract, say
from tests.memories.consolidation.extraction.conftest import fact
from tests.memories.consolidation.extraction.conftest import model as model
from tests.memories.llm.fake_server import Asked, FakeModel

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.thorough]

#: What is said on each day, and the word by which it is looked for.
DAYS = (
    ("Mia keeps bees in Amberfield.", "Amberfield"), ("米娅在云顶山庄种了一片茶树。", "云顶山庄"),
    ("Mia sold the boat called Corrigan.", "Corrigan"), ("米娅的新邻居叫欧阳若兰。", "欧阳若兰"),
    ("Mia plays the viola in Dunmore.", "Dunmore"), ("米娅把钥匙放在鹤鸣书店。", "鹤鸣书店"),
    ("Mia is allergic to Eriodictyon.", "Eriodictyon"), ("米娅下个月去乌兰察布。", "乌兰察布"),
    ("Mia studies the poems of Fanshawe.", "Fanshawe"), ("米娅给小狗起名叫琥珀糖。", "琥珀糖"),
    ("Mia lent the ladder to Grimsby.", "Grimsby"), ("米娅在练习南音琵琶。", "南音琵琶"),
    ("Mia paints doors for Hollister.", "Hollister"), ("米娅的老师是司徒望。", "司徒望"),
)  # fmt: skip


def answer(asked: Asked) -> Any:
    """A model that keeps every sentence, makes a fact of every day, merges what it can and writes a long profile."""
    shown = asked.data
    if "messages" in shown:
        data = {message["content"]: message["id"] for message in shown["messages"] if message["content"] != "Noted."}
        facts = [_fact(text, quote={"message": place, "text": text}) for text, place in data.items()]
        return {"facts": [{**fact, "replaces": []} for fact in facts], "summary": " ".join(data)}
    if "days" in shown:
        days = shown["days"]
        return {
            "facts": [_fact(day["said"], quote={"day": day["id"], "text": day["said"]}, topic="days") for day in days]
        }
    if "notes" in shown:
        return {"summary": " ".join(note["said"] for note in shown["notes"])}
    if "profile" in shown:
        lines = [{"ids": [fact["id"]], "content": fact["content"], "category": "identity"} for fact in shown["facts"]]
        return {"keep": [row["id"] for row in shown["profile"]], "write": lines, "drop": []}
    pairs = list(zip(shown["facts"][::2], shown["facts"][1::2], strict=False))
    merged = [{"ids": [a["id"], b["id"]], "content": f"{a['content']} {b['content']}"} for a, b in pairs]
    return {"keep": [], "merge": merged, "drop": []}


def _fact(content: str, *, quote: dict[str, str], **labels: str) -> dict[str, Any]:
    plain = {name: value for name, value in fact(content, **labels).items() if name not in ("on", "replaced")}
    return {**plain, "quote": [quote]}


@pytest.fixture
def nights(api: Api, model: FakeModel, settings: Any, tmp_path: Path) -> Callable[[], list[Batch]]:
    settings.MEMORY_FILES_ROOT = tmp_path
    settings.MEMORY_COMPRESS_LEAST = 2
    model.otherwise = answer

    def lived() -> list[Batch]:
        made = []
        for n, (sentence, _word) in enumerate(DAYS):
            noon = NOW + timedelta(days=n)
            say(api, sentence, "Noted.", at=noon)
            extract(noon + QUIET)
            made.append(Batch.objects.filter(state=BatchState.APPLIED, name="extract").latest("pk"))
            _night(noon + timedelta(hours=16), is_week_over=n % 7 == 6)
        return made

    return lived


def _night(now: datetime, *, is_week_over: bool) -> None:
    workspace = Workspace.objects.get().pk
    compression.compress_days(workspace, clock=lambda: now, run=f"days:{now}")
    summaries.archive_day(workspace, now=now)
    if is_week_over:
        compression.compress_facts(workspace, clock=lambda: now, run=f"week:{now}")


AFTER = NOW + timedelta(days=len(DAYS))


def undone(made: Batch, **how: Any) -> Batch:
    return batches.apply_batch(batches.plan_undo(made, actor="user:ann", now=AFTER, **how), now=AFTER)


def places_of(word: str, api: Api, files: Path) -> list[str]:
    """Where a word stands, beside the conversation in which it was said."""
    facts = Entry.objects.live().exclude(type=EntryType.CHAT_TURN).filter(content__contains=word)
    places = [f"{fact.type} {fact.tier} {fact.source}" for fact in facts]
    places += [f"day {event.source}" for event in DailyEvent.objects.in_use().filter(content__contains=word)]
    notes = (path for path in files.rglob("*.md") if "transcripts" not in path.parts)
    places += [path.name for path in notes if word in path.read_text()]
    data = {"address": TELEGRAM | {"chat": "another"}, "message": f"Do you remember {word}? 还记得{word}吗"}
    recalled = api.post("recall", data, **{"X-Memplatform-Now": AFTER.isoformat()}).json()
    served = [memory for memory in recalled["memories"] if memory["type"] != EntryType.CHAT_TURN]
    days = [event for event in recalled["events"] if event["path"].startswith("daily_events/")]
    listed = api.get("events").json()["results"]
    return places + ["served" for row in (*served, *days, *listed) if word in row["content"]]


def state() -> list[tuple[Any, ...]]:
    live = Entry.objects.live().order_by("pk").values_list("pk", "content")
    return [*live, *DailyEvent.objects.in_use().order_by("pk").values_list("pk", "content")]


def test_whichever_is_undone_nothing_it_told_of_is_left_and_the_rest_is(
    nights: Callable[[], list[Batch]], api: Api, tmp_path: Path
) -> None:
    made = nights()
    assert {"compress-days", "compress", "profile"} <= set(Batch.objects.values_list("name", flat=True))
    for extraction, (_sentence, word) in zip(made, DAYS, strict=True):
        before = state()
        assert places_of(word, api, tmp_path)
        undo = undone(extraction)
        assert places_of(word, api, tmp_path) == []
        left = " ".join(content for _pk, content in state())
        lost = [kept for _sentence, kept in DAYS if kept != word and kept not in left]
        extraction.refresh_from_db()
        assert (lost, extraction.state) == ([], BatchState.UNDONE)
        undone(undo)
        assert state() == before
        extraction.refresh_from_db()

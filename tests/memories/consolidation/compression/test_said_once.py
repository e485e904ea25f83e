"""A day of one conversation is told once after the night, whatever was said (C10)."""

from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest

from memories.choices import Source
from memories.consolidation import summaries
from memories.language import text
from memories.models import DailyEvent, Scope, Workspace
from memories.models.policy import Policies
from memories.recall.answer import notes_of
from tests.conftest import NOW, TELEGRAM, Api
from tests.memories.consolidation.buffer.conversations import QUIET, extract, say

pytestmark = pytest.mark.django_db(transaction=True)
SAID = (
    (("I moved to Hangzhou last week.", "Noted!"),),
    (("我上周搬到了杭州，住在西湖边。", "好的，记住了。"),),
    (("The server is at 10.0.3.7, port 8080; restart it with `make run`...", "OK: done."),),
    (("Dr. Smith said: e.g. 3.5 km is fine, right?! See https://example.com/a.b?c=d", "Yes — he did."),),
    (("1. buy milk\n2. call mum\n- fix the bike", "Added to the list."),),
    (("My cat is called Miso 🐈‍⬛", ""), ("She is 3 years old", "Cute!")),
    (("word " * 300, "That was long."),),
    (("我叫王芳；我的猫叫年糕；我住在Berlin", "你好，王芳！"),),
    (("Bob: hello\nUser: hi\nAssistant: nothing", "Assistant: I see"),),
    (('"Quoted." (brackets) [x]: y', "…"),),
    (("She paid $1,200.50 on 2026-02-27. He didn't", "Understood. Anything else?"),),
    (("长" * 900, "好"),),
    (("The plan: ship on Friday. " * 60, "Fine."),),
)


@pytest.mark.parametrize("turns", SAID, ids=range(len(SAID)))
def test_it_is_told_once(turns: Any, api: Api, settings: Any, tmp_path: Path) -> None:
    settings.MEMORY_FILES_ROOT, settings.TEST_CLOCK = tmp_path, True
    day = NOW - timedelta(days=1)
    for user, assistant in turns:
        say(api, user, assistant, at=day)
    extract(day + QUIET)
    summaries.archive_day(Workspace.objects.get().pk, now=NOW)
    result = DailyEvent.objects.exclude(source=Source.COMPRESSION).values_list("content", flat=True)
    assert DailyEvent.objects.count() == 2 * len(result)
    assert [event["content"] for event in api.get("events").json()["results"]] == list(result)
    scope = Scope.objects.get(kind="user")
    (noted,) = notes_of(scope, Policies([]), now=NOW, zone=UTC)
    assert text.normalise(noted.content) == text.normalise(result[0])
    data = {"address": {**TELEGRAM, "chat": "another"}, "message": "What did we talk about yesterday? 昨天聊了什么"}
    recalled = api.post("recall", data, **{"X-Memplatform-Now": NOW.isoformat()}).json()["events"]
    assert sum(event["path"].startswith("daily_events/") for event in recalled) <= len(result)

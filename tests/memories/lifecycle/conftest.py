"""What the tests of expiry share: memories that were stated long ago, and the job of the night."""

from datetime import timedelta
from typing import Any

from memories import entries
from memories.choices import EntryType, Source
from memories.lifecycle import expiry
from memories.models import Entry, Scope, Workspace
from tests.conftest import NOW, make_draft

SAID = ("the extraction batch came on Tuesday", "我家的猫叫年糕", "a bicycle stands in the hall", "会议改到周四下午")


def remember(scope: Scope, *contents: str, days_ago: float = 40, **kwargs: Any) -> list[Entry]:
    """Chat turns that were stated, and read by a model, so many days before NOW."""
    stated = NOW - timedelta(days=days_ago)
    kwargs = {"type": EntryType.CHAT_TURN, "source": Source.CONVERSATION_CAPTURE} | kwargs
    kwargs["slots"] = {"sender_id": "u42"} | kwargs.get("slots", {})
    drafts = [make_draft(scope, content, at=stated, **kwargs) for content in contents]
    made = [answer.entry for answer in entries.remember_many(drafts, now=stated, actor="test")]
    Entry.objects.filter(pk__in=[entry.pk for entry in made]).update(read_at=stated)
    for entry in made:
        entry.read_at = stated
    return made


def expire(workspace: Workspace, run: str = "expire:1:2026-03-01", **kwargs: Any) -> dict[str, int]:
    return expiry.expire_due(workspace.pk, now=kwargs.pop("now", NOW), run=run, **kwargs)


def live(scope: Scope) -> set[str]:
    return set(Entry.objects.in_scope(scope).live().values_list("content", flat=True))

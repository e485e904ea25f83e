"""What a dry run counts is what the run then does."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from memories import batches, entries
from memories.choices import BatchVerb, BufferState, EntryType, Source
from memories.index import worker
from memories.models import (
    DailyEvent,
    Entry,
    EntryIndex,
    Evidence,
    ExtractionBatch,
    IndexQueueItem,
    JobRun,
    PinnedTest,
    RecallTrace,
    Scope,
    ScopeTerm,
    Workspace,
)
from memplatform.operations.jobs.registry import JOBS
from memplatform.operations.jobs.runs import perform
from sessions_app.models import SessionEvent
from tests.conftest import NOW, TELEGRAM, Api, make_draft, make_scope
from tests.memories.batches.conftest import planned, step
from tests.memories.quoting import fact_of_model

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(days=100)
#: What a run calls what its dry run has counted, where that is another word.
SAME = {"batches": "resumed"}


@pytest.fixture
def furnished_workspace(workspace: Workspace, api: Api, settings: Any) -> Workspace:
    """Something to do for every job; and beside it what none of them is to touch."""
    settings.TEST_CLOCK = True
    turn = {"address": TELEGRAM, "user": "我家的猫叫年糕, and it sleeps all day", "assistant": "Noted."}
    clock = {"X-Memplatform-Now": NOW.isoformat()}
    api.post("turns", turn, **clock)
    api.post("turns", {**turn, "address": {**TELEGRAM, "peer": "u43", "chat": "c8"}}, **clock)
    api.post("recall", {"address": TELEGRAM, "message": "what is my cat called?"}, **clock)
    api.post("recall", {"address": TELEGRAM, "message": "我家的猫叫什么？"}, **clock)
    scope = Scope.objects.get(key="telegram:direct_u42")
    parked, _waiting = ExtractionBatch.objects.order_by("pk")
    ExtractionBatch.objects.filter(pk=parked.pk).update(state=BufferState.PARKED, sealed=True)
    frozen = make_scope(workspace, "telegram:direct_u44")
    for place in (scope, frozen):
        gone = entries.remember(make_draft(place, "gone long ago"), now=NOW, actor="t").entry
        entries.expire(gone, now=NOW - timedelta(days=200), actor="job:expire", suppress=False)
        turns = {"type": EntryType.CHAT_TURN, "source": Source.CONVERSATION_CAPTURE, "slots": {"sender_id": "u42"}}
        entries.remember(make_draft(place, "the extraction batch came on Tuesday", **turns), now=NOW, actor="t")
        debug = {"type": EntryType.FACT, "tier": 2, "source": Source.EXTRACTION, "category": "debug"}
        entries.remember(make_draft(place, "the log said line 7", **debug), now=NOW, actor="t")
    place = {"key": scope.key, "kind": scope.kind, "only_chat": None, "in_group": False}
    PinnedTest.objects.create(
        workspace=workspace,
        message="what is my cat called?",
        scope_keys=[scope.key],
        whom={"said": "", "asker": "", "session": "", "places": [place]},
        must_words=["年糕"],
        created_by="t",
        created_at=NOW,
    )
    message = SessionEvent.objects.filter(session__user_scope=scope, kind="user").earliest("pk")
    fact_of_model(scope, "年糕 sleeps all day", origins=(message.session.origin_of(message),))
    Scope.objects.filter(pk=frozen.pk).update(frozen=True)
    Scope.objects.update(secrets_version=0)
    ScopeTerm.objects.filter(scope=scope).update(entries=99)
    Entry.objects.update(echo=None)
    DailyEvent.objects.create(
        workspace=workspace, scope=scope, local_date=LATER.date() - timedelta(days=1), content="moved", source="tool",
        created_at=NOW, updated_at=NOW,
    )  # fmt: skip
    JobRun.objects.create(job="x", workspace=workspace, local_date=NOW.date(), started_at=NOW, taken_at=NOW)
    begun = planned(scope, [step(BatchVerb.EXPIRE, Entry.objects.filter(scope=scope).live().earliest("pk"))])
    batches.start(begun)
    return workspace


def run(job: str, workspace: Workspace, *, is_dry: bool) -> dict[str, int]:
    made = JobRun.objects.create(
        job=job, workspace=workspace, local_date=LATER.date(), asked=str(is_dry), is_dry=is_dry, started_at=LATER,
        taken_at=LATER,
    )  # fmt: skip
    perform(made, now=LATER)
    made.refresh_from_db()
    counts: dict[str, int] = made.counts
    return counts


def everything() -> dict[str, Any]:
    """Whatever a job may change, as it stands."""
    data = {}
    for model in (
        Entry,
        Evidence,
        ScopeTerm,
        Scope,
        DailyEvent,
        ExtractionBatch,
        SessionEvent,
        RecallTrace,
        IndexQueueItem,
    ):
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT to_jsonb(t)::text FROM {model._meta.db_table} t ORDER BY 1")
            data[model.__name__] = cursor.fetchall()
    return data


#: Of these others tell: what plans instead of counting, asks a model, or needs another life than this.
ELSEWHERE = {
    "index-large-scopes",
    "expire",
    "purge",
    "compress",
    "compress-days",
    "tick",
    "tell-condition",
    "deliver-webhooks",
    "erase",
    "clean-events",
    "replay-journal",
    "forget-keys",
    "clean-replays",
    "clean-messages",
    "unite-people",
    "leak-drill",
    "archive-records",
}


@pytest.mark.thorough
@pytest.mark.parametrize("job", sorted(JOBS.keys() - ELSEWHERE))
def test_it_counts_what_is_done_then(job: str, furnished_workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("memories.tasks", "sessions_app.tasks"):
        monkeypatch.setattr(f"{place}.timezone.now", lambda: LATER)
    worker.drain(now=NOW)
    if job == "repair-index":
        EntryIndex.objects.all().delete()
        listed = Entry.objects.live().earliest("pk")
        IndexQueueItem.objects.create(entry=listed, workspace=furnished_workspace, since=NOW)
    before = everything()
    counted = run(job, furnished_workspace, is_dry=True)
    assert everything() == before
    done = run(job, furnished_workspace, is_dry=False)
    assert any(counted.values())
    for name, count in counted.items():
        assert done.get(SAME.get(name, name), 0) == count, name

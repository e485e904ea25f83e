"""What Alice's workspace holds where every route is tried."""

from typing import Any

from django.utils import timezone

from channels_app.models import Channel
from memories import entries
from memories.models import Batch, BatchChange, RecallTrace, Webhook, WebhookDelivery, Workspace
from sessions_app.models import Session, SessionEvent
from tests.conftest import NOW, make_draft, make_scope
from tests.memories.api.routes import CONTENT, SCOPE


def fill(workspace: Workspace) -> dict[str, Any]:
    """An entry, a recall that served it, a batch, a session in which it was said."""
    scope = make_scope(workspace, SCOPE)
    entry = entries.remember(make_draft(scope, CONTENT), now=NOW, actor="test").entry
    trace = RecallTrace.objects.create(
        workspace=workspace, scopes=[scope.pk], served=[entry.pk], message="my cat?", created_at=timezone.now()
    )
    batch = Batch.objects.create(
        workspace=workspace, scope=scope, name="expire", run="r1", actor="job:expire", created_at=NOW
    )
    BatchChange.objects.create(workspace=workspace, batch=batch, position=1, verb="expire", entry=entry)
    session = Session.objects.create(
        workspace=workspace, key="tg-1", platform="tg", user_scope=scope, next_position=2, started_at=NOW, last_at=NOW
    )
    event = SessionEvent.objects.create(
        workspace=workspace, session=session, conversation=1, position=1, kind="user", content=CONTENT, at=NOW
    )
    for account in ("", "telegram"):  # as one word stands for every part of an address
        Channel.objects.create(workspace=workspace, platform="telegram", account=account)
    webhook = Webhook.objects.create(
        workspace=workspace, url="https://a.example/hooks", events=["job.failed"], created_at=NOW
    )
    delivery = WebhookDelivery.objects.create(
        workspace=workspace, webhook=webhook, event="test", state="failed", at=NOW, queued_at=NOW
    )
    return {
        "channels": "telegram",
        "entries": entry.uid,
        "recalls": trace.uid,
        "batches": batch.uid,
        "sessions": session.key,
    } | {
        "session_events": session.uid,
        "event": event.pk,
        "webhooks": webhook.uid,
        "delivery": delivery.uid,
    }

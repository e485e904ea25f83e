"""The outbox: triggers that note what webhooks are to be told of, in the transaction in which it happens.

So a delivery is there exactly if the change is, whoever made it, and no door has to think of it. A delivery points to
its row and holds none of its words.
"""

from typing import Any

import pgtrigger
from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class WebhookEvent(TextChoices):
    """What a webhook can be told of."""

    CREATED = "memory.created", _("A memory was created")
    UPDATED = "memory.updated", _("A memory was changed")
    EXPIRED = "memory.expired", _("A memory expired, or was forgotten")
    REVIEW_DUE = "review.due", _("A memory is due for review")
    BATCH_HELD = "batch.held", _("A batch waits for a person")
    JOB_FAILED = "job.failed", _("A job failed")
    DEGRADED = "degraded", _("A part of the platform is missing or late, or is back")
    TEST = "test", _("Test")


_INTO = """
INSERT INTO memories_webhookdelivery
    (uid, workspace_id, webhook_id, event, row_id, version, actor, details, state, attempts, error, at, queued_at)
"""
#: Of what is recorded as it happens: history that is brought in from elsewhere is older than its transaction. Asked
#: first whether anybody listens, a write of those who have no webhooks is hardly slower.
_OF_ENTRIES = f"""
IF NOT EXISTS (SELECT FROM memories_webhook WHERE is_enabled) THEN
    RETURN NULL;
END IF;
{_INTO}
SELECT gen_random_uuid(), w.workspace_id, w.id, told.event, c.row_id, c.version, c.actor, '{{}}', 'waiting', 0, '',
    c.at, c.at
FROM new_rows c
JOIN memories_webhook w ON w.workspace_id = c.workspace_id AND w.is_enabled
CROSS JOIN LATERAL (SELECT CASE WHEN c.op = 'I' THEN 'memory.created'
    WHEN c.old -> 'expired_at' = 'null' THEN 'memory.expired' ELSE 'memory.updated' END AS event) told
WHERE c.table_name = 'memories_entry' AND c.op <> 'D' AND c.at >= now() AND told.event = ANY (w.events)
ORDER BY c.id;
RETURN NULL;
"""  # noqa: S608 (constants)
_OF_ROW = f"""
{_INTO}
SELECT gen_random_uuid(), w.workspace_id, w.id, '{{event}}', NEW.id, 0, {{actor}}, '{{{{}}}}', 'waiting', 0, '', moment,
    moment
FROM memories_webhook w, clock_timestamp() moment
WHERE w.workspace_id = NEW.workspace_id AND w.is_enabled AND '{{event}}' = ANY (w.events);
RETURN NULL;
"""  # noqa: S608 (constants)


def tells_of_entries() -> pgtrigger.Trigger:
    """Of the history: every change of an entry, a statement at a time."""
    return pgtrigger.Trigger(
        name="tell_webhooks",
        level=pgtrigger.Statement,
        when=pgtrigger.After,
        operation=pgtrigger.Insert,
        referencing=pgtrigger.Referencing(new="new_rows"),  # type: ignore[no-untyped-call]
        func=_OF_ENTRIES,
    )


def tells_of_row(event: WebhookEvent, *, once: str, actor: str) -> pgtrigger.Trigger:
    """Of a table: that a row has become what the condition `once` says; `actor` is an expression of SQL."""
    condition: Any = pgtrigger.Condition(once)
    return pgtrigger.Trigger(
        name="tell_webhooks",
        when=pgtrigger.After,
        operation=pgtrigger.Update,
        condition=condition,
        func=_OF_ROW.format(event=event.value, actor=actor),
    )

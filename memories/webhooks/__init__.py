"""Webhooks: what happens in a workspace is sent to the addresses it names, signed, again until they have it.

The outbox is filled by the database itself (memories.models.outbox); here it is delivered.
"""

from memories.webhooks.announcements import (
    FailingJob,
    announce_condition,
    announce_failing_jobs,
    announce_leak,
    announce_test,
    send_again,
)
from memories.webhooks.delivery import count_due, deliver_due, has_due, new_secret
from memories.webhooks.subscriptions import begin_anew, change, check_address, check_events, check_room, subscribe

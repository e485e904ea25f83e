"""What a caller may see and write to: every door begins here. Whatever it may not see does not exist for it."""

from collections.abc import Iterable
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import QuerySet

from memories.choices import BatchVerb
from memories.exceptions import BatchNotFound, DeliveryNotFound, EntryNotFound, ScopeNotFound, WebhookNotFound
from memories.models import Batch, DailyEvent, Entry, RecallTrace, Scope, Webhook, WebhookDelivery
from memories.models.buffer import DailyEventQuerySet
from memories.models.webhook import WebhookQuerySet
from memories.tenancy.access import SCOPE_KEY, SUBTYPE, Caller
from memories.tenancy.resolver import kind_of_key

Rows = TypeVar("Rows", bound=QuerySet[Any])


def visible_scopes(caller: Caller) -> QuerySet[Scope]:
    """The scopes of the caller's workspace that it reaches."""
    scopes = Scope.objects.in_workspace(caller.workspace_id)
    if caller.reaches_everything:
        return scopes
    return scopes.filter(pk__in=[pk for pk, key in scopes.values_list("pk", "key") if caller.may_reach(key)])


def scope_for(caller: Caller, scope_key: str) -> Scope:
    """The scope with this key. Raises ScopeNotFound, for unknown and out of reach alike."""
    is_reached = caller.may_reach(scope_key) and scope_key != SCOPE_KEY
    reachable = Scope.objects.in_workspace(caller.workspace_id) if is_reached else Scope.objects.none()
    scope = reachable.filter(key=scope_key).first()
    if scope is None:
        raise ScopeNotFound
    return scope


def scope_to_write(caller: Caller, scope_key: str) -> Scope:
    """The scope with this key, created if the resolver could have made the key. Raises ScopeNotFound."""
    kind = kind_of_key(scope_key)
    if kind is None or not caller.may_reach(scope_key):
        return scope_for(caller, scope_key)
    return Scope.objects.begin(caller.workspace_id, scope_key, kind)


def reached_chats(caller: Caller, chats: Iterable[str]) -> list[str]:
    """The chats a memory came from, as far as the caller reaches their scopes."""
    return [chat for chat in chats if caller.may_reach(chat)]


def visible_entries(caller: Caller, scope_key: str | None = None) -> QuerySet[Entry]:
    """The entries of one scope, or of every scope the caller reaches, without what is in quarantine, and canaries.

    Raises ScopeNotFound.
    """
    return _within_reach(Entry.objects.filter(quarantined_at__isnull=True).exclude(subtype=SUBTYPE), caller, scope_key)


def entry_for(caller: Caller, uid: UUID) -> Entry:
    """The entry with this id. Raises EntryNotFound, for unknown, out of reach and in quarantine alike."""
    entry = visible_entries(caller).filter(uid=uid).select_related("scope").first()
    if entry is None or not caller.may_reach(entry.scope.key):
        raise EntryNotFound
    return entry


def visible_daily_events(caller: Caller, scope_key: str | None = None) -> DailyEventQuerySet:
    """The daily events in use of one scope, or of every scope the caller reaches. Raises ScopeNotFound."""
    return _within_reach(DailyEvent.objects.in_use(), caller, scope_key).select_related("scope")


def visible_batches(caller: Caller, scope_key: str | None = None) -> QuerySet[Batch]:
    """The batches of one scope, or of every scope the caller reaches. Raises ScopeNotFound.

    A batch of no scope in particular is visible only to callers that reach every scope; quarantine is people's alone.
    """
    rows = Batch.objects.select_related("scope", "undoes").exclude(name=BatchVerb.QUARANTINE)
    return _within_reach(rows.exclude(undoes__name=BatchVerb.QUARANTINE), caller, scope_key)


def batch_for(caller: Caller, uid: UUID) -> Batch:
    """The batch with this id. Raises BatchNotFound, for unknown and out of reach alike."""
    batch = visible_batches(caller).filter(uid=uid).first()
    if batch is None:
        raise BatchNotFound
    return batch


def visible_webhooks(caller: Caller) -> WebhookQuerySet:
    """The webhooks of the workspace, for callers that reach every scope: what happens in all is sent to each."""
    webhooks = Webhook.objects.filter(workspace_id=caller.workspace_id)
    return webhooks if caller.reaches_everything else webhooks.none()


def webhook_for(caller: Caller, uid: UUID) -> Webhook:
    """The webhook with this id. Raises WebhookNotFound, for unknown and out of reach alike."""
    webhook = visible_webhooks(caller).filter(uid=uid).select_related("workspace").first()
    if webhook is None:
        raise WebhookNotFound
    return webhook


def delivery_for(caller: Caller, uid: UUID) -> WebhookDelivery:
    """The delivery with this id. Raises DeliveryNotFound, for unknown and out of reach alike."""
    deliveries = WebhookDelivery.objects.filter(webhook__in=visible_webhooks(caller), uid=uid)
    delivery = deliveries.filter(workspace_id=caller.workspace_id).select_related("webhook__workspace").first()
    if delivery is None:
        raise DeliveryNotFound
    return delivery


def trace_for(caller: Caller, uid: UUID) -> RecallTrace | None:
    """The trace of a recall of which the caller reaches every scope; None when there is none, or no longer.

    A trace that does not name all of its scopes is visible only to callers that reach every scope.
    """
    trace = RecallTrace.objects.filter(workspace_id=caller.workspace_id, uid=uid).first()
    if trace is None or caller.reaches_everything:
        return trace
    keys = trace.scope_keys or scope_keys_of(trace)
    is_complete = bool(keys) and len(keys) >= len(trace.scopes)
    return trace if is_complete and all(map(caller.may_reach, keys)) else None


def scope_keys_of(trace: RecallTrace) -> list[str]:
    """The keys of the scopes a recall searched, as far as the scopes still exist."""
    scopes = Scope.objects.in_workspace(trace.workspace_id).in_bulk(trace.scopes)
    return [scopes[pk].key for pk in trace.scopes if pk in scopes]


def _within_reach(rows: Rows, caller: Caller, scope_key: str | None) -> Rows:
    rows = rows.filter(workspace_id=caller.workspace_id)
    if scope_key is not None:
        return rows.filter(scope=scope_for(caller, scope_key))
    return rows if caller.reaches_everything else rows.filter(scope__in=visible_scopes(caller))

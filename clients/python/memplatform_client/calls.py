"""Every call, described once for both clients. Made by generate.py from the API's description."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Unpack

from memplatform_client import types
from memplatform_client.call import Call, Lines, Listing, Method, new_key
from memplatform_client.conversations import ConversationCalls


class Calls(ConversationCalls):
    """The calls of the API, by the names of its description."""

    @Listing
    def list_batches(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        scope: str | None = None,
        state: types.BatchState | None = None,
    ) -> Call[types.BatchPage]:
        """Batches, newest first."""
        return Call("GET", "/api/v1/batches", query={"cursor": cursor, "limit": limit, "scope": scope, "state": state})

    @Method
    def make_batch(
        self, *, idempotency_key: str | None = None, **body: Unpack[types.NewBatch]
    ) -> Call[types.BatchWithChanges]:
        """Change many entries of one scope at once, as a batch that can be undone."""
        return Call("POST", "/api/v1/batches", body=body, once=idempotency_key or new_key())

    @Method
    def read_batch(
        self,
        uid: str,
        *,
        cursor: int | None = None,
        limit: int | None = None,
        state: types.ChangeState | None = None,
        verb: types.BatchChangeAnswerVerbEnum | None = None,
    ) -> Call[types.BatchWithChanges]:
        """One batch with its changes, in their order."""
        return Call(
            "GET",
            "/api/v1/batches/{uid}",
            places={"uid": uid},
            query={"cursor": cursor, "limit": limit, "state": state, "verb": verb},
        )

    @Method
    def approve_batch(self, uid: str, *, idempotency_key: str | None = None) -> Call[types.BatchWithChanges]:
        """Apply what a batch plans. 202: Too large to wait for: the worker carries it out."""
        return Call("POST", "/api/v1/batches/{uid}/approve", places={"uid": uid}, once=idempotency_key or new_key())

    @Method
    def change_batch_row(
        self, uid: str, position: int, *, idempotency_key: str | None = None, **body: Unpack[types.PatchedRowChange]
    ) -> Call[types.BatchChangeAnswer]:
        """One row of a plan nobody has decided on."""
        return Call(
            "PATCH",
            "/api/v1/batches/{uid}/changes/{position}",
            places={"uid": uid, "position": position},
            body=body,
            once=idempotency_key or new_key(),
        )

    @Method
    def refuse_batch(self, uid: str, *, idempotency_key: str | None = None) -> Call[types.BatchWithChanges]:
        """Let a proposed batch never be applied."""
        return Call("POST", "/api/v1/batches/{uid}/refuse", places={"uid": uid}, once=idempotency_key or new_key())

    @Method
    def undo_batch(
        self, uid: str, *, idempotency_key: str | None = None, **body: Unpack[types.UndoRequest]
    ) -> Call[types.BatchWithChanges]:
        """Put back the state before a batch. Itself a batch, which can be undone. 202: Too large to wait for:
        the worker carries it out."""
        return Call(
            "POST", "/api/v1/batches/{uid}/undo", places={"uid": uid}, body=body, once=idempotency_key or new_key()
        )

    @Listing
    def list_entries(
        self,
        *,
        cursor: str | None = None,
        due: Literal["over", "soon", "review"] | None = None,
        limit: int | None = None,
        origin: types.OriginEnum | None = None,
        q: str | None = None,
        scope: str | None = None,
        state: types.EntryState | None = None,
        subject: str | None = None,
        trust: types.OriginEnum | None = None,
        type: types.EntryType | None = None,
        slots: Mapping[str, str] = {},
    ) -> Call[types.EntryPage]:
        """Entries, newest first. Slots narrow the list as `slot.<name>=<value>`."""
        return Call(
            "GET",
            "/api/v1/entries",
            query={
                "cursor": cursor,
                "due": due,
                "limit": limit,
                "origin": origin,
                "q": q,
                "scope": scope,
                "state": state,
                "subject": subject,
                "trust": trust,
                "type": type,
            }
            | {f"slot.{name}": value for name, value in slots.items()},
        )

    @Method
    def save_entry(
        self, *, idempotency_key: str | None = None, **body: Unpack[types.NewEntry]
    ) -> Call[types.SavedEntry]:
        """Save a memory on purpose."""
        return Call("POST", "/api/v1/entries", body=body, once=idempotency_key or new_key())

    @Method
    def read_entry(self, uid: str) -> Call[types.EntryWithLineage]:
        """One entry, with what it was made from and what it became."""
        return Call("GET", "/api/v1/entries/{uid}", places={"uid": uid})

    @Method
    def change_entry(
        self,
        uid: str,
        *,
        if_match: int | None = None,
        idempotency_key: str | None = None,
        **body: Unpack[types.PatchedEntryChange],
    ) -> Call[types.EntryAnswer]:
        """Change an entry; what is not sent stays as it is."""
        return Call(
            "PATCH",
            "/api/v1/entries/{uid}",
            places={"uid": uid},
            body=body,
            version=if_match,
            once=idempotency_key or new_key(),
        )

    @Method
    def delete_entry(
        self,
        uid: str,
        *,
        copies: types.CopiesEnum | None = None,
        if_match: int | None = None,
        idempotency_key: str | None = None,
    ) -> Call[types.EntryWithCopies]:
        """Take an entry out of use, with its copies in the other memories its words were written to. It stays
        out until it is restored, and nothing but saving it on purpose writes it again."""
        return Call(
            "DELETE",
            "/api/v1/entries/{uid}",
            places={"uid": uid},
            query={"copies": copies},
            version=if_match,
            once=idempotency_key or new_key(),
        )

    @Listing
    def entry_history(
        self, uid: str, *, cursor: int | None = None, limit: int | None = None
    ) -> Call[types.RevisionPage]:
        """The life of an entry, the last change first."""
        return Call(
            "GET", "/api/v1/entries/{uid}/history", places={"uid": uid}, query={"cursor": cursor, "limit": limit}
        )

    @Method
    def restore_entry(
        self, uid: str, *, if_match: int | None = None, idempotency_key: str | None = None, **body: Unpack[types.Term]
    ) -> Call[types.EntryWithCopies]:
        """Bring an entry back into use."""
        return Call(
            "POST",
            "/api/v1/entries/{uid}/restore",
            places={"uid": uid},
            body=body,
            version=if_match,
            once=idempotency_key or new_key(),
        )

    @Method
    def revert_entry(
        self,
        uid: str,
        *,
        if_match: int | None = None,
        idempotency_key: str | None = None,
        **body: Unpack[types.RevertRequest],
    ) -> Call[types.EntryAnswer]:
        """Give an entry back the words, attributes and slots of an earlier version."""
        return Call(
            "POST",
            "/api/v1/entries/{uid}/revert",
            places={"uid": uid},
            body=body,
            version=if_match,
            once=idempotency_key or new_key(),
        )

    @Listing
    def list_events(
        self,
        *,
        cursor: str | None = None,
        from_: str | None = None,
        limit: int | None = None,
        q: str | None = None,
        scope: str | None = None,
        to: str | None = None,
    ) -> Call[types.DailyEventPage]:
        """What happened on which local day, the latest first."""
        return Call(
            "GET",
            "/api/v1/events",
            query={"cursor": cursor, "from": from_, "limit": limit, "q": q, "scope": scope, "to": to},
        )

    @Lines
    def export(self, *, history: bool | None = None, scope: str | None = None) -> Call[dict[str, Any]]:
        """A scope or the workspace as JSON Lines, of one moment. An export without its last line, `end`, is
        not whole."""
        return Call("GET", "/api/v1/export", query={"history": history, "scope": scope})

    @Method
    def recall(self, **body: Unpack[types.RecallRequest]) -> Call[types.RecallAnswer]:
        """The memories that bear on a message."""
        return Call("POST", "/api/v1/recall", body=body)

    @Method
    def recall_told(self, uid: str) -> Call[types.RecallTraceAnswer]:
        """A past recall: its message, what was served, what was left out and why."""
        return Call("GET", "/api/v1/recalls/{uid}", places={"uid": uid})

    @Method
    def recall_feedback(
        self, uid: str, *, idempotency_key: str | None = None, **body: Unpack[types.Feedback]
    ) -> Call[types.FeedbackAnswer]:
        """A bot reports which of the served memories its answer used; the last report counts."""
        return Call(
            "POST", "/api/v1/recalls/{uid}/feedback", places={"uid": uid}, body=body, once=idempotency_key or new_key()
        )

    @Method
    def compare_paths(
        self,
        *,
        account: str | None = None,
        examples: int | None = None,
        platform: str | None = None,
        since: datetime | str | None = None,
    ) -> Call[types.ComparisonAnswer]:
        """What only the database finds, and what only the files find, of channels under `dual_write`."""
        return Call(
            "GET",
            "/api/v1/recalls/comparison",
            query={"account": account, "examples": examples, "platform": platform, "since": since},
        )

    @Method
    def list_tools(
        self, *, form: types.FormEnum | None = None, language: Literal["en", "zh-hans"] | None = None
    ) -> Call[types.ToolsAnswer]:
        """The tools for a model."""
        return Call("GET", "/api/v1/tools", query={"form": form, "language": language})

    @Method
    def call_tools(
        self, *, idempotency_key: str | None = None, **body: Unpack[types.ToolCallRequest]
    ) -> Call[types.ToolCallsAnswer]:
        """Carry out what a model asks for, and answer what it is to be shown."""
        return Call("POST", "/api/v1/tools/call", body=body, once=idempotency_key or new_key())

    @Method
    def memory_append(
        self, *, idempotency_key: str | None = None, **body: Unpack[types.MemoryAppendRequest]
    ) -> Call[types.SavedLineAnswer]:
        """Add lines to the end of a note."""
        return Call("POST", "/api/v1/tools/memory_append", body=body, once=idempotency_key or new_key())

    @Method
    def memory_get(self, **body: Unpack[types.MemoryGetRequest]) -> Call[types.ExcerptAnswer]:
        """Some lines of what a path leads to, word for word."""
        return Call("POST", "/api/v1/tools/memory_get", body=body)

    @Method
    def memory_list(self, **body: Unpack[types.MemoryListRequest]) -> Call[types.FileListAnswer]:
        """The files that can be read here."""
        return Call("POST", "/api/v1/tools/memory_list", body=body)

    @Method
    def memory_save(
        self, *, idempotency_key: str | None = None, **body: Unpack[types.MemorySaveRequest]
    ) -> Call[types.SavedLineAnswer]:
        """Add a line to today's note, or to the long-term file."""
        return Call("POST", "/api/v1/tools/memory_save", body=body, once=idempotency_key or new_key())

    @Method
    def memory_search(self, **body: Unpack[types.MemorySearchRequest]) -> Call[types.SearchAnswer]:
        """Search notes, memories, days and messages in one ranking."""
        return Call("POST", "/api/v1/tools/memory_search", body=body)

    @Method
    def memory_update(
        self, *, idempotency_key: str | None = None, **body: Unpack[types.MemoryUpdateRequest]
    ) -> Call[types.UpdatedMemoryAnswer]:
        """Correct a line of a note, or a memory that was saved."""
        return Call("POST", "/api/v1/tools/memory_update", body=body, once=idempotency_key or new_key())

    @Listing
    def list_webhooks(
        self, *, cursor: str | None = None, is_enabled: bool | None = None, limit: int | None = None
    ) -> Call[types.WebhookPage]:
        """Webhooks, newest first."""
        return Call("GET", "/api/v1/webhooks", query={"cursor": cursor, "is_enabled": is_enabled, "limit": limit})

    @Method
    def subscribe_webhook(
        self, *, idempotency_key: str | None = None, **body: Unpack[types.NewWebhook]
    ) -> Call[types.WebhookWithSecret]:
        """Have what happens in the workspace sent to an address. The answer has the secret, once."""
        return Call("POST", "/api/v1/webhooks", body=body, once=idempotency_key or new_key())

    @Method
    def read_webhook(self, uid: str) -> Call[types.WebhookAnswer]:
        """One webhook."""
        return Call("GET", "/api/v1/webhooks/{uid}", places={"uid": uid})

    @Method
    def change_webhook(
        self, uid: str, *, idempotency_key: str | None = None, **body: Unpack[types.PatchedWebhookChange]
    ) -> Call[types.WebhookAnswer]:
        """Change a webhook; what is not sent stays as it is. Another address is tried at once."""
        return Call(
            "PATCH", "/api/v1/webhooks/{uid}", places={"uid": uid}, body=body, once=idempotency_key or new_key()
        )

    @Method
    def delete_webhook(self, uid: str, *, idempotency_key: str | None = None) -> Call[types.WebhookAnswer]:
        """Switch a webhook off for good or for a time: no machine removes it, so that what was sent to it
        stays listed, and `PATCH` with `is_enabled` brings it back."""
        return Call("DELETE", "/api/v1/webhooks/{uid}", places={"uid": uid}, once=idempotency_key or new_key())

    @Listing
    def list_deliveries(
        self,
        uid: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        state: types.DeliveryAnswerStateEnum | None = None,
    ) -> Call[types.DeliveryPage]:
        """What was sent to a webhook, what waits and why, newest first."""
        return Call(
            "GET",
            "/api/v1/webhooks/{uid}/deliveries",
            places={"uid": uid},
            query={"cursor": cursor, "limit": limit, "state": state},
        )

    @Method
    def send_all_again(self, uid: str, *, idempotency_key: str | None = None) -> Call[types.SentAgain]:
        """Send every delivery of a webhook that failed once more, under the ids they have."""
        return Call(
            "POST",
            "/api/v1/webhooks/{uid}/deliveries/send-again",
            places={"uid": uid},
            once=idempotency_key or new_key(),
        )

    @Method
    def renew_webhook_secret(self, uid: str, *, idempotency_key: str | None = None) -> Call[types.WebhookWithSecret]:
        """Make another secret: the former one signs nothing any more. The answer has it, once."""
        return Call(
            "POST", "/api/v1/webhooks/{uid}/renew-secret", places={"uid": uid}, once=idempotency_key or new_key()
        )

    @Method
    def test_webhook(self, uid: str, *, idempotency_key: str | None = None) -> Call[types.DeliveryAnswer]:
        """Sign and send an event `test` without any words; its delivery says what became of it."""
        return Call("POST", "/api/v1/webhooks/{uid}/test", places={"uid": uid}, once=idempotency_key or new_key())

    @Method
    def read_delivery(self, delivery: str) -> Call[types.DeliveryAnswer]:
        """One delivery."""
        return Call("GET", "/api/v1/webhooks/deliveries/{delivery}", places={"delivery": delivery})

    @Method
    def send_again(self, delivery: str, *, idempotency_key: str | None = None) -> Call[types.DeliveryAnswer]:
        """Send a delivery once more, under the id it has, with what holds now."""
        return Call(
            "POST",
            "/api/v1/webhooks/deliveries/{delivery}/send-again",
            places={"delivery": delivery},
            once=idempotency_key or new_key(),
        )

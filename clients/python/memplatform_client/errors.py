"""What can go wrong, by the code of the answer: each error has `code`, `attr`, `status` and `request_id`."""

from __future__ import annotations

import httpx

from memplatform_client.types import ErrorItem


class MemplatformError(Exception):
    """Anything that kept a call from its answer."""


class NoAnswer(MemplatformError):
    """The platform was not reached, or gave no answer in time, however often it was asked."""


class ApiError(MemplatformError):
    """The platform answered with an error; `errors` has all of them, the rest is of the first."""

    def __init__(self, response: httpx.Response, errors: list[ErrorItem]) -> None:
        self.status = response.status_code
        self.request_id = response.headers.get("X-Request-ID")
        self.errors = errors
        self.code, self.attr = errors[0]["code"], errors[0]["attr"]
        details = "; ".join(f"{one['attr']}: {one['detail']}" if one["attr"] else one["detail"] for one in errors)
        call = f"{response.request.method} {response.request.url.path}"
        super().__init__(f"{call} answered {self.status} {self.code}: {details} (request {self.request_id})")


class Invalid(ApiError):
    """A field is wrong, missing or unknown; `attr` names it."""


class NotAuthenticated(ApiError):
    """No key, or one that is unknown, expired or revoked."""


class NotAllowed(ApiError):
    """The key lacks the permission."""


class NotFound(ApiError):
    """No such thing, or it is not this key's: the two look the same."""


class TooLarge(ApiError):
    """The body is larger than 1 MB."""


class Throttled(ApiError):
    """More calls in this minute than the key has."""


class Conflict(ApiError):
    """It cannot be done as things are."""


class SessionBusy(Conflict):
    """Others are writing to this session."""


class ConversationEnded(Conflict):
    """The conversation that was told of has ended."""


class HistoryDiffers(Conflict):
    """The history differs from what was said; `attr` names the first message that does."""


class ScopeFrozen(Conflict):
    """This scope can be read, but nothing new is written to it."""


class BatchSettled(Conflict):
    """This batch was applied, refused or taken back already."""


class NothingToUndo(Conflict):
    """Nothing of this batch is left to take back."""


class HistoryArchived(Conflict):
    """The history this needs was moved to the archive."""


class BatchBusy(Conflict):
    """This batch is being applied or taken back at this moment."""


class FileBusy(Conflict):
    """Others are writing to this file."""


class FileUnreadable(Conflict):
    """This file cannot be read."""


class LineChanged(Conflict):
    """The file no longer says that."""


class Erased(Conflict):
    """This was erased with a person, and is not stored again."""


class WebhookOff(Conflict):
    """This webhook is off."""


class TooManyWebhooks(Conflict):
    """So many webhooks are on already."""


class IdempotencyKeyTaken(Conflict):
    """This Idempotency-Key was used for another call."""


class VersionConflict(ApiError):
    """It was changed since the version named by `if_match` was read."""


class Unavailable(ApiError):
    """The platform, or what stands before it, cannot answer now."""


class DatabaseUnavailable(Unavailable):
    """The platform's database does not answer."""


#: By the code of an answer, else by its status.
KINDS: dict[str | int, type[ApiError]] = {
    **{400: Invalid, 401: NotAuthenticated, 403: NotAllowed, 404: NotFound, 409: Conflict, 412: VersionConflict},
    **{413: TooLarge, 429: Throttled, 500: Unavailable, 502: Unavailable, 503: Unavailable, 504: Unavailable},
    "session_busy": SessionBusy,
    "conversation_ended": ConversationEnded,
    "history_differs": HistoryDiffers,
    "scope_frozen": ScopeFrozen,
    "batch_settled": BatchSettled,
    "nothing_to_undo": NothingToUndo,
    "batch_busy": BatchBusy,
    "history_archived": HistoryArchived,
    "file_busy": FileBusy,
    "file_unreadable": FileUnreadable,
    "line_changed": LineChanged,
    "erased": Erased,
    "webhook_off": WebhookOff,
    "too_many_webhooks": TooManyWebhooks,
    "idempotency_key_taken": IdempotencyKeyTaken,
    "database_unavailable": DatabaseUnavailable,
}


def error_of(response: httpx.Response) -> ApiError:
    """The error of an answer that is none of success."""
    errors = _errors_of(response)
    kind = KINDS.get(errors[0]["code"]) or KINDS.get(response.status_code, ApiError)
    return kind(response, errors)


def _errors_of(response: httpx.Response) -> list[ErrorItem]:
    """As the platform tells them; of an answer that is not the platform's only the status is known."""
    try:
        errors = response.json()["errors"]
        items: list[ErrorItem] = [{"code": one["code"], "detail": one["detail"], "attr": one["attr"]} for one in errors]
    except (ValueError, LookupError, TypeError):
        items = []
    return items or [{"code": "unreadable", "detail": response.reason_phrase, "attr": None}]

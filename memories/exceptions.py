"""The errors of the platform; the docstring of each is the message people and clients read."""

from django.utils.translation import gettext as _

_SHOWN = 300  # characters of a text that is quoted in a message


class PlatformError(Exception):
    """Something went wrong."""

    #: The request field the error is about; None when it is about no single field.
    field: str | None = None
    #: The word a client can act on.
    code: str = "invalid"
    #: Seconds after which trying again may help.
    retry_after: int | None = None

    def __init__(self, message: str = "", *, field: str | None = None) -> None:
        super().__init__(message or _(str(type(self).__doc__).splitlines()[0]))
        if field is not None:
            self.field = field


class InvalidDraft(PlatformError):
    """This cannot be stored as a memory."""


class ContentErased(PlatformError):
    """These words belong to a person who was erased, and are not stored again."""

    field = "content"
    code = "erased"


class InvalidAddress(PlatformError):
    """This address does not say whose memory it is."""

    field = "address"


class ScopeNotFound(PlatformError):
    """No such scope."""

    field = "scope"
    code = "not_found"


class ChannelNotFound(PlatformError):
    """No such channel."""

    code = "not_found"


class MessageNotFound(PlatformError):
    """No such message waits for an answer."""

    code = "not_found"


class ScopeFrozen(PlatformError):
    """This scope is frozen: it can be read, but nothing new is written to it."""

    field = "scope"
    code = "scope_frozen"


class EntryNotFound(PlatformError):
    """No such entry."""

    code = "not_found"


class VersionConflict(PlatformError):
    """The entry was changed since you read it."""

    code = "version_conflict"


class VersionNotFound(PlatformError):
    """The history of this entry has no such version."""

    field = "version"


class InvalidMoment(PlatformError):
    """Memory can be asked as of moments since the workspace was made, and not of the future."""

    field = "as_of"


class NotServed(PlatformError):
    """This recall did not serve that entry."""

    field = "used"


class BatchNotFound(PlatformError):
    """No such batch."""

    code = "not_found"


class WebhookNotFound(PlatformError):
    """No such webhook."""

    code = "not_found"


class DeliveryNotFound(PlatformError):
    """No such delivery."""

    code = "not_found"


class WebhookOff(PlatformError):
    """This webhook is off: nothing is sent until it is on again."""

    code = "webhook_off"


class TooManyWebhooks(PlatformError):
    """So many webhooks are on already: switch one off."""

    code = "too_many_webhooks"


class EventsDoNotFit(PlatformError):
    """A body as mem0 sends it is about a memory: only memory.created, memory.updated and memory.expired."""

    field = "events"


class BatchSettled(PlatformError):
    """This batch is past that: it was applied, refused or taken back already."""

    code = "batch_settled"


class NothingToUndo(PlatformError):
    """Nothing of this batch is left to take back."""

    code = "nothing_to_undo"


class BatchBusy(PlatformError):
    """This batch is being applied or taken back at this moment."""

    code = "batch_busy"


class FolderRefused(PlatformError):
    """This folder cannot be imported."""

    field = "folder"
    code = "folder_refused"


class EmbedderFailed(PlatformError):
    """The embedder gave no usable answer."""


class SessionNotFound(PlatformError):
    """No such session."""

    code = "not_found"


class SessionAmbiguous(PlatformError):
    """Several sessions have this key: name platform and account, or the session's id."""

    field = "key"
    code = "ambiguous"


class SessionBusy(PlatformError):
    """Others are writing to this session; try again shortly."""

    code = "session_busy"
    retry_after = 1


class HistoryDiffers(PlatformError):
    """The history differs from what was said."""

    field = "history"
    code = "history_differs"


class ModelOff(PlatformError):
    """No model is configured for the machine's own work."""

    code = "model_off"


class ModelFailed(PlatformError):
    """The model gave no answer."""

    code = "model_failed"


class BudgetSpent(PlatformError):
    """The model's budget of this day is spent."""

    code = "budget_spent"


class AnswerInvalid(PlatformError):
    """The model's answer cannot be used."""

    code = "answer_invalid"


class PathNotAllowed(PlatformError):
    """This path leads to no file of this scope."""

    field = "path"
    code = "path_not_allowed"


class FileUnreadable(PlatformError):
    """This file cannot be read."""

    field = "path"
    code = "file_unreadable"


class FileUnwritable(PlatformError):
    """This file cannot be written at this moment."""

    code = "file_unwritable"
    retry_after = 5


class FileBusy(PlatformError):
    """Others are writing to this file; try again shortly."""

    code = "file_busy"
    retry_after = 1


class LineChanged(PlatformError):
    """The file was changed meanwhile: it no longer says that."""

    code = "line_changed"

    def __init__(self, *, text: str, found: str) -> None:
        """With both texts: the one somebody meant to change, and what the file says in its place; empty: nothing."""
        self.text, self.found = text, found
        was = _("The file was changed meanwhile: it no longer says that.")
        super().__init__(f"{was} «{_short(text)}» → «{_short(found)}»")


def _short(text: str) -> str:
    """The beginning of a text, for a message."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

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

    def __init_subclass__(cls, **attributes: str | int) -> None:
        """A kind of error names its own `field`, `code` and `retry_after` with its class."""
        super().__init_subclass__()
        for name, value in attributes.items():
            setattr(cls, name, value)

    def __init__(self, message: str = "", *, field: str | None = None) -> None:
        super().__init__(message or _(str(type(self).__doc__).splitlines()[0]))
        if field is not None:
            self.field = field


class InvalidDraft(PlatformError):
    """This cannot be stored as a memory."""


class ContentErased(PlatformError, field="content", code="erased"):
    """These words belong to a person who was erased, and are not stored again."""


class InvalidAddress(PlatformError, field="address"):
    """This address does not say whose memory it is."""


class ScopeNotFound(PlatformError, field="scope", code="not_found"):
    """No such scope."""


class ChannelNotFound(PlatformError, code="not_found"):
    """No such channel."""


class MessageNotFound(PlatformError, code="not_found"):
    """No such message waits for an answer."""


class ConnectionNotFound(PlatformError, field="account", code="no_connection"):
    """No connection of this account is answered by a bot that asks for messages."""


class ScopeFrozen(PlatformError, field="scope", code="scope_frozen"):
    """This scope is frozen: it can be read, but nothing new is written to it."""


class EntryNotFound(PlatformError, code="not_found"):
    """No such entry."""


class VersionConflict(PlatformError, code="version_conflict"):
    """The entry was changed since you read it."""


class VersionNotFound(PlatformError, field="version"):
    """The history of this entry has no such version."""


class InvalidMoment(PlatformError, field="as_of"):
    """Memory can be asked as of moments since the workspace was made, and not of the future."""


class NotServed(PlatformError, field="used"):
    """This recall did not serve that entry."""


class BatchNotFound(PlatformError, code="not_found"):
    """No such batch."""


class WebhookNotFound(PlatformError, code="not_found"):
    """No such webhook."""


class DeliveryNotFound(PlatformError, code="not_found"):
    """No such delivery."""


class WebhookOff(PlatformError, code="webhook_off"):
    """This webhook is off: nothing is sent until it is on again."""


class TooManyWebhooks(PlatformError, code="too_many_webhooks"):
    """So many webhooks are on already: switch one off."""


class EventsDoNotFit(PlatformError, field="events"):
    """A body as mem0 sends it is about a memory: only memory.created, memory.updated and memory.expired."""


class BatchSettled(PlatformError, code="batch_settled"):
    """This batch is past that: it was applied, refused or taken back already."""


class NothingToUndo(PlatformError, code="nothing_to_undo"):
    """Nothing of this batch is left to take back."""


class HistoryArchived(PlatformError, code="history_archived"):
    """The history this needs was moved to the archive; an operator can bring it back."""


class BatchBusy(PlatformError, code="batch_busy"):
    """This batch is being applied or taken back at this moment."""


class FolderRefused(PlatformError, field="folder", code="folder_refused"):
    """This folder cannot be imported."""


class EmbedderFailed(PlatformError):
    """The embedder gave no usable answer."""


class SessionNotFound(PlatformError, code="not_found"):
    """No such session."""


class SessionAmbiguous(PlatformError, field="key", code="ambiguous"):
    """Several sessions have this key: name platform and account, or the session's id."""


class SessionBusy(PlatformError, code="session_busy", retry_after=1):
    """Others are writing to this session; try again shortly."""


class ConversationEnded(PlatformError, code="conversation_ended"):
    """This conversation has ended: what is told of it goes into no other one."""


class HistoryDiffers(PlatformError, field="history", code="history_differs"):
    """The history differs from what was said."""


class ModelOff(PlatformError, code="model_off"):
    """No model is configured for the machine's own work."""


class ModelFailed(PlatformError, code="model_failed"):
    """The model gave no answer."""


class BudgetSpent(PlatformError, code="budget_spent"):
    """The model's budget of this day or month is spent."""


class AnswerInvalid(PlatformError, code="answer_invalid"):
    """The model's answer cannot be used."""


class PathNotAllowed(PlatformError, field="path", code="path_not_allowed"):
    """This path leads to no file of this scope."""


class FileUnreadable(PlatformError, field="path", code="file_unreadable"):
    """This file cannot be read."""


class FileUnwritable(PlatformError, code="file_unwritable", retry_after=5):
    """This file cannot be written at this moment."""


class FileBusy(PlatformError, code="file_busy", retry_after=1):
    """Others are writing to this file; try again shortly."""


class LineChanged(PlatformError, code="line_changed"):
    """The file was changed meanwhile: it no longer says that."""

    def __init__(self, *, text: str, found: str) -> None:
        """With both texts: the one somebody meant to change, and what the file says in its place; empty: nothing."""
        self.text, self.found = text, found
        was = _("The file was changed meanwhile: it no longer says that.")
        super().__init__(f"{was} «{_short(text)}» → «{_short(found)}»")


def _short(text: str) -> str:
    """The beginning of a text, for a message."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

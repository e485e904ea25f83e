"""Closed vocabularies of conversations."""

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class EventKind(TextChoices):
    """The role of a message in a session."""

    USER = "user", _("User")
    ASSISTANT = "assistant", _("Assistant")
    TOOL = "tool", _("Tool")
    SUMMARY = "summary", _("Summary")
    AMBIENT = "ambient", _("Ambient")


#: Messages of a conversation itself: a summary covers some of them, and ambient talk is no part of it (B5).
SPOKEN = (EventKind.USER, EventKind.ASSISTANT, EventKind.TOOL)
#: Messages that are searched by words and meaning (C6).
SEARCHED = (EventKind.USER, EventKind.ASSISTANT, EventKind.SUMMARY)
#: Messages a bot may append.
REPORTED = (*SPOKEN, EventKind.AMBIENT)

"""Closed vocabularies of conversations."""

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class EventKind(TextChoices):
    """Who or what a message of a session comes from."""

    USER = "user", _("User")
    ASSISTANT = "assistant", _("Assistant")
    TOOL = "tool", _("Tool")
    SUMMARY = "summary", _("Summary")
    AMBIENT = "ambient", _("Ambient")


#: What is said in a conversation; a summary stands for some of it, and ambient talk is no part of it (B5).
SPOKEN = (EventKind.USER, EventKind.ASSISTANT, EventKind.TOOL)
#: What is searched by its words and by its meaning (C6).
SEARCHED = (EventKind.USER, EventKind.ASSISTANT, EventKind.SUMMARY)
#: What a bot may report.
REPORTED = (*SPOKEN, EventKind.AMBIENT)

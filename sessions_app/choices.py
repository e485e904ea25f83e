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

"""The Django app of sessions and their events."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SessionsConfig(AppConfig):
    name = "sessions_app"
    verbose_name = _("Sessions")

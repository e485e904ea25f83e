"""The Django app of channels, people and turns."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ChannelsConfig(AppConfig):
    name = "channels_app"
    verbose_name = _("Channels")

"""The Django app of what operators alone look at."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OperationsConfig(AppConfig):
    name = "memplatform.operations"
    verbose_name = _("Machine room")

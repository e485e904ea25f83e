"""The Django app of memories."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

#: Tables that stand with their subject, beside those of memories.models.
TABLES = ("memories.staff.models", "memories.audit.models")


class MemoriesConfig(AppConfig):
    name = "memories"
    verbose_name = _("Memories")

    def import_models(self) -> None:
        """Read every table of the app, wherever it stands."""
        super().import_models()
        for module in TABLES:
            import_module(module)

"""The Django app of memories."""

from importlib import import_module

from django.apps import AppConfig
from django.core.checks import Tags, register
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

    def ready(self) -> None:
        from memories.models.walls import walls_are_declared  # the models it asks are loaded by now

        register(walls_are_declared, Tags.models)

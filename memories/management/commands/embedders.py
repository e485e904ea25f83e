"""The embedding providers, what each is for, and how far a change of the model has come: `manage.py embedders`."""

from typing import Any

from django.core.management.base import BaseCommand

from memories import embeddings
from memories.index import model_change


class Command(BaseCommand):
    help = "Tells which embedding providers there are, and how far a change of the model has come."

    def handle(self, **options: Any) -> None:
        embeddings.main_model()
        changes = embeddings.model_changes()
        old = {embeddings.space_of_model(change.old) for change in changes}
        usable = embeddings.providers()
        for place, provider in enumerate(usable):
            space = embeddings.space_of(provider)
            role = "first" if not place else "fallback" if space == embeddings.space_of(usable[0]) else "not used"
            if space in old:
                role = "until the change is complete"
            self.stdout.write(f"{provider.name}: {space.model}, {space.dimension} dimensions: {role}")
        if not usable:
            self.stdout.write("No provider can be used: recall is by keywords.")
        for change in changes:
            progress = model_change.progress_of(change)
            meanwhile = "recall goes on by" if change.goes_on else "found by their words until then; nobody serves"
            self.stdout.write(
                f"{change.workspace.name}: {progress.embedded} of {progress.entries} memories embedded by"
                f" {change.new}; {meanwhile} {change.old}"
            )
        if usable and not changes:
            self.stdout.write("Every workspace is searched by the first one's model.")

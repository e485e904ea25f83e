"""What the batches of jobs are called, in the reader's words; in English as the job calls itself."""

from django.utils.translation import pgettext_lazy

from memories.choices import BatchVerb
from memories.models import Batch

_NAMES = {
    "extract": pgettext_lazy("batch", "extract"),
    "compress": pgettext_lazy("batch", "compress"),
    "compress-doubts": pgettext_lazy("batch", "compress-doubts"),
    "compress-days": pgettext_lazy("batch", "compress-days"),
    "profile": pgettext_lazy("batch", "profile"),
    "profile-doubts": pgettext_lazy("batch", "profile-doubts"),
    "faded": pgettext_lazy("batch", "faded"),
    "capacity": pgettext_lazy("batch", "capacity"),
    "capacity-rest": pgettext_lazy("batch", "capacity-rest"),
}


def name_of(batch: Batch) -> str:
    """The job or action a batch is of."""
    if batch.name in BatchVerb.values:
        return str(BatchVerb(batch.name).label)
    return str(_NAMES.get(batch.name, batch.name))

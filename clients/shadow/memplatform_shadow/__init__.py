"""A week beside the memory a bot has: writes are mirrored, answers compared, and a report says what each found.

    shadow = Shadow(os.environ["MEMORY_KEY"], os.environ["MEMORY_URL"])
    memory = shadow.around(Memory())  # all else of the bot stays as it is

Then `python -m memplatform_shadow report shadow`. For a store that is not mem0, pass an adapter: an object with
a method for each method of the store that writes or reads, of the same name, which is given the `Answered` call and
returns what it was: `Added`, `Changed`, `Deleted`, `DeletedAll`, `Asked`, `Seen`, several of them, or None.
"""

from memplatform_shadow.events import (
    Added,
    Answered,
    Asked,
    Changed,
    Deleted,
    DeletedAll,
    Event,
    Fact,
    Hit,
    Seen,
)
from memplatform_shadow.mem0 import Mem0
from memplatform_shadow.shadow import Shadow

__all__ = ["Added", "Answered", "Asked", "Changed", "Deleted", "DeletedAll", "Event", "Fact", "Hit", "Mem0", "Seen"]
__all__ += ["Shadow"]

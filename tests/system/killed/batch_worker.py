"""A process of its own that carries out a batch; it says after which chunk it stands, and waits a little there."""

import sys
import time

import django

django.setup()

from memories import batches
from memories.batches import apply
from memories.models import Batch
from tests.memories.batches.conftest import LATER

if __name__ == "__main__":
    apply.CHUNK = 20
    write_down = apply._save_states

    def slowly(changes):  # type: ignore[no-untyped-def]
        write_down(changes)
        print("in the middle of a transaction", flush=True)
        time.sleep(0.02)

    apply._save_states = slowly
    batches.apply_batch(Batch.objects.get(pk=int(sys.argv[1])), now=LATER)

"""A process of its own that carries out a batch; it says after which chunk it stands, and waits a little there."""

import sys
import time

import django

django.setup()

from memories import batch
from memories.batch import carrying
from memories.models import Batch
from tests.batches.conftest import LATER

if __name__ == "__main__":
    carrying.CHUNK = 20
    write_down = carrying._write_down

    def slowly(changes):  # type: ignore[no-untyped-def]
        write_down(changes)
        print("in the middle of a transaction", flush=True)
        time.sleep(0.02)

    carrying._write_down = slowly
    batch.carry_out(Batch.objects.get(pk=int(sys.argv[1])), now=LATER)

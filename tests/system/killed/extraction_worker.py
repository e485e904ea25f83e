"""A worker of the extraction as a process of its own: it says when it has begun, and may be told to stand still."""

import os
import sys
import time

import django

django.setup()

from django.utils import timezone

from memories.consolidation import extraction
from memories.entries import daily_events

if __name__ == "__main__":
    stand_still_before, ask, write = (sys.argv[1:2] or [""])[0], extraction.ask, daily_events.write_each

    def slow(step: str, call):  # type: ignore[no-untyped-def]
        def called(*args, **kwargs):  # type: ignore[no-untyped-def]
            result = call(*args, **kwargs)
            print(step, flush=True)
            if stand_still_before == step:
                time.sleep(60)
            return result

        return called

    extraction.ask = slow("read", ask)
    daily_events.write_each = slow("written", write)
    print("begun", os.getpid(), flush=True)
    print(extraction.extract_ready(timezone.now), flush=True)

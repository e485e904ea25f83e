"""The job of the night as a process of its own: it says when it has begun, and after every transaction."""

import sys

import django

django.setup()

from memories import expiry  # noqa: E402 (models come after the setup)
from tests.conftest import NOW  # noqa: E402

if __name__ == "__main__":
    print("begun", flush=True)
    told = lambda counts: print("told", counts["entries"], flush=True)  # noqa: E731
    print("done", expiry.expire_due(int(sys.argv[1]), now=NOW, run="expire:1:night", report=told), flush=True)

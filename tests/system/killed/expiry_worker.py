"""The job of the night as a process of its own: it says when it has begun, and after every transaction."""

import sys

import django

django.setup()

from memories.lifecycle import expiry
from tests.conftest import NOW

if __name__ == "__main__":
    print("begun", flush=True)

    def report(counts: dict[str, int]) -> None:
        print("told", counts["entries"], flush=True)

    print("done", expiry.expire_due(int(sys.argv[1]), now=NOW, run="expire:1:night", report=report), flush=True)

"""The compression of a night as a process of its own: it says when it has begun."""

import sys
from datetime import datetime

import django

django.setup()

from memories.consolidation import compression

if __name__ == "__main__":
    print("begun", flush=True)
    now = datetime.fromisoformat(sys.argv[2])
    compression.compress_facts(int(sys.argv[1]), clock=lambda: now, run="compress:1:2026-03-02")

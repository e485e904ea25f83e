"""How quick is it? `python -m benchmarks NAME [options]`; several names, or none for all of `make bench`: each in turn.

How well memories are kept and found is measured by `python -m evals.measurements NAME`, and by `manage.py evaluate`.
"""

import subprocess
import sys

from benchmarks import harness
from benchmarks.harness import APART, BUNDLED, DATABASE, HASHED, PLATFORM, WIDE

MEASUREMENTS = {
    "latency": (PLATFORM, BUNDLED),
    "recall": (PLATFORM, WIDE),
    "embedding": (DATABASE, BUNDLED),
    "turns": (APART, BUNDLED),
    "walls": (DATABASE, HASHED),
    "admin": (DATABASE, HASHED),
    "batches": (DATABASE, HASHED),
    "extraction": (DATABASE, HASHED),
    "context": (DATABASE, HASHED),
    "memory_search": (DATABASE, HASHED),
    "expiry": (DATABASE, HASHED),
    "imports": (DATABASE, HASHED),
    "files": (DATABASE, HASHED),
    "new_files": (DATABASE, HASHED),
    "conversations": (PLATFORM, BUNDLED),
    "proxy": (PLATFORM, BUNDLED),
    "channels": (PLATFORM, BUNDLED),
    "load": (PLATFORM, BUNDLED),
    "starting": (APART, BUNDLED),
}
#: Called by name alone: they take long, or kill parts.
BY_HAND = {
    "transfer": (DATABASE, HASHED),
    "soak": (PLATFORM, BUNDLED),
    "large": (DATABASE, HASHED),
    "spread": (DATABASE, WIDE),
    "database_away": (APART, HASHED),
    "channel_day": (APART, HASHED),
    "first_message": (APART, HASHED),
    "upgrade": (APART, HASHED),
    "ten_jobs": (APART, HASHED),
    "year": (DATABASE, BUNDLED),
}


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 and set(arguments) <= set(MEASUREMENTS):
        names = arguments or MEASUREMENTS
        return max([abs(subprocess.call([sys.executable, "-m", "benchmarks", name])) for name in names])
    return harness.run("benchmarks", MEASUREMENTS | BY_HAND, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

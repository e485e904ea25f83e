#!/usr/bin/env python3
"""`make bench`: every measurement, or those that are named (`make bench ARGS="walls"`)."""

import subprocess
import sys
from pathlib import Path

MEASUREMENTS = (
    *("latency", "walls", "admin", "batches", "extraction", "compression", "context", "expiry", "conversations"),
)


def main(names: list[str]) -> int:
    if unknown := set(names) - set(MEASUREMENTS):
        print(f"There is no {', '.join(sorted(unknown))}; there are {', '.join(MEASUREMENTS)}.", file=sys.stderr)
        return 2
    worst = 0
    for name in names or MEASUREMENTS:
        print(f"== {name}", flush=True)
        worst = max(worst, abs(subprocess.call([sys.executable, str(Path(__file__).with_name(f"{name}.py"))])))
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

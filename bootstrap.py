#!/usr/bin/env python3
"""`python3 bootstrap.py run`: the platform on a machine that has nothing but Python. `make` only calls this.

This file is read by whatever Python there is (3.6 and later); what it starts needs 3.11.
"""

import os
import subprocess
import sys

NEEDED = (3, 11)
CANDIDATES = ["python3.11", "python3.12", "python3.13", "python3.14"]


def main() -> None:
    if sys.version_info[:2] < NEEDED:
        start_again_with(newer_python())
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from memplatform.setup import installation

    sys.exit(installation.main(sys.argv[1:]))


def newer_python() -> str:
    """The first one on the PATH that really runs and is new enough."""
    question = f"import sys; sys.exit(sys.version_info[:2] < {NEEDED!r})"
    for name in CANDIDATES:
        try:
            if subprocess.call([name, "-c", question], stderr=subprocess.DEVNULL) == 0:
                return name
        except OSError:
            continue
    sys.exit(
        "Python {}.{} or newer is needed, and this is {}.{};"
        " install one (from python.org or your system's packages).".format(*NEEDED, *sys.version_info[:2])
    )


def start_again_with(python: str) -> None:
    os.execvp(python, [python, os.path.abspath(__file__), *sys.argv[1:]])  # noqa: S606 - to become it is the point


if __name__ == "__main__":
    main()

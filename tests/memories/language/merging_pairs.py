"""Pairs that differ in a word or two: harmless ones, which are one memory, and those in which a fact changes (A10).

The lines under `…_unseen` were written before the rules were tuned, which never saw them.
"""

from pathlib import Path

_FILE = Path(__file__).with_suffix(".txt")


def pairs(name: str) -> list[tuple[str, str]]:
    """The pairs of a list."""
    results: list[tuple[str, str]] = []
    current = ""
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            current = line[2:]
        elif current == name:
            old, new = line.split(" = ")
            results.append((old, new))
    return results

"""Lines of a profile and something newer: what makes them untrue, and what may be true beside them."""

from pathlib import Path

_FILE = Path(__file__).with_suffix(".txt")


def pairs(name: str) -> list[tuple[str, str]]:
    """The pairs of a list."""
    found: list[tuple[str, str]] = []
    current = ""
    for said in _FILE.read_text(encoding="utf-8").splitlines():
        if said.startswith("# "):
            current = said[2:]
        elif current == name:
            old, newer = said.split(" = ")
            found.append((old, newer))
    return found

"""A statement and one that corrects it in other words, and statements that may be true beside one another."""

from pathlib import Path

_FILE = Path(__file__).with_suffix(".txt")


def pairs(name: str) -> list[tuple[str, str]]:
    """The pairs of a list."""
    pairs_of_list: list[tuple[str, str]] = []
    current = ""
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            current = line[2:]
        elif current == name:
            old, newer = line.split(" = ")
            pairs_of_list.append((old, newer))
    return pairs_of_list

"""Lines of a profile and something newer: what makes them untrue, and what may be true beside them."""

from pathlib import Path

_FILE = Path(__file__).with_suffix(".txt")


def pairs(name: str, file: Path = _FILE) -> list[tuple[str, str]]:
    """The pairs of a list, of this file or of another of its form."""
    pairs_of_list: list[tuple[str, str]] = []
    current = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            current = line[2:]
        elif current == name:
            old, newer = line.split(" = ")
            pairs_of_list.append((old, newer))
    return pairs_of_list

"""`python -m memplatform.postgres up|down|url FOLDER`: the server by hand."""

import sys
from collections.abc import Callable
from pathlib import Path

from memplatform import postgres

_WORDS: dict[str, Callable[[Path], str | None]] = {"up": postgres.up, "down": postgres.down, "url": postgres.url}


def main(arguments: list[str]) -> int:
    if len(arguments) != 2 or arguments[0] not in _WORDS:
        print(__doc__)
        return 2
    try:
        answer = _WORDS[arguments[0]](Path(arguments[1]))
    except postgres.PostgresError as problem:
        print(problem, file=sys.stderr)
        return 1
    if answer:
        print(answer)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

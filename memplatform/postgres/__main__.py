"""The embedded server by hand, one word each:

python -m memplatform.postgres up|down|url FOLDER
python -m memplatform.postgres backup FOLDER TARGET
python -m memplatform.postgres restore FOLDER SOURCE
python -m memplatform.postgres verify SOURCE
"""

import sys
from collections.abc import Callable
from pathlib import Path

from memplatform import postgres

_WORDS: dict[str, tuple[Callable[..., str | None], int]] = {
    "up": (postgres.up, 1),
    "down": (postgres.down, 1),
    "url": (postgres.url, 1),
    "backup": (postgres.backup, 2),
    "restore": (postgres.restore, 2),
    "verify": (postgres.verify, 1),
}


def main(arguments: list[str]) -> int:
    word, *paths = arguments or [""]
    run, count = _WORDS.get(word, (None, 0))
    if run is None or len(paths) != count:
        print(__doc__)
        return 2
    try:
        answer = run(*(Path(path).absolute() for path in paths))
    except postgres.PostgresError as problem:
        print(problem, file=sys.stderr)
        return 1
    if answer:
        print(answer)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

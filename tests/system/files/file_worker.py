"""A process that appends to, or rewrites, one file: `append NAME COUNT`, or `rewrite` until it is killed."""

import os
import sys

from django.conf import settings

from memories.files import disk
from memories.files.layout import scope_folder


def turned(text: str) -> str:
    """The same text with its first line the other way: all x, or all y."""
    first, rest = text.split("\n", 1)
    return first.translate(str.maketrans("xy", "yx")) + "\n" + rest


if __name__ == "__main__":  # no database, and none of what begins with one
    settings.configure(MEMORY_FILES_ROOT=os.environ["MEMORY_FILES_ROOT"], MEMORY_FILE_LOCK_SECONDS=60.0, USE_I18N=False)
    folder = scope_folder("alices", "main")
    path = sys.argv[1]
    print("begun", flush=True)
    if sys.argv[2] == "append":
        name, count = sys.argv[3], int(sys.argv[4])
        for number in range(count):
            disk.append(folder, path, f"- {name} line {number} of 端口 {'z' * (number % 50)}.")
    else:
        while True:
            disk.rewrite(folder, path, turned)
            print("turned", flush=True)

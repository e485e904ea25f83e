"""An erasure as a process of its own: it says each step it enters."""

import sys
from datetime import datetime
from typing import Any

import django

django.setup()

from memplatform.erasure import run

if __name__ == "__main__":
    enter = run._enter

    def telling(erasure: Any, step: str) -> None:
        enter(erasure, step)
        print(step, flush=True)

    run._enter = telling
    print("done", run.work_off(int(sys.argv[1]), now=datetime.fromisoformat(sys.argv[2])), flush=True)

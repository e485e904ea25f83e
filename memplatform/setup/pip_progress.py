"""Progress of pip, printed while somebody waits for it. Standard library only."""

import threading
import time
from pathlib import Path

_EVERY = 5.0  # seconds
_STEPS = ("Collecting ", "Downloading ", "Using cached ", "Building wheel", "Installing collected")


class PipProgress:
    """Prints every few seconds, while inside, what pip does, as its log says."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._began = time.monotonic()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._print, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *exception: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _print(self) -> None:
        while not self._is_over.wait(_EVERY):
            print(f"  {time.monotonic() - self._began:.0f} s: {step(self._log)}", flush=True)


def step(log: Path) -> str:
    """The last step pip wrote to its log, in a few words."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError:
        return "beginning"
    steps = [line.strip() for line in lines if line.lstrip().startswith(_STEPS)]
    if not steps:
        return "beginning"
    verb, _space, rest = steps[-1].partition(" ")
    if verb == "Installing":
        return f"unpacking {len(rest.split(','))} packages"
    name = rest.split()[0] if rest.split() else ""
    return f"{verb.lower()} {name.rsplit('/', 1)[-1]} ({len(steps)} steps done)"

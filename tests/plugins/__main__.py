"""`python -m tests.plugins [NAME]` (`make plugins`): our plugins in the programs they are for, in whole turns.

Each host is installed once, below `.clients/`, with a fake platform and a scripted model; the table is
docs/reference/plugins.md.
"""

import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.plugins.host import Host
    from tests.plugins.turns import Trial

PAGE = "docs/reference/plugins.md"
HEAD = """# Plugins

Our plugins in the programs they are for, as those are installed: whole turns on a fake platform with a scripted model,
against a running memory. Written by `make plugins`, which installs the programs below `.clients/` and runs them; not by
hand.

| program | version | platform | tried | passed | what does not |
|---|---|---|---|---|---|
"""
TRIED = "\nWhat is tried:\n\n"


def main() -> int:
    """Try all of them, or those whose names are given, and write the table."""
    from benchmarks import ground
    from tests import ROOT
    from tests.plugins.copies import copy
    from tests.plugins.hosts import HOSTS
    from tests.plugins.relay import relay
    from tests.plugins.turns import CLAIMS, Trial
    from tests.support.scripted_openai import scripted_model

    if sys.argv[1:] == ["copy"]:
        return copy()
    names = {name.casefold() for name in sys.argv[1:]}
    wanted = [host for host in HOSTS if not names or host.plugin in names]
    lines, wrong = [], 0
    with ExitStack() as held:
        model, data = held.enter_context(scripted_model()), held.enter_context(ground.folder())
        house = held.enter_context(ground.platform(data))
        between = held.enter_context(relay(house.port))
        for host in wanted:
            if missing := next((package.needs for package in host.packages if package.needs), None):
                print(f"{host.name}: left out, {missing} is not installed")
                continue
            for package in host.packages:
                package.install()
            home = held.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            failed = failures(Trial(host, house, between, model, Path(home)))
            lines.append(row(host, failed))
            print(lines[-1], flush=True)
            wrong += len(failed)
    if len(lines) == len(HOSTS):
        tried = "\n".join(f"- {claim}" for claim in CLAIMS)
        table = "\n".join(lines)
        (ROOT / PAGE).write_text(f"{HEAD}{table}\n{TRIED}{tried}\n", encoding="utf-8")
    return int(wrong > 0)


def failures(trial: "Trial") -> dict[str, str]:
    """The claims that do not hold for a host, and why."""
    from tests.plugins.turns import CLAIMS

    failed = {}
    for claim, check in CLAIMS.items():
        try:
            check(trial)
        except (AssertionError, OSError, IndexError, StopIteration) as error:
            failed[claim] = f"{type(error).__name__}: {error}"
            log = trial.logs[-1].read_text(errors="replace")[-int(os.environ.get("LOG_TAIL", "3000")) :]
            print(f"    {claim}: {failed[claim]}\n{log}", flush=True)
            trial.relay.set("passes")
            if isinstance(error, OSError):  # it does not even start
                return dict.fromkeys(CLAIMS, failed[claim])
    return failed


def row(host: "Host", failed: dict[str, str]) -> str:
    """The line of a host in the table."""
    from tests.plugins.turns import CLAIMS

    what = "; ".join(failed)
    return (
        f"| {host.name} | {host.package.version} | {host.platform} | {len(CLAIMS)} | "
        f"{len(CLAIMS) - len(failed)} | {what} |"
    )


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memplatform.settings")
    import django

    django.setup()
    sys.exit(main())

"""`python -m tests.plugins [NAME]` (`make plugins`): our plugins in the programs they are for, in whole turns.

Each host is installed once, below `.clients/`, with a fake platform and a scripted model; the table is
docs/reference/plugins.md.
"""

import os
import sys
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime
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

| program | version | platform | tried on | claims | passed | what does not |
|---|---|---|---|---|---|---|
"""
TRIED = "\nWhat is tried:\n\n"


def main() -> int:
    """Try all of them, or those whose names are given, and write their lines of the table."""
    from benchmarks import ground
    from tests.plugins.copies import copy
    from tests.plugins.hosts import HOSTS
    from tests.plugins.relay import relay
    from tests.plugins.turns import Trial
    from tests.support.scripted_openai import scripted_model

    if sys.argv[1:] == ["copy"]:
        return copy()
    names = {name.casefold() for name in sys.argv[1:]}
    wanted = [host for host in HOSTS if not names or host.plugin in names]
    wrong = 0
    for host in wanted:
        if missing := next((package.needs for package in host.packages if package.needs), None):
            print(f"{host.name}: left out, {missing} is not installed")
            continue
        for package in host.packages:
            package.install()
        with ExitStack() as held:  # a memory of its own: what people of one have forgotten is not learnt at the next
            model, data = held.enter_context(scripted_model()), held.enter_context(ground.folder())
            house = held.enter_context(ground.platform(data))
            between = held.enter_context(relay(house.port))
            home = held.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            failed = failures(Trial(host, house, between, model, Path(home)))
        line = row(host, failed)
        print(line, flush=True)
        write(rows_of_page() | {host.name: line})
        wrong += len(failed)
    return int(wrong > 0)


def rows_of_page() -> dict[str, str]:
    """The lines of the table as it stands, by host: those that are not tried now stay."""
    from tests import ROOT

    lines = (ROOT / PAGE).read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| ")][1:]
    return {line.split(" | ")[0].removeprefix("| "): line for line in rows}


def write(rows: dict[str, str]) -> None:
    """The page, with a line for each host that was ever tried."""
    from tests import ROOT
    from tests.plugins.hosts import HOSTS
    from tests.plugins.turns import CLAIMS, OF_TOOLS

    table = "\n".join(rows[host.name] for host in HOSTS if host.name in rows)
    tried = "\n".join(f"- {claim}" for claim in CLAIMS | OF_TOOLS)
    (ROOT / PAGE).write_text(f"{HEAD}{table}\n{TRIED}{tried}\n", encoding="utf-8")


def failures(trial: "Trial") -> dict[str, str]:
    """The claims that do not hold for a host, and why."""
    from tests.plugins.turns import claims_of

    failed = {}
    for claim, check in claims_of(trial.host).items():
        try:
            check(trial)
        except (AssertionError, OSError, IndexError, StopIteration) as error:
            failed[claim] = f"{type(error).__name__}: {error}"
            log = trial.logs[-1].read_text(errors="replace")[-int(os.environ.get("LOG_TAIL", "3000")) :]
            print(f"    {claim}: {failed[claim]}\n{log}", flush=True)
            trial.relay.set("passes")
            if isinstance(error, OSError):  # it does not even start
                return dict.fromkeys(claims_of(trial.host), failed[claim])
    return failed


def row(host: "Host", failed: dict[str, str]) -> str:
    """The line of a host in the table."""
    from tests.plugins.turns import claims_of

    claims, what = claims_of(host), "; ".join(failed)
    return (
        f"| {host.name} | {host.package.version} | {host.platform} | {datetime.now(UTC):%Y-%m-%d} | {len(claims)} | "
        f"{len(claims) - len(failed)} | {what} |"
    )


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memplatform.settings")
    import django

    django.setup()
    sys.exit(main())

"""`python -m tests.clients` (`make clients`): other people's clients, unmodified, against a platform of their own.

Each is installed once, below `.clients/`, and makes all its calls; the table is docs/reference/clients.md. What goes to
the door of mem0 is recorded below `recorded/`, for the tests to replay.
"""

import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.clients.environments import Client

PAGE = "docs/reference/clients.md"
HEAD = """# Clients that are not ours

Other people's packages, as they are installed, against a running platform: each makes every call it has that means
something here. Written by `make clients`, which installs them below `.clients/` and runs them; not by hand.

The 45 integration tests mem0 has for version 3 of its JavaScript client, their calls and expectations run by hand with
3.3.1, another address, a key that may do everything, and `memoryExportId` where 3.3.1 itself refuses the former name:
42 passed, and an id that is no UUID is answered 400 since, as they expect (run again by its calls alone). Not:
instructions of a project, which are the operator's here (501); feedback on a memory that no search has handed out.

| client | version | calls | pass | what does not |
|---|---|---|---|---|
"""


def main() -> int:
    """Run all of them, or those whose names are given, and write the table."""
    from benchmarks import ground
    from tests import ROOT
    from tests.clients.environments import CLIENTS, OWN_FAULTS
    from tests.clients.recording import Recording, recorded
    from tests.support.scripted_openai import scripted_model

    wanted = [client for client in CLIENTS if not sys.argv[1:] or client.name in sys.argv[1:]]
    lines, wrong = [], 0
    with ExitStack() as held:
        model, data = held.enter_context(scripted_model()), held.enter_context(ground.folder())
        house = held.enter_context(ground.platform(data, MEMORY_PROXY_BASE_URL=model))
        home = held.enter_context(tempfile.TemporaryDirectory())
        key = (house.data / "credentials" / "bot-key").read_text()
        for client in wanted:
            if client.needs:
                print(f"{client.name} {client.version}: left out, {client.needs} is not installed")
                continue
            client.install()
            recording = Recording(key)
            with recorded(f"http://127.0.0.1:{house.port}", recording) as address:
                calls = client.calls(address, key, Path(home))
            if recording.requests:
                recording.write(client.folder.name)
            lines.append(row(client, calls, OWN_FAULTS))
            print(lines[-1], flush=True)
            for name, outcome in calls.items():
                if outcome != "ok":
                    print(f"    {name}: {outcome}")
            wrong += sum(
                outcome != "ok" and (client.label, client.version, name) not in OWN_FAULTS
                for name, outcome in calls.items()
            )
    if len(wanted) == len(lines) == len(CLIENTS):
        (ROOT / PAGE).write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    return int(wrong > 0)


def row(client: "Client", calls: Mapping[str, str], own_faults: Mapping[tuple[str, str, str], str]) -> str:
    """The line of a client in the table."""
    failed = {call: outcome for call, outcome in calls.items() if outcome != "ok"}
    reasons = {
        call: own_faults.get((client.label, client.version, call), text.partition(":")[0])
        for call, text in failed.items()
    }
    why = "; ".join(f"`{call}`: {reason}" for call, reason in reasons.items())
    return f"| {client.label} | {client.version} | {len(calls)} | {len(calls) - len(failed)} | {why} |"


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memplatform.settings")
    import django

    django.setup()
    sys.exit(main())

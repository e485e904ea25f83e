"""mem0's package, unmodified: it tells nobody that it is used, and writes only into a folder of this run."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def quiet_mem0(folder: Path) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("MEM0_TELEMETRY", "False"), ("MEM0_DIR", str(folder)), ("HOME", str(folder))):
            patch.setenv(name, value)
        import mem0
        from mem0.memory import telemetry

        assert telemetry.client_telemetry.posthog is None
        yield mem0

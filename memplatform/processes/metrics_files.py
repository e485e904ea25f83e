"""Reserves disk space for this process's counters.

They are counted in memory that is a file; writing there on a full disk ends the process with SIGBUS, in the middle of
whatever it was answering.
"""

import os
from pathlib import Path

_KINDS = ("counter", "histogram", "summary")
_BYTES = 1 << 18  # a hundred combinations of route, method and status


def reserve(environment: dict[str, str] | os._Environ[str] = os.environ) -> None:
    """Write the files at full size before counting begins; without room this process counts for itself alone."""
    if not (folder := environment.get("PROMETHEUS_MULTIPROC_DIR")):
        return
    files = [Path(folder) / f"{kind}_{os.getpid()}.db" for kind in _KINDS]
    try:
        for file in files:
            file.write_bytes(bytes(_BYTES))
    except OSError:
        for file in files:
            file.unlink(missing_ok=True)
        del environment["PROMETHEUS_MULTIPROC_DIR"]

"""Whether the bundled programs run on this processor. Standard library only: asked before installing."""

import platform
from pathlib import Path

#: What the embedded database's programs were compiled for, by what the machine calls itself.
_NEEDED = {
    "x86_64": ("avx2", "AVX2"),
    "amd64": ("avx2", "AVX2"),
    "aarch64": ("sve", "SVE"),
}


def unsupported_reason(machine: str | None = None, cpuinfo: Path = Path("/proc/cpuinfo")) -> str | None:
    """One sentence when the embedded PostgreSQL cannot run here, else None (also where nobody can tell)."""
    flag, name = _NEEDED.get((machine or platform.machine()).lower(), ("", ""))
    try:
        lines = [line.partition(":") for line in cpuinfo.read_text(errors="replace").splitlines()]
    except OSError:  # macOS has no such file, and its machines are all new enough
        return None
    features = next((words.split() for label, _colon, words in lines if label.strip() in ("flags", "Features")), [])
    if not flag or not features or flag in features:
        return None
    return (
        f"This processor lacks {name}, which the embedded PostgreSQL needs;"
        " start a PostgreSQL 16+ with pgvector of your own and set DATABASE_URL."
    )

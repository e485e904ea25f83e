"""Where the platform that runs from a data folder is asked. No Django here: a thin client starts with it."""

from contextlib import suppress
from pathlib import Path

_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - looked up, not bound
_FILE = "address"


def name_of(host: str) -> str:
    """The name by which this machine calls what listens at `host`."""
    return _ANY.get(host, host)


def base_url(host: str, port: int) -> str:
    """As a browser on this machine would write it."""
    name = name_of(host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def write(data: Path, url: str) -> None:
    """Say where the platform of a data folder is asked; a full disk keeps nobody from starting."""
    with suppress(OSError):
        (data / _FILE).write_text(url)


def remove(data: Path) -> None:
    """Say that no platform runs from a data folder."""
    with suppress(OSError):
        (data / _FILE).unlink(missing_ok=True)


def running(data: Path) -> str | None:
    """Where the platform of a data folder was last said to run; None: nothing says so."""
    try:
        return (data / _FILE).read_text().strip() or None
    except (OSError, UnicodeDecodeError):
        return None

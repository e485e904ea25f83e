"""Where the platform is asked: on this machine, by the public, over MCP, and for access to it.

No Django here: the settings ask it, and a thin client starts with it.
"""

from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - looked up, not bound
_FILE = "address"
#: Whether clients of MCP may ask to be let in (MEMPLATFORM_OAUTH).
AUTO, ON, OFF = "auto", "yes", "no"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


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
    """Where the platform of a data folder last noted that it runs; None: nothing says so."""
    try:
        return (data / _FILE).read_text().strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def issuer(choice: str, public_url: str, host: str, port: int) -> str:
    """The address clients are sent to; empty where OAuth is off.

    Left to itself it is on where nobody can listen in: over HTTPS, or on this machine alone.
    """
    at = public_url or base_url(host, port)
    is_private = urlsplit(at).scheme == "https" or (not public_url and name_of(host) == host and host in LOOPBACK)
    return at if choice == ON or (choice == AUTO and is_private) else ""


def mcp_urls(public_url: str, port: int) -> list[str]:
    """The addresses at which MCP is spoken, the public one first."""
    local = [f"{base_url(name, port)}/mcp" for name in LOOPBACK]
    return [f"{public_url}/mcp", *local] if public_url else local

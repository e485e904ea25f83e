"""The environment variables that must hold a value of a certain form, checked before anything else reads them."""

import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

_SCHEMES = ("postgresql", "postgres", "pgsql")
_SWITCH = {"1", "0", "true", "false", "yes", "no", "on", "off", "y", "n", ""}
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_LANGUAGES = ("en", "zh-hans")
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


#: Embedders that need no dotted path (memories.embeddings), and the endpoints they ask.
_SHORT_NAME = re.compile("bundled|endpoint[2-9]?")
_ENDPOINTS = [f"MEMORY_EMBEDDING{number}" for number in ("", *range(2, 10))]


class Misconfigured(Exception):
    """The message has one whole sentence for each variable that cannot be used."""


def require(environment: Mapping[str, str] = os.environ) -> None:
    """Raise Misconfigured when a variable that is set holds a value the platform cannot use."""
    if found := problems(environment):
        raise Misconfigured("\n".join(found))


def given(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables without those set to nothing, which leave the default, except where nothing is a choice."""
    return {
        name: value
        for name, value in environment.items()
        if value or name not in CHECKS or CHECKS[name] in (_paths, _embedders)
    }


def problems(environment: Mapping[str, str]) -> list[str]:
    """One sentence for each variable that cannot be used; a variable that is unset or empty is left to its default."""
    found = []
    for name, check in CHECKS.items():
        value = environment.get(name, "")
        if value and (wanted := check(value)):
            found.append(f"{name} must be {wanted}{_but(name, value)}.")
    return found


def _but(name: str, value: str) -> str:
    """The value, unless it may hold a password."""
    return "" if name in _SECRET else f", not {value!r}"


def _port(text: str) -> str | None:
    is_port = text.isascii() and text.isdigit() and 0 < int(text[:6]) < 65_536
    return None if is_port else "a port between 1 and 65535"


def _whole(text: str) -> str | None:
    return None if text.isascii() and text.isdigit() and len(text) < 6 else "a whole number of 0 or more"


def _share(text: str) -> str | None:
    try:
        return None if -1 <= float(text) <= 1 else "a number between -1 and 1"
    except ValueError:
        return "a number between -1 and 1"


def _seconds(text: str) -> str | None:
    try:
        return None if 0 < float(text) < 86_400 else "a number of seconds"
    except ValueError:
        return "a number of seconds"


def _switch(text: str) -> str | None:
    return None if text.strip().lower() in _SWITCH else "yes or no"


def _database(text: str) -> str | None:
    wanted = "the address of a PostgreSQL such as postgresql://user:password@host:5432/name"
    try:
        parts = urlsplit(text)
        is_whole = parts.scheme in _SCHEMES and len(parts.path) > 1 and parts.port != 0
    except ValueError:  # a port that is no number, or brackets that do not close
        return wanted
    return None if is_whole else wanted


def _one_of(*allowed: str) -> Callable[[str], str | None]:
    def check(text: str) -> str | None:
        return None if text.lower() in {word.lower() for word in allowed} else f"one of {', '.join(allowed)}"

    return check


def _host(text: str) -> str | None:
    return "a name or an address without a port or a path" if re.search(r"[\s/@]|^\[|^[^:]*:\d*$", text) else None


def _web(text: str) -> str | None:
    wanted = "an address that begins with http:// or https://"
    try:
        parts = urlsplit(text)
        return None if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 else wanted
    except ValueError:
        return wanted


def _public(text: str) -> str | None:
    wanted = "the address people call, such as https://memory.example.org, without a path"
    return wanted if _web(text) or urlsplit(text).path.strip("/") or urlsplit(text).query else None


def _networks(text: str) -> str | None:
    try:
        for part in text.split(","):
            ipaddress.ip_network(part.strip(), strict=False)
    except ValueError:
        return "addresses or networks such as 10.0.0.0/8, with commas"
    return None


def _hours(text: str) -> str | None:
    is_whole = text.isascii() and text.isdigit() and 0 < int(text[:6]) <= 8_760
    return None if is_whole else "a whole number of hours between 1 and 8760"


def _readable(text: str) -> str | None:
    return None if Path(text).is_file() and os.access(text, os.R_OK) else "the path of a file that can be read"


def _embedders(text: str) -> str | None:
    names = [part.strip() for part in text.split(",") if part.strip()]
    is_usable = all(_SHORT_NAME.fullmatch(name) or _DOTTED.fullmatch(name) for name in names)
    return None if is_usable else "any of bundled, endpoint, endpoint2 … or dotted paths of Python, with commas"


def _paths(text: str) -> str | None:
    names = [part.strip() for part in text.split(",") if part.strip()]
    return None if all(_DOTTED.fullmatch(name) for name in names) else "dotted paths of Python, with commas"


def _file_name(text: str) -> str | None:
    return "a path" if "\0" in text else None


#: Each answers None when it can use the value, else what it wants instead.
CHECKS: dict[str, Callable[[str], str | None]] = {
    "MEMPLATFORM_DATA": _file_name,
    "MEMPLATFORM_HOST": _host,
    "MEMPLATFORM_PORT": _port,
    "MEMPLATFORM_PUBLIC_URL": _public,
    "MEMPLATFORM_TRUSTED_PROXIES": _networks,
    "MEMPLATFORM_LOGIN_HOURS": _hours,
    "MEMPLATFORM_REQUEST_SECONDS": _seconds,
    "MEMPLATFORM_STATEMENT_SECONDS": _seconds,
    "MEMPLATFORM_TEST_CLOCK": _switch,
    "DEBUG": _switch,
    "DATABASE_URL": _database,
    "MEMPLATFORM_WEB_DATABASE_URL": _database,
    "MEMPLATFORM_WORKER_DATABASE_URL": _database,
    "MEMPLATFORM_EMBEDDER_DATABASE_URL": _database,
    "LANGUAGE_CODE": _one_of(*_LANGUAGES),
    "LOG_FORMAT": _one_of("plain", "json"),
    "LOG_LEVEL": _one_of(*_LEVELS),
    "MEMORY_EMBEDDERS": _embedders,
    "MEMORY_RETRIEVERS": _paths,
    "MEMORY_EVENT_TELLERS": _paths,
    "MEMORY_EMBEDDER_WORK": _paths,
    **{f"{endpoint}_BASE_URL": _web for endpoint in _ENDPOINTS},
    **{f"{endpoint}_DIMENSION": _whole for endpoint in _ENDPOINTS},
    **{f"{endpoint}_FLOOR": _share for endpoint in _ENDPOINTS},
    "MEMORY_LLM_API_KEY_FILE": _readable,
    "MEMORY_LLM_BASE_URL": _web,
    "MEMORY_LLM_PROXY": _web,
    "MEMORY_RERANK_BASE_URL": _web,
    "MEMORY_RERANK_FORM": _one_of("auto", "jina", "tei"),
    "OMP_NUM_THREADS": _whole,
}
#: Values that may hold a password are not repeated in a message.
_SECRET = {name for name, check in CHECKS.items() if check is _database} | {
    "MEMORY_LLM_PROXY",
    "MEMORY_LLM_BASE_URL",
    "MEMORY_RERANK_BASE_URL",
    *(f"{endpoint}_BASE_URL" for endpoint in _ENDPOINTS),
}

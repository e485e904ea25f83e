"""What is read before all else: where the files of this installation are, and whether variables hold what they must."""

import ipaddress
import os
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

# Where the files of this installation are: beside the packages in a checkout, inside this one in a wheel.

PACKAGE = Path(__file__).resolve().parent
#: What the wheel has at the top; evals is for whoever changes the code, and stays in the checkout.
PACKAGES = ("memplatform", "channels_app", "sessions_app", "memories")
IS_INSTALLED = (PACKAGE / "templates").is_dir()
#: The folder of the checkout; installed, the one that holds the packages.
BASE = PACKAGE.parent
_FILES = PACKAGE if IS_INSTALLED else BASE
TEMPLATES = _FILES / "templates"
LOCALE = _FILES / "locale"
#: How to start a module of ours. Installed, the folder a person is in has no say in what is imported.
PYTHON = (sys.executable, "-P") if IS_INSTALLED else (sys.executable,)
#: Where processes of ours work; None: where their parent does.
WORKING_FOLDER = None if IS_INSTALLED else BASE
#: How a person calls the commands of Django here.
MANAGE = "memplatform manage" if IS_INSTALLED else "manage.py"

#: What runs on a host; MCP only where it is switched on.
PARTS = ("web", "embedder", "worker", "channels", "mcp")

_DOTTED = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+"
_ENDPOINTS = [f"MEMORY_EMBEDDING{number}" for number in ("", *range(2, 10))]


def version() -> str:
    """Of the packages, as their makers number them."""
    if IS_INSTALLED:
        return metadata.version("memplatform")
    return str(tomllib.loads((BASE / "pyproject.toml").read_text())["project"]["version"])


def data_folder() -> Path:
    """The folder of the database, credentials and logs: MEMPLATFORM_DATA, else where this system keeps such things."""
    if folder := os.environ.get("MEMPLATFORM_DATA"):
        return Path(folder).absolute()
    if not IS_INSTALLED:
        return BASE / ".data"
    from platformdirs import user_data_path

    return user_data_path("memplatform", appauthor=False)


class Misconfigured(Exception):
    """The message has one whole sentence for each variable that cannot be used."""


class Form(NamedTuple):
    """A form of values: how a sentence names it, and a test of a value, which may raise ValueError for a wrong one."""

    name: str
    fits: Callable[[str], object]


def require(environment: Mapping[str, str] = os.environ) -> None:
    """Raise Misconfigured when a variable that is set holds a value the platform cannot use."""
    if faults := problems(environment):
        raise Misconfigured("\n".join(faults))


def variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables without those set to nothing, which leave the default, except where nothing is a choice."""
    may_be_empty = {_PATHS, _EMBEDDERS}
    return {name: value for name, value in environment.items() if value or FORMS.get(name, _PATHS) in may_be_empty}


def problems(environment: Mapping[str, str]) -> list[str]:
    """One sentence for each variable that cannot be used; a value that may hold a password is not repeated in it."""
    sentences = []
    for name, form in FORMS.items():
        if not (value := environment.get(name)):
            continue
        try:
            fits = form.fits(value)
        except ValueError:
            fits = False
        if not fits:
            sentences.append(f"{name} must be {form.name}{'' if name in _SECRET else f', not {value!r}'}.")
    return sentences


def _is_whole(text: str, least: int, most: int) -> bool:
    return text.isascii() and text.isdigit() and least <= int(text[:6]) <= most


def _is_database(text: str) -> bool:
    parts = urlsplit(text)
    return parts.scheme in ("postgresql", "postgres", "pgsql") and len(parts.path) > 1 and parts.port != 0


def _is_web_address(text: str) -> bool:
    parts = urlsplit(text)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0


def _is_public_address(text: str) -> bool:
    return _is_web_address(text) and not urlsplit(text).path.strip("/") and not urlsplit(text).query


def _all_match(pattern: str, text: str) -> bool:
    """Whether every name of a list with commas matches."""
    return all(re.fullmatch(pattern, part.strip()) for part in text.split(",") if part.strip())


def _one_of(*allowed: str) -> Form:
    return Form(f"one of {', '.join(allowed)}", lambda text: text.lower() in {word.lower() for word in allowed})


_DATABASE = Form("the address of a PostgreSQL such as postgresql://user:password@host:5432/name", _is_database)
_DATABASES = Form(
    "addresses of PostgreSQL servers such as postgresql://host:5432/name, with commas",
    lambda text: all(_is_database(part.strip()) for part in text.split(",")),
)
_PATHS = Form("dotted paths of Python, with commas", partial(_all_match, _DOTTED))
_EMBEDDERS = Form(  # some need no dotted path: memories.embeddings
    "any of bundled, endpoint, endpoint2 … or dotted paths of Python, with commas",
    partial(_all_match, rf"bundled|endpoint[2-9]?|{_DOTTED}"),
)
_SHARE = Form("a number between -1 and 1", lambda text: -1 <= float(text) <= 1)
_SECONDS = Form("a number of seconds", lambda text: 0 < float(text) < 86_400)
_SWITCH = Form("yes or no", lambda text: re.fullmatch(r"(1|0|true|false|yes|no|on|off|y|n)?", text.strip().lower()))
_PARTS = Form(f"any of {', '.join(PARTS)}, with commas", partial(_all_match, "|".join(PARTS)))
_WEB = Form("an address that begins with http:// or https://", _is_web_address)
_WHOLE = Form("a whole number of 0 or more", lambda text: _is_whole(text, 0, 99_999))

FORMS: dict[str, Form] = {
    "MEMPLATFORM_DATA": Form("a path", lambda text: "\0" not in text),
    "MEMPLATFORM_HOST_NAME": Form(
        "a name of up to 100 letters, digits, dots, dashes and underscores",
        lambda text: re.fullmatch(r"[\w.-]{1,100}", text),
    ),
    "MEMPLATFORM_ONLY": _PARTS,
    "MEMPLATFORM_API_URL": _WEB,
    "MEMPLATFORM_HOST": Form(
        "a name or an address without a port or a path", lambda text: not re.search(r"[\s/@]|^\[|^[^:]*:\d*$", text)
    ),
    "MEMPLATFORM_PORT": Form("a port between 1 and 65535", lambda text: _is_whole(text, 1, 65_535)),
    "MEMPLATFORM_MCP": _SWITCH,
    "MEMPLATFORM_BACKUP_BEFORE_UPGRADE": _SWITCH,
    "MEMPLATFORM_MCP_PORT": Form("a port between 1 and 65535", lambda text: _is_whole(text, 1, 65_535)),
    "MEMPLATFORM_OAUTH": _one_of("auto", "yes", "no"),
    "MEMPLATFORM_PUBLIC_URL": Form(
        "the address people call, such as https://memory.example.org, without a path", _is_public_address
    ),
    "MEMPLATFORM_CORS_ORIGINS": Form(
        "addresses of sites such as https://app.example.org, without a path, with commas",
        lambda text: all(_is_public_address(part.strip()) for part in text.split(",")),
    ),
    "MEMPLATFORM_TRUSTED_PROXIES": Form(
        "addresses or networks such as 10.0.0.0/8, with commas",
        lambda text: [ipaddress.ip_network(part.strip(), strict=False) for part in text.split(",")],
    ),
    "MEMPLATFORM_LOGIN_HOURS": Form(
        "a whole number of hours between 1 and 8760", lambda text: _is_whole(text, 1, 8_760)
    ),
    "MEMPLATFORM_REQUIRE_SECOND_FACTOR": _SWITCH,
    "MEMPLATFORM_REQUEST_SECONDS": _SECONDS,
    "MEMPLATFORM_STATEMENT_SECONDS": _SECONDS,
    "MEMPLATFORM_TEST_CLOCK": _SWITCH,
    "DEBUG": _SWITCH,
    "DATABASE_URL": _DATABASE,
    "DATABASE_DIRECT_URL": _DATABASE,
    "DATABASE_REPLICA_URL": _DATABASES,
    "MEMPLATFORM_WEB_DATABASE_URL": _DATABASE,
    "MEMPLATFORM_WORKER_DATABASE_URL": _DATABASE,
    "MEMPLATFORM_EMBEDDER_DATABASE_URL": _DATABASE,
    "LANGUAGE_CODE": _one_of("en", "zh-hans"),
    "LOG_FORMAT": _one_of("plain", "json"),
    "LOG_LEVEL": _one_of("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
    "MEMORY_EMBEDDERS": _EMBEDDERS,
    "MEMORY_RETRIEVERS": _PATHS,
    "MEMORY_EVENT_TELLERS": _PATHS,
    "MEMORY_SECRET_FINDERS": _PATHS,
    "MEMORY_NAME_FINDERS": _PATHS,
    "MEMORY_EMBEDDER_WORK": _PATHS,
    **{f"{endpoint}_BASE_URL": _WEB for endpoint in _ENDPOINTS},
    **{f"{endpoint}_DIMENSION": _WHOLE for endpoint in _ENDPOINTS},
    **{f"{endpoint}_FLOOR": _SHARE for endpoint in _ENDPOINTS},
    "MEMORY_LLM_API_KEY_FILE": Form(
        "the path of a file that can be read", lambda text: Path(text).is_file() and os.access(text, os.R_OK)
    ),
    "MEMORY_LLM_BASE_URL": _WEB,
    "OTEL_EXPORTER_OTLP_ENDPOINT": _WEB,
    "MEMORY_LLM_PROXY": _WEB,
    "MEMORY_PROXY_BASE_URL": _WEB,
    "MEMORY_RERANK_BASE_URL": _WEB,
    "MEMORY_RERANK_FORM": _one_of("auto", "jina", "tei"),
    "OMP_NUM_THREADS": _WHOLE,
}
#: Variables whose values may hold a password.
_SECRET = {name for name, form in FORMS.items() if form in (_DATABASE, _DATABASES, _WEB)}

"""MCP over standard input and output, as `manage.py mcp_stdio` speaks it: a client of the API, without Django.

A program that starts its servers itself waits for this one, so nothing is imported that it does not need.
"""

import asyncio
import gc
import gettext
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from memplatform import addresses, environment
from memplatform.environment import LOCALE, MANAGE

#: Of the address, as the headers of MCP over HTTP say it.
ADDRESS = ("platform", "account", "sender", "chat", "session", "group")
#: A key has some sixty; whatever else a path leads to, as a device without an end, is not read on.
KEY_FILE_BYTES = 4_096
PORT = 8000
#: What httpx imports where it is installed, for HTTP/2 and for a command line: a fifth of a second, for nothing here.
_UNUSED = ("h2", "pygments", "rich")
_CHINESE = os.environ.get("LANGUAGE_CODE", "").lower() == "zh-hans"
_ = gettext.translation("django", LOCALE, ["zh_Hans"] if _CHINESE else ["en"], fallback=True).gettext


class KeyUnreadable(Exception):
    """The message says what is wrong with the file of the key."""


def main(words: Sequence[str], data: Path) -> None:
    """Serve the program that started it, until it closes."""
    gc.disable()  # while everything is imported
    parser = ArgumentParser(f"{MANAGE} mcp_stdio", description=SUMMARY)
    add_arguments(parser)
    options = parser.parse_args(words)
    try:
        environment.require()
        serve(options, data)
    except (environment.Misconfigured, KeyUnreadable) as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        sys.exit(130)


SUMMARY = _("Serve MCP to the program that started it, over standard input and output.")


def add_arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--key-file", required=True, type=Path, help=_("The file with the bot key."))
    for name in ADDRESS:
        parser.add_argument(f"--{name}", help=_("Of the address its user talks from; left out: platform cli."))
    parser.add_argument("--url", help=_("Of the platform; left out: the one on this machine."))


def serve(options: Namespace, data: Path) -> None:
    """Answer one client from the platform that options name, else the one that runs from the data folder.

    Raises KeyUnreadable.
    """
    headers = {f"X-Memplatform-{name}".title(): quote(value) for name in ADDRESS if (value := getattr(options, name))}
    key = read_key(options.key_file)
    for name in _UNUSED:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type] # so Python marks a module that may not be imported
    from channels_app.doors.mcp import server

    gc.enable()
    asyncio.run(server.serve(options.url or platform_of(data), key, headers))


def platform_of(data: Path) -> str:
    """Where the platform on this machine is asked: by the environment, by its own word, or by default."""
    port = os.environ.get("MEMPLATFORM_PORT")
    running = None if port else addresses.running(data)
    return running or addresses.base_url(os.environ.get("MEMPLATFORM_HOST") or "127.0.0.1", int(port or PORT))


def read_key(file: Path) -> str:
    """The key in a file. Raises KeyUnreadable."""
    try:
        with file.open("rb") as stream:
            content = stream.read(KEY_FILE_BYTES + 1)
        if len(content) > KEY_FILE_BYTES:
            raise KeyUnreadable(_("The key cannot be read: %s") % _("the file is too large to hold a key"))
        return content.decode().strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise KeyUnreadable(_("The key cannot be read: %s") % problem) from problem

"""`manage.py mcp_stdio`: MCP over standard input and output, for a program that starts its servers itself."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from channels_app.doors.mcp import server
from memplatform.processes.web import base_url

#: As the headers of MCP over HTTP say it.
ADDRESS = ("platform", "account", "sender", "chat", "session", "group")

#: A key has some sixty; whatever else a path leads to, as a device without an end, is not read on.
KEY_FILE_BYTES = 4_096


class Command(BaseCommand):
    help = _("Serve MCP to the program that started it, over standard input and output.")
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--key-file", required=True, type=Path, help=_("The file with the bot key."))
        for name in ADDRESS:
            parser.add_argument(f"--{name}", help=_("Of the address its user talks from; left out: platform cli."))
        parser.add_argument("--url", help=_("Of the platform; left out: the one on this machine."))

    def handle(self, *args: Any, key_file: Path, url: str | None, **options: Any) -> None:
        try:
            with key_file.open("rb") as opened:
                content = opened.read(KEY_FILE_BYTES + 1)
            key = content.decode().strip()
        except (OSError, UnicodeDecodeError) as problem:
            raise CommandError(_("The key cannot be read: %s") % problem) from problem
        if len(content) > KEY_FILE_BYTES:
            raise CommandError(_("The key cannot be read: %s") % _("the file is too large to hold a key"))
        headers = {f"X-Memplatform-{name}".title(): quote(options[name]) for name in ADDRESS if options[name]}
        asyncio.run(server.serve(url or base_url(settings.HOST, settings.PORT), key, headers))

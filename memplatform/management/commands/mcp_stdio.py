"""`manage.py mcp_stdio`: MCP over standard input and output, for a program that starts its servers itself."""

import asyncio
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from channels_app.mcp import stdio
from channels_app.mcp.api import HOME
from memplatform.processes.web import base_url


class Command(BaseCommand):
    help = _("Serve MCP to the program that started it, over standard input and output.")
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--key-file", required=True, type=Path, help=_("The file with the bot key."))
        parser.add_argument("--address", default=HOME, help=_("Where its user talks: platform=telegram&peer=u42."))
        parser.add_argument("--url", help=_("Of the platform; left out: the one on this machine."))

    def handle(self, *args: Any, key_file: Path, address: str, url: str | None, **options: Any) -> None:
        try:
            key = key_file.read_text().strip()
        except (OSError, UnicodeDecodeError) as problem:
            raise CommandError(_("The key cannot be read: %s") % problem) from problem
        asyncio.run(stdio.serve(url or base_url(settings.HOST, settings.PORT), key, address))

"""Over standard input and output, for programs that start their servers themselves."""

from collections.abc import Mapping

import httpx
from mcp.server.stdio import stdio_server

from channels_app.doors.mcp.api import HOME, Api
from channels_app.doors.mcp.server import make_server
from channels_app.doors.openai.speaker import address_of


async def serve(platform: str, key: str, headers: Mapping[str, str]) -> None:
    """Answer one client until it closes; the API is asked at `platform`, from the address that headers say."""
    async with httpx.AsyncClient(base_url=platform, trust_env=False) as http, stdio_server() as (read, write):
        api = Api(http, key, address_of(headers, None) or HOME)
        server = make_server(lambda _context: api)
        await server.run(read, write, server.create_initialization_options())

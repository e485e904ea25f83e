"""Over standard input and output, for programs that start their servers themselves."""

import httpx
from mcp.server.stdio import stdio_server

from channels_app.mcp.api import Api, read_address
from channels_app.mcp.server import make_server


async def serve(platform: str, key: str, address: str) -> None:
    """Answer one client until it closes; the API is asked at `platform`."""
    async with httpx.AsyncClient(base_url=platform, trust_env=False) as http, stdio_server() as (read, write):
        api = Api(http, key, read_address(address))
        server = make_server(lambda _context: api)
        await server.run(read, write, server.create_initialization_options())

"""`python -m memplatform.processes.mcp HOST PORT` serves MCP; it asks the web processes, and needs no database."""

import os
import sys

import httpx
import uvicorn
from django.conf import settings

from channels_app.doors.mcp.http import LettingIn, make_app
from memplatform.processes.children import end_with_parent


def main(host: str, port: int) -> None:
    end_with_parent()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memplatform.settings")
    http = httpx.AsyncClient(base_url=settings.API_URL, trust_env=False)
    app = make_app(http, settings.ALLOWED_HOSTS, LettingIn(settings.OAUTH_ISSUER, settings.PUBLIC_URL))
    uvicorn.run(app, host=host, port=port, access_log=False, log_level="warning", timeout_graceful_shutdown=10)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

"""The client as it is built, loaded by a page in a browser."""

from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Error, Page, Route

from memories.models import Workspace
from memplatform.environment import problems
from tests.clients.typescript.conftest import CLIENT
from tests.conftest import make_key
from tests.journeys.conftest import page  # noqa: F401 (a fixture)

pytestmark = [pytest.mark.thorough, pytest.mark.django_db(transaction=True)]
ASK = """
async ([key, url]) => {
    const { Client, errors } = await import("/memory/index.js");
    const memory = new Client(key, url);
    await memory.takeTurn({ address: { platform: "web" }, user: "I moved to Hangzhou.", assistant: "Noted." });
    const contents = [];
    for await (const entry of memory.listEntries({ limit: 1 })) contents.push(entry.content);
    for await (const record of memory.export({ scope: "main" })) contents.push(record.record);
    const error = await new Client("mp_wrong", url).recall({ scope: "main", message: "hi" }).catch((reason) => reason);
    return { contents, refused: error instanceof errors.NotAuthenticated };
}
"""


def serve(route: Route) -> None:
    """A page of somebody's own, which the platform's address serves, with the built client."""
    name = route.request.url.rpartition("/")[2]
    if name == "page.html":
        route.fulfill(body="<title>A page</title>", content_type="text/html")
    else:
        route.fulfill(path=Path(CLIENT / "dist" / name), content_type="text/javascript")


@pytest.fixture
def key(workspace: Workspace) -> str:
    return make_key(workspace)


def test_a_page_remembers_and_lists(key: str, tools: Path, live_server: Any, page: Page) -> None:  # noqa: F811
    page.route("**/memory/*", serve)
    page.goto("/memory/page.html")
    answer = page.evaluate(ASK, [key, live_server.url])
    assert answer["refused"]
    assert answer["contents"][:2] == ["User: I moved to Hangzhou.\nAssistant: Noted.", "export"]
    assert answer["contents"][-1] == "end"


class Site(SimpleHTTPRequestHandler):
    """Another site on this machine: a page, and the built client."""

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        is_page = name == "page.html"
        content = b"<title>A page</title>" if is_page else (CLIENT / "dist" / name).read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if is_page else "text/javascript")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    """Its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def page_elsewhere(page: Page, site: str) -> Page:  # noqa: F811
    assert page.context.browser
    other = page.context.browser.new_page()
    other.goto(f"{site}/memory/page.html")
    return other


def test_a_page_of_a_site_that_is_listed_remembers_and_lists(
    key: str, tools: Path, live_server: Any, page_elsewhere: Page, site: str, settings: Any
) -> None:
    settings.CORS_ALLOWED_ORIGINS = [site]
    answer = page_elsewhere.evaluate(ASK, [key, live_server.url])
    assert answer["refused"] and answer["contents"][0] == "User: I moved to Hangzhou.\nAssistant: Noted."


def test_a_page_of_any_other_site_reads_no_answer(
    key: str, tools: Path, live_server: Any, page_elsewhere: Page
) -> None:
    with pytest.raises(Error, match="Failed to fetch"):
        page_elsewhere.evaluate(ASK, [key, live_server.url])


def test_the_pages_of_the_admin_are_opened_to_no_site(client: Client, settings: Any) -> None:
    site = "https://app.example.org"
    settings.CORS_ALLOWED_ORIGINS = [site]
    asked = {"Origin": site, "Access-Control-Request-Method": "POST"}
    for path, is_open in [("/api/v1/recall", True), ("/v1/chat/completions", True), ("/admin/login/", False)]:
        answer = client.options(path, headers=asked)
        assert answer.headers.get("Access-Control-Allow-Origin") == (site if is_open else None), path
        assert "Access-Control-Allow-Credentials" not in answer.headers


def test_what_is_no_site_is_refused_at_the_start() -> None:
    assert problems({"MEMPLATFORM_CORS_ORIGINS": "https://a.example.org, http://localhost:3000"}) == []
    for wrong in ("*", "app.example.org", "https://app.example.org/page"):
        assert "addresses of sites" in problems({"MEMPLATFORM_CORS_ORIGINS": wrong})[0]

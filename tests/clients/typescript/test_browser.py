"""The client as it is built, loaded by a page in a browser."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route

from memories.models import Workspace
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

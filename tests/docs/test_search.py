"""A stranger's questions, typed into the search of the built documentation: the right page is among the first three."""

import functools
import shutil
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests import ROOT
from tests.docs.test_site import build

pytestmark = pytest.mark.thorough
FIRST = 3
#: What is asked, and the pages any of which answers it.
ENGLISH = {
    "How do I install it?": ["howto/install"],
    "How do I connect my bot?": ["howto/connect-a-bot"],
    "I forgot my password": ["howto/questions", "howto/operate"],
    "delete everything about a user": ["howto/questions", "howto/erase-a-person"],
    "Why did the bot say that?": ["howto/questions", "operators-guide", "howto/operate"],
    "How long are memories kept?": ["howto/questions", "concepts", "howto/policies"],
    "What does it cost?": ["howto/questions", "howto/use-a-model"],
    "change the port": ["howto/questions", "quickstart"],
    "restore a backup": ["howto/back-up-and-restore"],
    "move from mem0": ["howto/move-from-mem0"],
    "upgrade to a new version": ["howto/upgrade"],
    "Does it work with Slack?": ["howto/connect-slack"],
    "docker compose": ["howto/containers"],
    "Where is my data stored?": ["howto/questions", "quickstart", "howto/install"],
    "Can I use my own Postgres?": ["howto/use-your-own-postgresql"],
    "LangChain": ["reference/integrations"],
    "undo a mistake": ["howto/undo-a-batch"],
    "nginx https": ["howto/behind-a-proxy"],
    "use OpenAI embeddings": ["howto/use-another-embedder"],
    "import my ChatGPT history": ["howto/export-and-import", "reference/importers"],
    "prometheus alerts": ["howto/what-to-watch", "howto/runbook"],
    "two factor authentication": ["howto/people-who-work-here"],
    "What can't it do?": ["howto/questions", "limits"],
    "prompt injection": ["howto/questions", "concepts", "security-model", "reference/poison"],
}
CHINESE = {
    "怎么安装": ["howto/install"],
    "怎么接入我的机器人": ["howto/connect-a-bot"],
    "忘记密码了怎么办": ["howto/questions", "howto/operate"],
    "怎么删除一个用户的数据": ["howto/questions", "howto/erase-a-person"],
    "机器人为什么这么说": ["howto/questions", "operators-guide", "howto/operate"],
    "记忆能保存多久": ["howto/questions", "concepts", "howto/policies"],
    "要花多少钱": ["howto/questions", "howto/use-a-model"],
    "端口被占用": ["howto/questions", "quickstart"],
    "怎么备份": ["howto/back-up-and-restore"],
    "从 mem0 迁移": ["howto/move-from-mem0"],
    "怎么升级到新版本": ["howto/upgrade"],
    "接入企业微信": ["howto/connect-wecom"],
    "支持飞书吗": ["howto/connect-lark"],
    "docker 部署": ["howto/containers"],
    "数据存在哪里": ["howto/questions", "quickstart", "howto/install"],
    "用自己的数据库": ["howto/use-your-own-postgresql"],
    "LangChain": ["reference/integrations"],
    "撤销误操作": ["howto/undo-a-batch"],
    "nginx 反向代理": ["howto/behind-a-proxy"],
    "更换嵌入模型": ["howto/use-another-embedder"],
    "导入 ChatGPT 的聊天记录": ["howto/export-and-import", "reference/importers"],
    "收到告警怎么处理": ["howto/what-to-watch", "howto/runbook"],
    "双重验证": ["howto/people-who-work-here"],
    "有什么局限": ["howto/questions", "limits"],
}
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The built site, served."""
    folder = tmp_path_factory.mktemp("site")
    built = build(ROOT, folder)
    assert built.returncode == 0, built.stderr[-3000:]
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Silent, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


def found(page: Page, question: str) -> list[str]:
    """The pages the search lists, the first first."""
    box = page.locator(".md-search__input")
    box.fill("")
    box.press("End")  # it looks when a key is let go
    expect(page.locator(".md-search-result__item")).to_have_count(0)
    box.fill(question)
    box.press("End")
    try:  # the first waits for the index
        expect(page.locator(".md-search-result__item").first).to_be_attached(timeout=30_000)
    except AssertionError:
        return []
    links = page.locator(".md-search-result__item > a.md-search-result__link")
    return list(dict.fromkeys(links.evaluate_all("all => all.map(link => link.pathname)")))


@pytest.mark.parametrize(("place", "questions"), [("", ENGLISH), ("zh-hans/", CHINESE)])
def test_the_right_page_is_among_the_first_three(
    address: str, browser: Browser, place: str, questions: dict[str, list[str]]
) -> None:
    page = browser.new_page()
    page.goto(f"{address}{place}index.html")
    page.locator(".md-search__input").click()
    missed = {}
    for question, pages in questions.items():
        listed = [path.removeprefix(f"/{place}").removesuffix(".html") for path in found(page, question)]
        if not set(listed[:FIRST]) & set(pages):
            missed[question] = listed[:6]
    page.close()
    assert missed == {}, "\n".join(f"{question}: {listed}" for question, listed in missed.items())

"""The documentation as a site: `make docs`, in English and in Chinese, without a network."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests import ROOT

pytestmark = pytest.mark.thorough
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
NO_CHINESE = "本页还没有中文版"


def build(root: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "docs" / "site" / "build.py"), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = build(ROOT, folder)
    assert built.returncode == 0, built.stderr[-3000:]
    return folder


def pages() -> list[str]:
    """Every page of docs/ without the Chinese ones, and those at the top of the repository."""
    named = (page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md"))
    return sorted([*(name for name in named if ".zh-hans" not in name), *BESIDE])


def html(name: str) -> str:
    return name.replace("README.md", "index.md").replace(".md", ".html")


def chinese_of(name: str) -> Path:
    return ROOT / "docs" / name.replace(".md", ".zh-hans.md")


def test_every_page_is_in_the_site_and_its_navigation_in_both_languages(site: Path) -> None:
    for folder in (site, site / "zh-hans"):
        listed = (folder / "index.html").read_text()
        assert [name for name in pages() if not (folder / html(name)).is_file()] == []
        assert [name for name in pages() if f'href="{html(name)}" class="md-nav__link' not in listed][1:] == []


def test_a_page_without_chinese_says_so_under_a_chinese_title(site: Path) -> None:
    for name in pages():
        page = (site / "zh-hans" / html(name)).read_text()
        assert (NO_CHINESE in page) is not chinese_of(name).is_file(), name
        assert re.search(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL), name


def test_the_words_of_the_chinese_site_are_all_there_and_none_is_left_over() -> None:
    named = yaml.safe_load((ROOT / "docs" / "site" / "zh-hans.yml").read_text())["extra"]
    assert set(named["titles"]) == {name for name in pages() if not chinese_of(name).is_file()}
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    assert set(named["sections"]) == set(re.findall(r"^ *- (.+):$", nav, re.MULTILINE))


def test_the_switch_of_languages_leads_to_the_same_page(site: Path) -> None:
    for name in pages():
        for page in (site / html(name), site / "zh-hans" / html(name)):
            links = re.findall(r'<a href="([^"]+)" hreflang="([\w-]+)"', page.read_text())
            there = {language: (page.parent / link).resolve() for link, language in links}
            assert there == {"en": site / html(name), "zh-Hans": site / "zh-hans" / html(name)}


def test_a_page_of_the_site_asks_nobody_for_anything(site: Path) -> None:
    fetched = re.compile(r"""<(?:script|link|img|iframe|source)[^>]*(?:src|srcset|href)=["']?(?:https?:)?//[^>]*>""")
    for page in site.rglob("*.html"):
        assert fetched.findall(page.read_text()) == [], page
    for sheet in site.rglob("*.css"):
        assert re.findall(r"url\(['\"]?(?:https?:)?//", sheet.read_text()) == [], sheet


def test_every_picture_of_the_site_is_in_it(site: Path) -> None:
    for page in site.rglob("*.html"):
        for source in re.findall(r'<(?:img|source)[^>]* src(?:set)?="([^"]+)"', page.read_text()):
            assert (page.parent / source).is_file(), (page, source)


@pytest.mark.parametrize(("place", "word"), [("", "password"), ("zh-hans", "密码")])
def test_each_language_has_a_search_of_its_own(site: Path, place: str, word: str) -> None:
    index = json.loads((site / place / "search" / "search_index.json").read_text())
    hits = [entry for entry in index["docs"] if word in re.split(r"[\s\u200b]+", entry["title"] + " " + entry["text"])]
    assert "howto/operate.html" in {entry["location"].partition("#")[0] for entry in hits}
    assert (site / place / "search" / "search_index.js").is_file(), "for pages that are opened from a folder"


QUESTIONS = (
    *(("", words) for words in ("forgot my password", "GDPR", "Who is data sent to?", "Sizes", "private in a group?")),
    *(("", words) for words in ("delete everything about a user", "Why did the bot say that?", "rate limit")),
    *(("zh-hans", words) for words in ("忘记密码", "GDPR", "数据会发给谁", "需要多大内存", "在群里是私密的吗")),
    *(("zh-hans", words) for words in ("一个用户的全部数据", "机器人为什么这么回答", "记忆保存多久", "费用")),
)


@pytest.mark.parametrize(("place", "words"), QUESTIONS)
def test_what_people_ask_stands_in_a_title_of_the_search(site: Path, place: str, words: str) -> None:
    index = json.loads((site / place / "search" / "search_index.json").read_text())
    titles = {entry["title"].replace("\u200b", ""): entry["location"] for entry in index["docs"]}
    assert any(words in title and "howto/questions" in location for title, location in titles.items()), titles


def test_a_link_that_leads_nowhere_and_a_page_without_a_place_fail_the_build(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    shutil.copytree(ROOT / "docs", root / "docs", ignore=shutil.ignore_patterns("*.png", "__pycache__"))
    for name in (*BESIDE, "mkdocs.yml"):
        shutil.copy(ROOT / name, root)
    (root / "docs" / "lost.md").write_text("# Lost\n")
    with (root / "docs" / "quickstart.md").open("a") as page:
        page.write("\n[where](concepts.md#nowhere) [who](howto/nobody.md)\n")
    built = build(root, tmp_path / "site")
    assert built.returncode != 0
    for problem in ("lost.md", "#nowhere", "howto/nobody.md"):
        assert problem in built.stderr, built.stderr

"""What of the site is ours: pages from beside docs/, one language a build, links that lead within it.

A page is `x.md`, and `x.zh-hans.md` beside it its Chinese. A build takes one of the two for each, under the name of the
English; where there is no Chinese, the English stands in for it under a Chinese title, and says so.
"""

import logging
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page
from pymdownx.slugs import slugify

log = logging.getLogger("mkdocs.hooks")  # whose warnings fail a build
ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
ASSETS = Path(__file__).resolve().parent / "assets"
CHINESE = ".zh-hans"
#: Pages at the top of the repository, where those who come to it look for them.
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
TO_ENGLISH, TO_CHINESE = "#to-english", "#to-chinese"
NO_CHINESE = "本页还没有中文版，以下是英文原文。"
#: How much a hit on a page counts in the search, where its name begins so: how before why.
WEIGHTS = {
    "howto/questions": 4.0,
    "howto/": 3.0,
    "quickstart": 3.0,
    "operators-guide": 3.0,
    "decisions": 0.3,
    "architecture": 0.3,
    "CHANGELOG": 0.2,
    "CONTRIBUTING": 0.2,
    "reference/hot-queries": 0.2,
    "reference/behaviours": 0.1,
    "reference/licences": 0.1,
}
_OTHER_LANGUAGE = re.compile(r" ?\(\[中文\]\([^)]*\)\)|^\[(?:中文|English)\]\([^)]*\)\n+", re.MULTILINE)
#: Code as it is, or a heading.
_HEADING = re.compile(r"^ *```[\s\S]*?^ *```|^#+ (.+)$", re.MULTILINE)
#: Code as it is, or a link, whose words may be code.
_LINK = re.compile(
    r"^ *```.*?^ *```|`[^`\n]+`|(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?://|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)",
    re.MULTILINE | re.DOTALL,
)


def is_chinese(config: MkDocsConfig) -> bool:
    return bool(config.theme["language"] == "zh")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The sections of the navigation in the language of this build."""
    if is_chinese(config):
        sections: dict[str, str] = config.extra["sections"]
        config.nav = _in_chinese(config.nav, sections)
    return config


def _in_chinese(nav: Any, sections: dict[str, str]) -> Any:
    """Called by itself for what is inside a section; a section without Chinese is an error."""
    if isinstance(nav, list):
        return [_in_chinese(entry, sections) for entry in nav]
    if isinstance(nav, dict):
        return {sections[title]: _in_chinese(inside, sections) for title, inside in nav.items()}
    return nav


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Each page once, in the language of this build, with those beside docs/ and our scripts."""
    for file in list(files):
        if CHINESE in file.src_uri and (file.is_documentation_page() or not is_chinese(config)):
            files.remove(file)
    for file in list(files.documentation_pages()):
        chinese = DOCS / file.src_uri.replace(".md", f"{CHINESE}.md")
        if is_chinese(config) and chinese.is_file():
            files.remove(file)
            files.append(File.generated(config, file.src_uri, abs_src_path=str(chinese)))
    for name in BESIDE:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for script in ASSETS.iterdir():
        files.append(File.generated(config, f"assets/{script.name}", abs_src_path=str(script)))
    return files


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Pages that have no Chinese have a title of the Chinese site."""
    for page in nav.pages if is_chinese(config) else ():
        if stands_in(page):
            page.title = config.extra["titles"][page.file.src_uri]
    return nav


def stands_in(page: Page) -> bool:
    """Whether it is the English of a page that has no Chinese."""
    return CHINESE not in str(page.file.abs_src_path)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Without the links to the other language, which the head of the site has, and with links within the site."""
    weight = next((weight for start, weight in WEIGHTS.items() if page.file.src_uri.startswith(start)), 1.0)
    page.meta["search"] = {"exclude": True} if page.file.src_uri == "README.md" else {"boost": weight}
    markdown = _OTHER_LANGUAGE.sub("", markdown)
    folder = posixpath.dirname(source_of(page))
    markdown = _LINK.sub(lambda link: _within(link, folder, page, files), markdown)
    if is_chinese(config) and not stands_in(page):
        return _with_english_anchors(markdown, (DOCS / page.file.src_uri).read_text(), page.file.src_uri)
    if is_chinese(config):
        head, _line, rest = markdown.partition("\n")
        title = config.extra["titles"][page.file.src_uri]
        english = head.removeprefix("# ")
        return f'# {title}\n\n!!! note "{NO_CHINESE}"\n\n    {english}\n{rest}'
    return markdown


def _with_english_anchors(chinese: str, english: str, uri: str) -> str:
    """The Chinese, whose headings can also be reached by the anchors of the English, which other pages name."""
    of_english, of_chinese = _headings(english), _headings(chinese)
    if len(of_english) != len(of_chinese):
        log.warning("'%s' has %d headings, its Chinese %d", uri, len(of_english), len(of_chinese))
    anchors = iter(slugify(case="lower")(heading, "-") for heading in of_english)

    def with_anchor(heading: re.Match[str]) -> str:
        return f'{heading.group()} <a id="{next(anchors, "")}"></a>' if heading.group(1) else heading.group()

    return _HEADING.sub(with_anchor, chinese)


def _headings(markdown: str) -> list[str]:
    return [heading.group(1) for heading in _HEADING.finditer(markdown) if heading.group(1)]


def source_of(page: Page) -> str:
    """Where its text stands in the repository."""
    return Path(str(page.file.abs_src_path)).relative_to(ROOT).as_posix()


def _within(link: re.Match[str], folder: str, page: Page, files: Files) -> str:
    """The link as it is in the site; of a file that is not in it, its words and its place."""
    mark, words, target, anchor = link.groups()
    if not target:
        return link.group()
    place = posixpath.normpath(posixpath.join(folder, target))
    if place in ("README.md", f"README{CHINESE}.md"):
        place = "docs/README.md"
    uri = place.removeprefix("docs/").replace(CHINESE + ".md", ".md")
    if files.get_file_from_path(uri) is None and not place.startswith("docs/"):
        return str(words) if words.strip("`") == place else f"{words} (`{place}`)"
    there = posixpath.relpath(uri, posixpath.dirname(page.file.src_uri) or ".")
    return f"{mark}[{words}]({there}{anchor or ''})"


def on_page_context(context: dict[str, Any], page: Page, config: MkDocsConfig, nav: Navigation) -> dict[str, Any]:
    """The switch of languages leads to the same page."""
    config.extra["alternate"] = [
        {"name": "English", "lang": "en", "link": TO_ENGLISH},
        {"name": "中文", "lang": "zh-Hans", "link": TO_CHINESE},
    ]
    return context


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Where the switch leads; the theme would take a path out of this build for one within it."""
    up = "../" * page.file.dest_uri.count("/")
    english, chinese = ("../", "") if is_chinese(config) else ("", "zh-hans/")
    for mark, folder in ((TO_ENGLISH, english), (TO_CHINESE, chinese)):
        output = output.replace(f'href="{mark}"', f'href="{up}{folder}{page.file.dest_uri}"')
    return output

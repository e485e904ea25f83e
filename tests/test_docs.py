"""What the documentation says of the code is so, and nothing of the code is left out."""

import ast
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands
from django.db import connection
from django.urls import URLPattern, URLResolver, get_resolver

from benchmarks.__main__ import BY_HAND
from benchmarks.__main__ import MEASUREMENTS as QUICK
from evals.measurements.__main__ import MEASUREMENTS
from memories.conf import MemorySettings
from memories.models import BotKey, Workspace
from memories.models.table import tables
from memplatform.management.commands import schema
from memplatform.operations.jobs.registry import JOBS
from memplatform.setup import first_run
from memplatform.setup.installation import WORDS
from tests import ROOT
from tests.conftest import Api, make_key
from tests.test_architecture import LAYERS

REFERENCE = ROOT / "docs" / "reference"
APPS = ("memories", "sessions_app", "channels_app", "memplatform", "evals")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BEHAVIOURS = [
    f"{group}{n}"
    for group, count in {"A": 22, "B": 9, "C": 15, "D": 9, "E": 6, "F": 8}.items()
    for n in range(1, count + 1)
]
READMES = ("README.md", "README.zh-hans.md")


def read(page: str) -> str:
    return (REFERENCE / page).read_text()


def rows(text: str) -> Iterator[list[str]]:
    """The cells of every row of every table."""
    for line in text.splitlines():
        if line.startswith("|") and not line.startswith("|---"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def coded(cell: str) -> str:
    """What stands in backticks first in a cell; nothing when there are none."""
    result = re.match(r"`([^`]+)`", cell)
    return result.group(1) if result else ""


# settings


def numbers_in_code() -> dict[str, str]:
    """Every number's name and its default, as it is written there."""
    source = (ROOT / "memories" / "conf.py").read_text()
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    (numbers,) = [node for node in classes if node.name == MemorySettings.__name__]
    return {
        f"MEMORY_{ast.unparse(line.target)}": ast.get_source_segment(source, line.value) or ""
        for line in numbers.body
        if isinstance(line, ast.AnnAssign) and line.value
    }


def switches() -> dict[str, str]:
    return {job.switch: str(job.is_on_by_default) for job in JOBS.values()}


def test_every_number_is_documented_with_its_default() -> None:
    documented = {coded(row[0]): coded(row[1]) for row in rows(read("settings.md")) if len(row) == 3}
    in_code = numbers_in_code()
    assert len(in_code) == len(MemorySettings.__annotations__)
    in_code |= switches()
    assert {name: documented.get(name) for name in in_code} == in_code
    assert all(row[2] for row in rows(read("settings.md")) if coded(row[0]))


def variables_in_code() -> dict[str, str | None]:
    """Every environment variable of the settings with its default; None where it is computed."""
    data = {}
    for node in ast.walk(ast.parse((ROOT / "memplatform" / "settings.py").read_text())):
        if not (isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[0] == "env"):
            continue
        if isinstance(name := node.args[0], ast.Constant):
            data[str(name.value)] = default_of(node)
    return data


def default_of(call: ast.Call) -> str | None:
    default = next((word.value for word in call.keywords if word.arg == "default"), None)
    try:
        value = ast.literal_eval(default) if default else None
    except ValueError:
        return None
    return ",".join(value) if isinstance(value, list) else str(value)


def test_every_environment_variable_is_documented_with_its_default() -> None:
    documented = {coded(row[0]): row[1] for row in rows(read("settings.md")) if len(row) == 3 and coded(row[0])}
    in_code = variables_in_code()
    assert set(documented) == set(in_code) | set(numbers_in_code()) | set(switches())
    for name, default in in_code.items():
        if default:
            assert coded(documented[name]) == default, name
        else:
            assert documented[name], name


# addresses and commands


def routes(resolver: URLResolver, prefix: str = "/") -> Iterator[str]:
    """Every address with its methods; the admin's own pages count as one, as do others' calls."""
    for pattern in resolver.url_patterns:
        path = prefix + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(pattern.pattern))
        if whole := next((place for place in ("/admin/", "/api/mem0/", "/v1/{rest}") if path.startswith(place)), None):
            yield whole
        elif isinstance(pattern, URLResolver):
            yield from routes(pattern, path)
        elif isinstance(pattern, URLPattern):
            of_class = getattr(pattern.callback, "view_class", None) or getattr(pattern.callback, "cls", None)
            view = of_class or pattern.callback
            yield from (f"{method} {path}" for method in getattr(view, "methods", {"GET": None}))


def test_every_route_has_its_heading() -> None:
    assert set(re.findall(r"^## `(.+)`$", read("api.md"), re.MULTILINE)) == set(routes(get_resolver()))


def test_every_command_is_documented() -> None:
    ours = {name for name, app in get_commands().items() if app in APPS}
    section = read("commands.md").partition("## Commands of manage.py")[2].partition("\n## ")[0]
    assert {coded(row[0]).split(" ")[0] for row in rows(section)} - {""} == ours


def test_every_word_of_make_is_documented() -> None:
    listed = {coded(row[0]) for row in rows(read("commands.md"))}
    targets = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert targets
    words = {f"make {word}" for word in targets.group(1).split()}
    assert {word for word in listed if word.startswith("make ")} == words
    only_python = {word for word in WORDS if f"make {word}" not in words}
    assert {word.split()[2] for word in listed if word.startswith("python3 bootstrap.py")} == only_python


def test_every_measurement_that_is_named_is_there() -> None:
    pages = "\n".join(page.read_text() for page in PAGES)
    named = set(re.findall(r"python -m (benchmarks|evals\.measurements) ([a-z]\w+)", pages))
    named |= {("benchmarks", name) for name in re.findall(r"make bench ARGS=\"?(\w+)", pages)}
    there = {"benchmarks": {*QUICK, *BY_HAND}, "evals.measurements": set(MEASUREMENTS)}
    listed = read("commands.md")
    assert len(named) > 20
    assert [(room, name) for room, name in sorted(named) if name not in there[room]] == []
    assert [name for name in MEASUREMENTS if f"`python -m evals.measurements {name}" not in listed] == []


# schema


@pytest.mark.django_db
def test_the_page_of_the_schema_is_what_the_models_and_the_database_say() -> None:
    assert read("schema.md") == schema.page(), "manage.py schema writes it"


@pytest.mark.django_db
def test_every_table_of_ours_says_what_it_means() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class"
            " WHERE relkind = 'r' AND relname ~ '^(memories|sessions_app|channels_app|operations)_'"
        )
        names = {name for (name,) in cursor.fetchall()}
    assert {model._meta.db_table for model, _table in tables()} == names
    assert set(re.findall(r"^### (\w+)$", read("schema.md"), re.MULTILINE)) == names


# behaviours


def cited_tests() -> list[str]:
    return re.findall(r"`(tests/[\w/]+\.py::\w+)`", read("behaviours.md"))


def test_every_behaviour_is_proved_or_said_to_be_missing() -> None:
    listed = [row for row in rows(read("behaviours.md")) if row[0] in BEHAVIOURS]
    assert [row[0] for row in listed] == BEHAVIOURS, "in their order, and none twice"
    for name, _what, state, proof in listed:
        assert state in ("yes", "in part", "not yet"), name
        assert bool(re.search(r"`tests/", proof)) == (state != "not yet"), name


def test_every_cited_test_exists() -> None:
    cited = cited_tests()
    assert len(cited) > 400
    files = {citation.partition("::")[0] for citation in cited}
    there = {
        f"{file}::{node.name}"
        for file in files
        if (ROOT / file).is_file()
        for node in ast.walk(ast.parse((ROOT / file).read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    assert set(cited) - there == set()


# the architecture


def test_the_page_of_the_architecture_names_the_layers_the_code_keeps() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = dict(re.findall(r"^\| (\w+) \| (`.+`) \|$", page, re.MULTILINE))
    assert {layer: " ".join(re.findall(r"`(\w+)`", units)) for layer, units in table.items()} == LAYERS


def test_the_pages_of_the_architecture_name_places_there_are() -> None:
    pages = [ROOT / "docs" / "architecture.md", *(ROOT / "docs" / "architecture").glob("*.md")]
    named = {
        place
        for page in pages
        for place in re.findall(rf"\b(?:{'|'.join(APPS)}|tests)/[\w/]+(?:\.\w+)?", page.read_text())
    }
    assert len(named) > 40
    assert [place for place in sorted(named) if not (ROOT / place).exists()] == []


@pytest.mark.parametrize("app", ["memories", "sessions_app", "channels_app", "memplatform"])
def test_the_tree_of_the_architecture_has_every_room_and_no_other(app: str) -> None:
    tree = (ROOT / "docs" / "architecture.md").read_text().split("```")[1]
    branch = re.search(rf"^{app}\b.*?(?=^\w|\Z)", tree, re.MULTILINE | re.DOTALL)
    assert branch
    there = {room.parent.name for room in (ROOT / app).glob("*/__init__.py")} - {"migrations", "management"}
    named = set(re.findall(r"\b(\w+)/", branch.group()))
    assert there - named == set()
    assert [room for room in sorted(named) if not any((ROOT / app).rglob(f"{room}/__init__.py"))] == []


def test_the_ten_questions_are_answered_with_a_place() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    answers = list(rows(page.partition("## Ten questions")[2].partition("\n## ")[0]))[1:]
    assert len(answers) == 10
    assert [answer for answer in answers if not re.search(r"`[\w/]+/[\w/.]+`", answer[1])] == []


# pages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?://)([^)#]*)(?:#[\w-]+)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


def pictures(page: Path) -> Iterator[Path]:
    for tag in re.findall(r"<(?:img|source) [^>]+>", page.read_text()):
        assert tag.startswith("<source") or re.search(r'alt="[^"]{5,}"', tag), tag
        yield from ((page.parent / name).resolve() for name in re.findall(r' src(?:set)?="([^"]+)"', tag))


def test_every_picture_is_there_small_and_shown() -> None:
    shown = {picture for page in PAGES for picture in pictures(page)}
    assert len(shown) > 40 and {picture for picture in shown if not picture.is_file()} == set()
    for folder, most in (("screenshots", 4_000_000), ("pictures", 2_000_000)):
        sizes = {picture: picture.stat().st_size for picture in (ROOT / "docs" / folder).glob("*.png")}
        assert sizes and set(sizes) - shown == set()
        assert sum(sizes.values()) < most and max(sizes.values()) < 120_000


def test_every_page_is_listed() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        assert page.name == "README.md" or f"({page.relative_to(ROOT / 'docs')})" in index, page


def test_both_readmes_tell_the_same() -> None:
    shapes = [re.findall(r"^(#+|```|- |ask \w+)", (ROOT / name).read_text(), re.MULTILINE) for name in READMES]
    assert shapes[0] == shapes[1]


def test_a_decision_is_dated_and_short() -> None:
    page = (ROOT / "docs" / "decisions.md").read_text()
    subjects = re.findall(r"^## (.+)", page, re.MULTILINE)
    assert subjects == re.findall(r"^- \[(.+)\]\(#", page, re.MULTILINE)
    decisions = [
        part for chunk in re.split(r"^## ", page, flags=re.MULTILINE)[1:] for part in chunk.split("\n### ")[1:]
    ]
    assert len(decisions) > 100
    for decision in decisions:
        title, *lines = decision.strip().splitlines()
        assert re.match(r"\d{4}-\d\d-\d\d · ", title), title
        assert len([line for line in lines if line]) <= 10, title


# what can be pasted


def calls(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The calls of a page: `ask recall '{…}'`, or curl with its address and `-d '{…}'`."""
    for path, body in re.findall(r"^(?:ask |curl[^{]*?/api/v1/)([\w/]+)[^{]*?'(\{.*\})'$", text, re.MULTILINE):
        yield path, json.loads(body)


@pytest.fixture
def demo_api(workspace: Workspace) -> Api:
    """The demo bot after the first start."""
    token = make_key(workspace, name="demo")
    first_run.take_demo_turns(BotKey.objects.get(digest=BotKey.digest_of(token)).caller(), now=datetime.now(UTC))
    return Api(token)


@pytest.mark.django_db
@pytest.mark.parametrize("name", READMES)
def test_the_tour_works_as_pasted(demo_api: Api, name: str) -> None:
    tour = list(calls((ROOT / name).read_text()))
    assert len(tour) == 9
    *answers, last = [(path, demo_api.post(path, body)) for path, body in tour]
    for path, answer in answers:
        assert answer.status_code in (200, 201), answer.json()
        assert path != "recall" or answer.json()["memories"]
    assert last[1].json()["need"]["retrieve"] is False


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["quickstart.md", "reference/api.md", "howto/connect-a-bot.md"])
def test_the_calls_of_a_page_are_taken(api: Api, page: str) -> None:
    page_calls = list(calls((ROOT / "docs" / page).read_text()))
    assert page_calls
    for path, body in page_calls:
        assert api.post(path, body).status_code in (200, 201), (path, body)

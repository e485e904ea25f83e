"""What CONTRIBUTING.md says is to be touched is there, and is what the code reads."""

import json
import re

import generate
import pytest
from django.conf import settings
from django.contrib import admin
from django.core.checks import registry as django_checks
from django.utils.module_loading import import_string

import channels_app.tasks
import memories.jobs
import sessions_app.tasks
from channels_app.api import urls
from channels_app.api.tool_answers import ANSWERS
from channels_app.doors.tools.registry import CALLABLE, TOOLS
from memories.choices import Category, EntryType, category_rule, type_rule
from memories.entries.draft import FIELDS, Draft
from memories.jobs import Job
from memories.models import Entry
from memplatform import checks
from memplatform.operations.jobs import registry
from memplatform.site.navigation import JOBS, SECTIONS, Page
from tests import ROOT
from tests.support.described import api_description

TABLE = (ROOT / "CONTRIBUTING.md").read_text().partition("| you add | touch |")[2].partition("\n\n")[0]
ROWS = dict(re.findall(r"^\| (an? [^|]+) \| (.+) \|$", TABLE, re.MULTILINE))
#: `Name` in `file`, `Name` among `file` …
NAMED = re.compile(r"`(\w+)` (?:in|of) `([\w/.]+)`")


@pytest.mark.parametrize("what", ROWS)
def test_every_place_a_row_names_is_there(what: str) -> None:
    paths = re.findall(r"`([\w./-]+(?:/|\.py|\.md))`", ROWS[what])
    assert [path for path in paths if not (ROOT / path).exists() and path != "urls.py"] == []
    for name, path in NAMED.findall(ROWS[what]):
        assert re.search(rf"\b{name}\b", (ROOT / path).read_text()), f"{name} in {path}"


def test_the_rows_for_what_is_added_most_are_there() -> None:
    expected = {"a setting", "an endpoint", "an admin page", "a category", "an entry type", "a job", "a retriever"}
    assert expected | {"a field of an entry", "a platform of channels", "a command"} <= ROWS.keys()


def test_every_job_that_is_listed_is_run() -> None:
    listed: list[Job] = [*memories.jobs.JOBS, *sessions_app.tasks.JOBS, *channels_app.tasks.JOBS, *registry.OWN]
    assert sorted(registry.JOBS) == sorted(job.name for job in listed)
    assert all(registry.JOBS[job.name] is job for job in listed)


def test_categories_and_types_of_the_table_are_those_with_a_rule() -> None:
    assert Entry._meta.get_field("category").choices == Category.choices
    assert Entry._meta.get_field("type").choices == EntryType.choices
    assert [category_rule(value) for value in Category.values] == [category.rule for category in Category]
    assert [type_rule(value) for value in EntryType.values] == [entry_type.rule for entry_type in EntryType]


def test_every_field_of_the_table_is_one_of_an_entry_or_of_its_draft() -> None:
    columns = {field.name for field in Entry._meta.get_fields()}
    assert set(FIELDS) <= columns | set(Draft.__dataclass_fields__)


def test_every_retriever_can_be_called() -> None:
    assert settings.MEMORY_RETRIEVERS and all(callable(import_string(path)) for path in settings.MEMORY_RETRIEVERS)


def test_every_tool_is_called_by_its_name_and_has_an_answer_and_a_call() -> None:
    assert all(tool.name == name for name, tool in CALLABLE.items())
    assert set(ANSWERS) == set(CALLABLE)
    paths = {str(pattern.pattern) for pattern in urls.urlpatterns}
    assert {f"tools/{name}" for name in TOOLS} == {path for path in paths if path.startswith("tools/memory_")}


def test_every_section_of_the_side_bar_leads_to_a_page_and_every_check_is_made() -> None:
    places = [place for _title, places in [*JOBS, *SECTIONS] for place in places]
    labels = {place[0] for place in places if not isinstance(place, Page)}
    assert labels <= {model._meta.label_lower for model in admin.site._registry}
    assert set(checks.CHECKS) <= django_checks.registry.registered_checks


def test_the_client_is_made_from_the_api_as_it_is() -> None:
    schema = json.loads(json.dumps(api_description(), default=str))
    command = "manage.py spectacular --format openapi-json | python clients/python/generate.py"
    for file, text in generate.generated(schema).items():
        assert (generate.TARGET / file).read_text() == text, command

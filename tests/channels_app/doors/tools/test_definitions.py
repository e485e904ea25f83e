"""GET /tools: the definitions a bot passes on to a model unchanged, in each provider's form and in two languages."""

import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from channels_app.doors.tools.registry import TOOLS, Parameter
from memories.models import Workspace
from tests.channels_app.doors.tools.asking import FORMS
from tests.conftest import Api, make_key

pytestmark = pytest.mark.django_db
LANGUAGES = ("en", "zh-hans")
#: Words of JSON Schema that strict forms do not know.
LOOSE = {"minimum", "maximum", "default", "minLength", "maxLength", "pattern", "format"}


def definitions(api: Api, form: str, language: str = "en") -> list[dict[str, Any]]:
    answer = api.get("tools", form=form, language=language)
    assert answer.status_code == 200, answer.json()
    return list(answer.json()["tools"])


def function_of(form: str, tool: dict[str, Any]) -> dict[str, Any]:
    """Name, description and parameters, wherever the form keeps them."""
    function = tool["function"] if form == "openai" else tool
    schema = function["input_schema"] if form == "anthropic" else function["parameters"]
    return {"name": function["name"], "description": function["description"], "schema": schema}


def test_each_form_is_the_providers(api: Api) -> None:
    for tool in definitions(api, "openai"):
        assert set(tool) == {"type", "function"} and tool["type"] == "function"
        assert set(tool["function"]) == {"name", "description", "parameters", "strict"}
    for tool in definitions(api, "openai_responses"):
        assert set(tool) == {"type", "name", "description", "parameters", "strict"} and tool["type"] == "function"
    for tool in definitions(api, "anthropic"):
        assert set(tool) == {"name", "description", "input_schema"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_tool_is_told_with_a_schema_that_holds(api: Api, form: str, language: str) -> None:
    results = [function_of(form, tool) for tool in definitions(api, form, language)]
    assert [row["name"] for row in results] == list(TOOLS)
    for item in results:
        jsonschema.Draft202012Validator.check_schema(item["schema"])
        assert item["schema"]["additionalProperties"] is False
        texts = [item["description"], *(part["description"] for part in item["schema"]["properties"].values())]
        assert all(bool(re.search("[\u4e00-\u9fff]", text)) == (language == "zh-hans") for text in texts)
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", item["name"])
        assert not {"scope", "address", "platform", "peer", "chat"} & set(item["schema"]["properties"])


@pytest.mark.parametrize("form", ["openai", "openai_responses"])
def test_a_strict_model_can_be_held_to_it(api: Api, form: str) -> None:
    for tool in definitions(api, form):
        schema = function_of(form, tool)["schema"]
        assert schema["required"] == list(schema["properties"])
        assert not any(LOOSE & set(part) for part in schema["properties"].values())


def test_models_are_told_when_to_use_which(api: Api) -> None:
    data = {definition["name"]: definition["description"] for definition in definitions(api, "anthropic")}
    assert "BEFORE you answer" in data["memory_search"] and "guess" in data["memory_search"]


def test_the_language_is_the_workspaces_unless_another_is_asked_for(workspace: Workspace) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(language="zh-hans")
    api = Api(make_key(workspace))
    assert api.get("tools").json()["language"] == "zh-hans"
    assert api.get("tools", language="en").json()["language"] == "en"


@pytest.mark.parametrize("asked", [{"form": "gemini"}, {"language": "fr"}, {"colour": "red"}], ids=str)
def test_what_is_not_known_is_named(api: Api, asked: dict[str, str]) -> None:
    answer = api.get("tools", **asked)
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, next(iter(asked)))


def parameters() -> Iterator[tuple[str, Parameter]]:
    for name, tool in TOOLS.items():
        yield from ((name, parameter) for parameter in tool.parameters)


def test_every_text_has_its_length_and_both_languages() -> None:
    for name, parameter in parameters():
        assert set(parameter.words) == set(LANGUAGES), name
        assert parameter.kind != "string" or parameter.choices or parameter.most, (name, parameter.name)

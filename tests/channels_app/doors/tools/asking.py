"""How tests call tools: as a bot, and as a model of each provider."""

import json
from typing import Any

from tests.conftest import TELEGRAM
from tests.sessions_app.conftest import Talk

FORMS = ("openai", "openai_responses", "anthropic")


def tool(talk: Talk, name: str, *, at: Any = TELEGRAM, status: int = 200, **arguments: Any) -> dict[str, Any]:
    """A bot's own call; `at` is an address, or the key of a scope."""
    place = {"scope": at} if isinstance(at, str) else {"address": at}
    answer = talk.post(f"tools/{name}", {**place, **arguments})
    assert answer.status_code == status, answer.json()
    return dict(answer.json())


def model_call(form: str, name: str, arguments: Any, number: str = "call_1") -> dict[str, Any]:
    """A call as a model of this provider makes it."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    if form == "openai":
        return {"id": number, "type": "function", "function": {"name": name, "arguments": text}}
    if form == "openai_responses":
        more = {"id": "fc_1", "status": "completed"}  # as providers add them
        return {"type": "function_call", "call_id": number, "name": name, "arguments": text, **more}
    return {"type": "tool_use", "id": number, "name": name, "input": arguments}


def by_model(talk: Talk, name: str, arguments: Any, *, at: Any = TELEGRAM, form: str = "openai") -> dict[str, Any]:
    """What becomes of one call of a model."""
    place = {"scope": at} if isinstance(at, str) else {"address": at}
    answer = talk.post("tools/call", {**place, "call": model_call(form, name, arguments)})
    assert answer.status_code == 200, answer.json()
    (result,) = answer.json()["answers"]
    return dict(result)


def text_of(message: dict[str, Any]) -> str:
    """What a model reads of an answer."""
    return str(message.get("output") or message["content"])

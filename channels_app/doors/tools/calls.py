"""A model's tool call as it came, in three providers' forms.

What the model got wrong goes back to the model, in a sentence it can act on.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from channels_app.doors.tools.registry import Form
from channels_app.doors.tools.wording import Words

NOT_AN_OBJECT: Words = {
    "en": "The arguments of {name} are no JSON object. Call it again with its arguments as valid JSON.",
    "zh-hans": "{name} 的参数不是 JSON 对象。请用合法的 JSON 参数重新调用。",
}
NOT_DONE: Words = {
    "en": "{name} was not carried out. {problems} Correct the arguments and call it again.",
    "zh-hans": "{name} 未执行。{problems}请改正参数后重新调用。",
}
REFUSED: Words = {"en": "{name} was not carried out. {problems}", "zh-hans": "{name} 未执行。{problems}"}


@dataclass(frozen=True)
class ModelCall:
    """One call of a tool by a model."""

    form: Form
    id: str
    name: str
    arguments: dict[str, Any] | None  # None: not a JSON object


def read_call(call: Mapping[str, Any]) -> ModelCall | None:
    """A call in whichever form it came; None where nobody can tell which tool is meant, or which call."""
    function = call.get("function")
    if isinstance(function, dict):
        parts = Form.OPENAI, call.get("id", ""), function.get("name"), function.get("arguments")
    elif call.get("type") == "function_call":
        parts = Form.OPENAI_RESPONSES, call.get("call_id", ""), call.get("name"), call.get("arguments")
    elif call.get("type") == "tool_use":
        parts = Form.ANTHROPIC, call.get("id", ""), call.get("name"), call.get("input")
    else:
        return None
    form, number, name, arguments = parts
    if not isinstance(name, str) or not isinstance(number, str | None):
        return None
    # An object, or a JSON text of one; no arguments are an empty one
    if arguments in (None, ""):
        arguments = {}
    elif isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = None
    return ModelCall(form, number or "", name, arguments if isinstance(arguments, dict) else None)

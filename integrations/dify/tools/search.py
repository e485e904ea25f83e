"""For a model that looks itself."""

from collections.abc import Generator
from typing import Any

from dify_plugin import Tool
from dify_plugin.entities.tool import ToolInvokeMessage
from memory import AWAY, asked, words


class Search(Tool):
    """The memories of the user that bear on some words."""

    def _invoke(self, tool_parameters: dict[str, Any]) -> Generator[ToolInvokeMessage, None, None]:
        """Look for them; a model is answered in words, also where the platform is away."""
        body = {"message": words(tool_parameters, "words"), "limit": 8, "need": "off", "quotas": False}
        answer = asked(self, "recall", body)
        rows = [row["content"] for row in (answer or {}).get("memories", ())]
        yield self.create_json_message({"memories": rows})
        yield self.create_text_message(AWAY if answer is None else "\n".join(rows) or "Nothing is remembered of this.")

"""Before an answer."""

from collections.abc import Generator
from typing import Any

from dify_plugin import Tool
from dify_plugin.entities.tool import ToolInvokeMessage
from memory import asked, words


class Recall(Tool):
    """What is known that helps to answer a message, as text; empty where the platform does not answer."""

    def _invoke(self, tool_parameters: dict[str, Any]) -> Generator[ToolInvokeMessage, None, None]:
        """Ask for it. The conversation itself is Dify's to keep."""
        context = asked(self, "context", {"message": words(tool_parameters, "message"), "client_history": []}) or {}
        yield self.create_variable_message("recall_id", context.get("recall_id") or "")
        yield self.create_text_message(context.get("text") or "")

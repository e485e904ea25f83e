"""After an answer."""

from collections.abc import Generator
from typing import Any

from dify_plugin import Tool
from dify_plugin.entities.tool import ToolInvokeMessage
from memory import asked, once, words


class Remember(Tool):
    """A message and its answer are remembered as one turn."""

    def _invoke(self, tool_parameters: dict[str, Any]) -> Generator[ToolInvokeMessage, None, None]:
        """Report it, once for a message of Dify."""
        sides = words(tool_parameters, "message"), words(tool_parameters, "answer")
        turn = {"user": sides[0], "assistant": sides[1], "recall_id": tool_parameters.get("recall_id") or None}
        is_kept = asked(self, "turns", turn, once(self, *sides)) is not None
        yield self.create_variable_message("is_remembered", is_kept)
        yield self.create_text_message("It is remembered." if is_kept else "It could not be remembered.")

"""For a model that is asked to remember."""

from collections.abc import Generator
from typing import Any

from dify_plugin import Tool
from dify_plugin.entities.tool import ToolInvokeMessage
from memory import asked, once, words


class Save(Tool):
    """One sentence is kept for good."""

    def _invoke(self, tool_parameters: dict[str, Any]) -> Generator[ToolInvokeMessage, None, None]:
        """Keep it, once for a message of Dify."""
        sentence = words(tool_parameters, "sentence")
        is_kept = asked(self, "entries", {"content": sentence}, once(self, sentence)) is not None
        yield self.create_variable_message("is_remembered", is_kept)
        yield self.create_text_message("It is remembered." if is_kept else "It could not be saved.")

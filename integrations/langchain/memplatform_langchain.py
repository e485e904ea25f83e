"""Memory for LangChain: a chat message history that is a conversation of a memplatform, and a retriever of memories."""

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.retrievers import BaseRetriever
from memplatform_client.turns import BotMemory, words_of

MESSAGES = {"user": HumanMessage, "assistant": AIMessage}


class MemplatformHistory(BaseChatMessageHistory):
    """One conversation of a person.

    A question and its answer are reported as one turn: then they are history, and remembered. What tools were asked
    and answered in between is kept with the turn, and handed out as messages no more.
    """

    def __init__(self, memory: BotMemory, person: str, chat: str) -> None:
        self._memory, self._person, self._chat = memory, person, chat
        self._pending: list[BaseMessage] = []

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """The conversation as memory has it, a summary for what is long ago; then what waits for its answer."""
        rows = self._memory.history(self._person, self._chat)
        return [*(MESSAGES.get(row["role"], SystemMessage)(content=row["content"]) for row in rows), *self._pending]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Take the messages of a run; with the answer to them they are a turn."""
        for message in messages:
            self._pending.append(message)
            if isinstance(message, AIMessage) and not message.tool_calls:
                turn, self._pending = self._pending, []
                self._report(turn)

    def clear(self) -> None:
        """Begin the conversation anew; what is remembered of it stays."""
        self._pending = []
        self._memory.begin_anew(self._person, self._chat)

    def _report(self, turn: list[BaseMessage]) -> None:
        results = {str(message.tool_call_id): text_of(message) for message in turn if message.type == "tool"}  # type: ignore[attr-defined]
        calls: list[Any] = [
            {"name": call["name"], "arguments": call["args"], "result": results.get(str(call["id"]), "")}
            for message in turn
            if isinstance(message, AIMessage)
            for call in message.tool_calls
        ]
        sides = ["\n".join(text_of(message) for message in turn if message.type == kind) for kind in ("human", "ai")]
        self._memory.after(self._person, *sides, self._chat, tool_calls=calls or None)


class MemplatformRetriever(BaseRetriever):
    """What is remembered of a person, as documents; each with its id, scope, time and score as metadata."""

    memory: Any
    person: str
    limit: int = 8

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        fields = ("scope", "type", "created_at", "score")
        return [
            Document(id=row["id"], page_content=row["content"], metadata={name: row[name] for name in fields})
            for row in self.memory.search(self.person, query, self.limit)
        ]


def text_of(message: BaseMessage) -> str:
    """The words of a message, its pictures left out."""
    return words_of(message.content)

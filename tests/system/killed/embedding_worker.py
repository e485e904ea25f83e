"""An embedder process for the tests: it says what it is about to embed, and takes its time."""

import sys
import time

import django

django.setup()

from django.conf import settings

from memories.embeddings.deterministic import Deterministic
from sessions_app.search.embedder import EventEmbedder
from tests.conftest import NOW


class Slow(Deterministic):
    """Slow enough to be killed at it."""

    def embed_passages(self, texts: list[str], *, seconds: float) -> list[list[float]]:
        print("embedding", len(texts), flush=True)
        time.sleep(float(sys.argv[1]))
        return super().embed_passages(texts, seconds=seconds)


if __name__ == "__main__":
    settings.MEMORY_EMBEDDERS = ["__main__.Slow"]
    worker = EventEmbedder()
    while worker(now=NOW) == 0:
        pass
    print("done", flush=True)

"""An embedder process for the tests: it changes the model of every workspace, slowly, and says what it does."""

import sys
import time

import django

django.setup()

from django.conf import settings

from memories.embeddings.deterministic import Deterministic
from memories.index.model_change import ModelChanger
from tests.conftest import NOW


class Newer(Deterministic):
    """Another model, slow enough to be killed at it."""

    name = model = "newer-64"

    def embed_passages(self, texts: list[str], *, seconds: float) -> list[list[float]]:
        print("embedding", len(texts), flush=True)
        time.sleep(float(sys.argv[1]))
        return super().embed_passages(texts, seconds=seconds)

    def _embed(self, text: str) -> list[float]:
        return [-x for x in super()._embed(text)[::-1]]


if __name__ == "__main__":
    settings.MEMORY_EMBEDDERS = ["__main__.Newer", "memories.embeddings.deterministic.Deterministic"]
    changer = ModelChanger()
    while changer(now=NOW) == 0:
        print("step", flush=True)
    print("done", flush=True)

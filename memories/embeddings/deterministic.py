"""An embedder for tests: the same text gives the same vector, texts that share words lie near each other."""

import hashlib
import math

from memories.embeddings import Unrelated
from memories.language import text as texts_module


class Deterministic:
    """Bags of words hashed into 64 dimensions; no model, no network, no surprise."""

    name = "deterministic"
    model = "deterministic-64"
    dimension = 64
    floor = 0.0
    ceiling = 1.0
    unrelated = Unrelated.all(0.0)

    def embed_passages(self, texts: list[str], *, seconds: float) -> list[list[float]]:
        return [self._embed(text) for text in texts]

    def embed_query(self, text: str, *, seconds: float) -> list[float]:
        return self._embed(text)

    def _embed(self, text: str) -> list[float]:
        vector = [0.0] * self.dimension
        for shingle in texts_module.shingles(text) or {text}:
            digest = hashlib.sha256(shingle.encode()).digest()
            vector[digest[0] % self.dimension] += 1.0 if digest[1] & 1 else -1.0
        length = math.sqrt(sum(x * x for x in vector)) or 1.0
        return [x / length for x in vector] if any(vector) else [1.0] + [0.0] * (self.dimension - 1)

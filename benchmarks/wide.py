"""Hashed vectors as wide as the bundled model's, for measurements in which the embedder takes no time."""

from memories.embeddings.deterministic import Deterministic


class Wide(Deterministic):
    name = "wide"
    model = "deterministic-384"
    dimension = 384

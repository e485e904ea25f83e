"""What the platform asks of an embedder."""

from typing import Protocol


class Provider(Protocol):
    """Turns texts into vectors; named by a dotted path in MEMORY_EMBEDDERS and made once a process.

    Vectors of providers with the same `model` may be compared with each other; those of other models never are.
    """

    #: Which implementation answers; the cache and the breaker keep providers apart by it.
    name: str
    #: Whose vectors these are.
    model: str
    dimension: int
    #: Cosine of unrelated texts, and of the same text.
    floor: float
    ceiling: float

    def embed_passages(self, texts: list[str], *, seconds: float) -> list[list[float]]:
        """One vector a text, in order. Raises EmbedderFailed; may take longer than `seconds` only if it cannot stop."""
        ...

    def embed_query(self, text: str, *, seconds: float) -> list[float]:
        """The vector of a question, comparable with those of passages."""
        ...

"""What the platform asks of an embedder."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Unrelated:
    """The cosine of texts that have nothing in common, by the scripts of the two; a property of the model."""

    cjk: float
    latin: float
    across: float
    #: How much lower on the scale of similarity a right answer in another script stands.
    lift: float = 0.0

    @classmethod
    def all(cls, cosine: float) -> "Unrelated":
        return cls(cosine, cosine, cosine)


@dataclass(frozen=True)
class Typical:
    """The mean of the vectors of questions people ask a bot, by script: how near a text is to whatever is asked.

    Of a memory of three texts nobody can tell which of them lie near to everything; of the questions of the world one
    can. A text answers a question that is nearer to it than such questions are.
    """

    cjk: tuple[float, ...]
    latin: tuple[float, ...]
    #: How much nearer an answer in Latin script is to its question than one in Chinese, and than one across scripts.
    latin_lead: float = 0.0
    across_lead: float = 0.0
    #: How much less near a turn of a conversation is: the bot's answer and its neighbours are in its vector.
    turn_loss: float = 0.0


class Provider(Protocol):
    """Turns texts into vectors; named by a dotted path in MEMORY_EMBEDDERS and made once a process.

    Vectors of providers with the same `model` may be compared with each other; those of other models never are.
    """

    #: Which implementation answers; the cache and the breaker keep providers apart by it.
    name: str
    #: Whose vectors these are.
    model: str
    dimension: int
    #: Cosine of unrelated texts, and of the same text: the ranking's scale is the stretch between them.
    floor: float
    ceiling: float
    #: `floor` more exactly, by script. A provider that does not say is taken to have the same everywhere.
    unrelated: Unrelated

    def embed_passages(self, texts: list[str], *, seconds: float) -> list[list[float]]:
        """One vector a text, in order. Raises EmbedderFailed; may take longer than `seconds` only if it cannot stop."""
        ...

    def embed_query(self, text: str, *, seconds: float) -> list[float]:
        """The vector of a question, comparable with those of passages."""
        ...


def typical_of(provider: Provider) -> Typical | None:
    """What a provider says of typical questions; most say nothing."""
    return getattr(provider, "typical", None)


def unrelated_of(provider: Provider) -> Unrelated:
    """What a provider says of unrelated texts; its floor when it says nothing."""
    return getattr(provider, "unrelated", None) or Unrelated.all(provider.floor)

"""Embedders of the tests on messages: one that knows what words mean, and others that fail in their own ways."""

from typing import Any, ClassVar

from memories import embeddings
from memories.embeddings.deterministic import Deterministic

#: Words of the same meaning, in any language.
MEANINGS = {
    "boat": ("ferry", "ship", "boat", "渡轮", "船"),
    "doctor": ("dentist", "physician", "牙医", "医生"),
    "money": ("salary", "wages", "pay", "工资", "薪水"),
}


class Meaning(Deterministic):
    """Texts that share a meaning lie near each other, whatever their words; all others lie nowhere near."""

    asked: ClassVar[list[list[str]]] = []
    questions: ClassVar[list[str]] = []

    def embed_passages(self, texts: list[str], *, seconds: float) -> list[list[float]]:
        Meaning.asked.append(texts)
        return super().embed_passages(texts, seconds=seconds)

    def embed_query(self, text: str, *, seconds: float) -> list[float]:
        Meaning.questions.append(text)
        return super().embed_query(text, seconds=seconds)

    def _embed(self, text: str) -> list[float]:
        meant = [n for n, words in enumerate(MEANINGS.values()) if any(word in text.lower() for word in words)]
        vector = [0.0] * self.dimension
        for place in meant or [len(MEANINGS) + len(text) % 50]:
            vector[place] = 1.0
        return vector


class Down(Meaning):
    """Answers nothing, until it is told to."""

    is_up = False

    def embed_passages(self, texts: list[str], *, seconds: float) -> list[list[float]]:
        if not Down.is_up:
            raise embeddings.EmbedderFailed("no")
        return super().embed_passages(texts, seconds=seconds)

    def embed_query(self, text: str, *, seconds: float) -> list[float]:
        return self.embed_passages([text], seconds=seconds)[0]


class Picky(Meaning):
    """Chokes on one text, as some endpoints do."""

    def embed_passages(self, texts: list[str], *, seconds: float) -> list[list[float]]:
        if any("poison" in text for text in texts):
            raise RuntimeError("this text is too much")
        return super().embed_passages(texts, seconds=seconds)


class Narrow(Meaning):
    """The same model with fewer dimensions than before."""

    dimension = 60


class Other(Meaning):
    """Another model."""

    model = "another"


def use(settings: Any, provider: type[Deterministic]) -> None:
    settings.MEMORY_EMBEDDERS = [f"{__name__}.{provider.__name__}"]
    embeddings.forget()
    Meaning.asked.clear()
    Meaning.questions.clear()
    Down.is_up = False

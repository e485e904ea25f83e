"""Any endpoint that speaks the OpenAI embeddings API: the owner names its address, model and dimension."""

from functools import cached_property

from django.conf import settings
from openai import OpenAI, OpenAIError

from memories.embeddings.base import Unrelated
from memories.exceptions import EmbedderFailed


class OpenAICompatible:
    """Asks `MEMORY_EMBEDDING_BASE_URL`; nothing is asked anywhere unless that is set."""

    floor = 0.0
    ceiling = 1.0

    def __init__(self) -> None:
        if not settings.MEMORY_EMBEDDING_BASE_URL:
            raise EmbedderFailed("MEMORY_EMBEDDING_BASE_URL is not set.")
        self.model = settings.MEMORY_EMBEDDING_MODEL
        self.name = f"openai-compatible:{self.model}"
        self.dimension = settings.MEMORY_EMBEDDING_DIMENSION
        self.floor = settings.MEMORY_EMBEDDING_FLOOR
        self.unrelated = Unrelated.all(self.floor)

    def embed_passages(self, texts: list[str], *, seconds: float) -> list[list[float]]:
        return self._ask([text or " " for text in texts], seconds)

    def embed_query(self, text: str, *, seconds: float) -> list[float]:
        return self._ask([text or " "], seconds)[0]

    @cached_property
    def _client(self) -> OpenAI:
        return OpenAI(
            base_url=settings.MEMORY_EMBEDDING_BASE_URL,
            api_key=settings.MEMORY_EMBEDDING_API_KEY or "none",
            max_retries=0,
        )

    def _ask(self, texts: list[str], seconds: float) -> list[list[float]]:
        try:
            answer = self._client.with_options(timeout=seconds).embeddings.create(
                model=self.model, input=texts, encoding_format="float"
            )
        except (OpenAIError, ValueError, TypeError) as error:
            raise EmbedderFailed(f"The embedding endpoint failed: {type(error).__name__}.") from error
        rows = sorted(answer.data or [], key=lambda row: row.index)
        return [row.embedding for row in rows]

"""Any endpoint that speaks the OpenAI embeddings API: the owner names its address, model and dimension."""

from functools import cached_property

import httpx
from django.conf import settings
from pydantic import BaseModel, ValidationError

from memories.embeddings.base import Unrelated
from memories.endpoint import Endpoint
from memories.exceptions import EmbedderFailed

_MAX_BYTES = 64_000_000  # of an answer: vectors, written out as numbers


class _Row(BaseModel):
    index: int
    embedding: list[float]


class _Body(BaseModel):
    data: list[_Row]


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
        return self._embed([text or " " for text in texts], seconds)

    def embed_query(self, text: str, *, seconds: float) -> list[float]:
        return self._embed([text or " "], seconds)[0]

    @cached_property
    def _endpoint(self) -> Endpoint:
        """Kept open, with the proxy the environment names: a question has no time to connect anew."""
        url, key = settings.MEMORY_EMBEDDING_BASE_URL, settings.MEMORY_EMBEDDING_API_KEY
        return Endpoint(url, key, proxy_of_environment=True)

    def _embed(self, texts: list[str], seconds: float) -> list[list[float]]:
        payload = {"model": self.model, "input": texts, "encoding_format": "float"}
        try:
            response = self._endpoint.post("embeddings", payload, seconds=seconds, max_bytes=_MAX_BYTES)
        except (httpx.RequestError, httpx.InvalidURL, ValueError) as error:
            raise EmbedderFailed(f"The embedding endpoint failed: {type(error).__name__}.") from None
        if not response.is_success:
            raise EmbedderFailed(f"The embedding endpoint answered {response.status}.")
        try:
            rows = _Body.model_validate_json(response.content).data
        except ValidationError:
            raise EmbedderFailed("The embedding endpoint answered with something else.") from None
        return [row.embedding for row in sorted(rows, key=lambda row: row.index)]

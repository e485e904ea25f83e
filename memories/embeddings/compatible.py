"""Any endpoint that speaks the OpenAI embeddings API: the owner names its address, model and dimension.

Several may be named: `endpoint` reads MEMORY_EMBEDDING_*, `endpoint2` MEMORY_EMBEDDING2_*, up to `endpoint9`.
"""

from functools import cached_property
from typing import Any, TypeVar

import httpx
from django.conf import settings
from pydantic import BaseModel, ValidationError

from memories.embeddings import Unrelated
from memories.endpoint import Endpoint
from memories.exceptions import EmbedderFailed

#: That a halfvec of pgvector can have.
MOST_DIMENSIONS = 16_000
_MAX_BYTES = 64_000_000  # of an answer: vectors, written out as numbers


Number = TypeVar("Number", int, float)


class _Row(BaseModel):
    index: int
    embedding: list[float]


class _Body(BaseModel):
    data: list[_Row]


class OpenAICompatible:
    """Asks the address of one endpoint; nothing is asked anywhere unless that is set."""

    ceiling = 1.0

    def __init__(self, number: int = 1) -> None:
        """Raises EmbedderFailed when its settings are not enough to ask it."""
        self._suffix = "" if number == 1 else str(number)
        self._base_url = str(self._setting("BASE_URL"))
        self.model = str(self._setting("MODEL", of_first=True))
        self.name = f"openai-compatible{self._suffix}:{self.model}"
        self.dimension = self._number_of("DIMENSION", int)
        self.floor = self._number_of("FLOOR", float)
        self.unrelated = Unrelated.all(self.floor)
        missing = [
            name
            for name, value in (("BASE_URL", self._base_url), ("MODEL", self.model), ("DIMENSION", self.dimension))
            if not value
        ]
        if missing:
            raise EmbedderFailed(f"{', '.join(self._name_of(name) for name in missing)} is not set.")
        if not 0 < self.dimension <= MOST_DIMENSIONS:
            raise EmbedderFailed(f"{self._name_of('DIMENSION')} is not between 1 and {MOST_DIMENSIONS}.")

    def _name_of(self, name: str) -> str:
        return f"MEMORY_EMBEDDING{self._suffix}_{name}"

    def _setting(self, name: str, *, of_first: bool = False) -> Any:
        """A setting of this endpoint; a further one serves the first's model unless it names another."""
        value = getattr(settings, self._name_of(name), "")
        return getattr(settings, f"MEMORY_EMBEDDING_{name}") if value == "" and of_first else value

    def _number_of(self, name: str, kind: type[Number]) -> Number:
        try:
            return kind(self._setting(name, of_first=True) or 0)
        except ValueError:
            raise EmbedderFailed(f"{self._name_of(name)} is no number.") from None

    def embed_passages(self, texts: list[str], *, seconds: float) -> list[list[float]]:
        return self._embed([text or " " for text in texts], seconds)

    def embed_query(self, text: str, *, seconds: float) -> list[float]:
        return self._embed([text or " "], seconds)[0]

    @cached_property
    def _endpoint(self) -> Endpoint:
        """Kept open, with the proxy the environment names: a question has no time to connect anew."""
        return Endpoint(self._base_url, str(self._setting("API_KEY")), proxy_of_environment=True)

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

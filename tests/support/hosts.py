"""Rows of hosts."""

from datetime import datetime
from uuid import uuid4

from memplatform.operations.models import Host


def make_host(name: str, at: datetime, *parts: str) -> Host:
    """One that runs since then."""
    return Host.objects.create(
        name=name,
        uid=uuid4(),
        parts=list(parts or ("web", "worker")),
        version="0.1.0",
        pid=1,
        folder=uuid4(),
        folder_path="/srv/memory",
        signing_keys=["a"],
        sealing_keys=["a"],
        started_at=at,
        seen_at=at,
    )

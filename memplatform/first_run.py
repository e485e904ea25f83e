"""What a fresh database needs so that somebody can begin: made once, kept in files only their owner reads."""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

OPERATOR = "operator"
QUESTION = json.dumps({"address": {"platform": "cli"}, "message": "Where do I live now?"})


@dataclass(frozen=True)
class FirstRun:
    password_file: Path
    key_file: Path
    new_password: str | None = None
    new_key: str | None = None


def ensure(data: Path, *, now: datetime) -> FirstRun:
    """Not there yet: comes with the models it fills."""
    return FirstRun(data / "credentials" / "operator-password", data / "credentials" / "bot-key")

"""What the wheel needs beside itself: the same lines as a checkout installs, read when it is built."""

from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Needs(MetadataHookInterface):
    """Dependencies from the requirements files, the extras from those of deploy/, the client at this version."""

    def update(self, metadata: dict[str, Any]) -> None:
        top = Path(self.root)
        lines = [*_lines(top / "requirements.txt"), *_lines(top / "requirements-embedder.txt")]
        metadata["dependencies"] = [*lines, f"memplatform-client=={metadata['version']}"]
        metadata["optional-dependencies"] = {
            extra: _lines(top / "deploy" / f"requirements-{extra}.txt") for extra in ("archive", "telemetry")
        }


def _lines(file: Path) -> list[str]:
    lines = (line.partition("#")[0].strip() for line in file.read_text().splitlines())
    return [line for line in lines if line]

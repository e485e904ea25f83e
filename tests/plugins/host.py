"""A program that bots are made with, as it is installed, with our plugin and a platform that is a fake."""

import os
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests import ROOT
from tests.clients.environments import Package

PLUGINS = ROOT / "plugins"
#: People of the fake platform, as it numbers them.
PEOPLE = {"alice": 42, "bob": 43, "carol": 44}
GROUP = 700
STOP_SECONDS = 15


@dataclass(frozen=True)
class Place:
    """What a host is configured with, and where it keeps its own things."""

    home: Path
    memory: str
    key: str
    model: str

    @property
    def log(self) -> Path:
        """What the host prints."""
        return self.home / "log.txt"


class Chat(ABC):
    """The fake platform, as its people use it."""

    @abstractmethod
    def say(self, text: str, sender: str, *, in_group: bool = False, number: int | None = None) -> list[str]:
        """Write to the bot, in the group with a mention, and read what it answers.

        `number` is the message's own; given again, the platform delivers the message once more.
        """


class Host(ABC):
    """One of those programs."""

    name: str
    plugin: str  # its folder below `plugins/`
    platform: str  # which one the fake is of
    package: Package
    has_tools = False  # its model may search memory and save to it

    @property
    def packages(self) -> tuple[Package, ...]:
        """Whatever has to be installed."""
        return (self.package,)

    @abstractmethod
    def running(self, place: Place) -> AbstractContextManager[Chat]:
        """A bot of it that answers, with an empty conversation if its home is new."""


@contextmanager
def program(command: list[str], place: Place, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A host's process, with a home of its own and nothing of this environment but the path."""
    place.home.mkdir(parents=True, exist_ok=True)
    settings = {"PATH": os.environ["PATH"], "HOME": str(place.home), "LANG": "C.UTF-8", "NO_PROXY": "127.0.0.1"}
    with place.log.open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=place.home,
            env={**settings, **environment},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        with suppress(ProcessLookupError):  # what it started itself, and left
            os.killpg(process.pid, signal.SIGKILL)

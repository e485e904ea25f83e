"""A platform is pulled in a thread, as the process of channels does it; what it kept, and how it ended."""

import time
from collections.abc import Callable
from threading import Thread
from typing import Any

from django.utils import timezone

from channels_app.platforms import platform_named
from channels_app.platforms.wire import Account, Incoming, PlatformFailure


class Pulling:
    """A pull that is under way."""

    def __init__(self, platform: str, account: Account) -> None:
        self.kept: list[Incoming] = []
        self.keeps, self.is_over = 0, False
        self.failure: Exception | None = None
        self.storing: Exception | None = None  # why nothing can be stored
        self.thread = Thread(target=self._run, args=(platform, account), daemon=True)
        self.thread.start()

    def _keep(self, messages: Any, cursor: Any) -> None:
        if self.storing and messages:
            raise self.storing
        self.keeps += 1
        self.kept += messages

    def _run(self, platform: str, account: Account) -> None:
        try:
            platform_named(platform).pull(account, {}, self._keep, lambda: self.is_over, timezone.now)
        except (PlatformFailure, OSError) as failure:
            self.failure = failure


def until(condition: Callable[[], Any], seconds: float = 60) -> None:
    """Wait for something that is to become so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)

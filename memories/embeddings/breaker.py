"""A circuit breaker: a provider that keeps failing is left alone for a while (A12)."""

import threading
import time
from dataclasses import dataclass, field

from memories.conf import conf


@dataclass
class Breaker:
    """Closed while things go well; open after several failures in a row; then one call may try again."""

    failures: int = 0
    open_until: float = 0.0  # by the monotonic clock
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lets_through(self) -> bool:
        """Whether the provider may be asked now; while it rests, one call per rest tries."""
        with self._lock:
            if self.failures < conf.BREAKER_FAILURES:
                return True
            now = time.monotonic()
            if now < self.open_until:
                return False
            self.open_until = now + conf.BREAKER_REST.total_seconds()
            return True

    def succeeded(self) -> None:
        with self._lock:
            self.failures = 0

    def failed(self) -> None:
        with self._lock:
            self.failures += 1
            if self.failures >= conf.BREAKER_FAILURES:
                self.open_until = time.monotonic() + conf.BREAKER_REST.total_seconds()

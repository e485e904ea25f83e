"""Writers that never say the same thing twice, and what became of all they said."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from tests.support.house import Answer, House

_SYLLABLES = ["ba", "ke", "lo", "mi", "nu", "pra", "ste", "vor", "zil", "dom", "fen", "gar", "hul", "jak", "ros", "tiv"]


def words(random_: random.Random, count: int = 12) -> str:
    """Made-up words: no two messages are alike enough to be one memory."""
    return " ".join("".join(random_.choices(_SYLLABLES, k=4)) for _ in range(count))


def turn(peer: str, user: str) -> dict[str, object]:
    address = {"platform": "telegram", "account": "load", "peer": peer, "chat": f"chat of {peer}"}
    return {"address": address, "user": user, "assistant": "Noted."}


@dataclass(frozen=True)
class Sent:
    """One request and its answer."""

    sentence: str
    answer: Answer
    at: float
    seconds: float


@dataclass
class Load:
    house: House
    seed: int = 0
    patient: bool = False  # sends again what was not acknowledged
    sent: list[Sent] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def running(self, writers: int) -> Iterator["Load"]:
        threads = [threading.Thread(target=partial(self._write, f"writer{n}")) for n in range(writers)]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self.stopping.set()
            for thread in threads:
                thread.join()

    def _write(self, peer: str) -> None:
        mine = random.Random(f"{self.seed} {peer}")
        while not self.stopping.is_set():
            result = words(mine)
            while self.say(peer, result).status != 201 and self.patient and not self.stopping.is_set():
                pass

    def say(self, peer: str, sentence: str) -> Answer:
        """The message is its own Idempotency-Key: said again, it is stored once."""
        begun = time.monotonic()
        answer = self.house.post("turns", turn(peer, sentence), **{"Idempotency-Key": sentence})
        self.sent.append(Sent(sentence, answer, begun, time.monotonic() - begun))
        if answer.status == 0:
            time.sleep(0.05)  # nobody listens: do not ask a thousand times
        return answer

    @property
    def acknowledged(self) -> list[Sent]:
        return [sent for sent in self.sent if sent.answer.status == 201]

    @property
    def refused(self) -> list[Sent]:
        return [sent for sent in self.sent if sent.answer.status != 201]

    def stored(self) -> dict[str, tuple[int, int]]:
        """How often the database holds each message: as a message of its session, and as a memory."""
        events = Counter(self.house.ask("SELECT content FROM sessions_app_sessionevent WHERE kind = 'user'"))
        contents = self.house.ask("SELECT content FROM memories_entry WHERE content LIKE 'User: %'")
        entries = Counter(content.split("\n")[0].removeprefix("User: ") for content in contents)
        return {sent.sentence: (events[sent.sentence], entries[sent.sentence]) for sent in self.sent}

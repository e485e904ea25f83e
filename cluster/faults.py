"""Faults of parts and hosts, drawn at random: what is done to whom, and how it is taken back."""

import random
import signal
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from typing import Any

from cluster import database, hosts, product
from cluster.hosts import DATABASES, WEBS, WORKERS, Host, Part

SKEW_SECONDS = 300
DELAYS = (0.2, 0.5, 1.0, 2.0)
HOLD = (5.0, 12.0)  # seconds a fault lasts
WRITES_A_SECOND = 5  # of a slow disk: a commit takes half a second
EVERY = ("kill", "pause", "partition", "delay", "skew", "slow disk")
LOCAL = ("kill", "pause")
#: What is tried on whom. Go's programs ask the kernel for the time themselves, so that etcd's clock cannot be moved.
KINDS = {
    "primary": EVERY,
    "primary's host": ("kill",),  # with everything that runs on it
    "replica": EVERY,
    "etcd": (*LOCAL, "slow disk"),
    "pgbouncer": LOCAL,
    "haproxy": LOCAL,
    "web": EVERY,
    "worker": EVERY,
    "embedder": LOCAL,
}
ON_THE_WIRE = ("partition", "delay")


@dataclass(frozen=True)
class Fault:
    target: str
    kind: str
    host: str
    hold: float
    amount: float = 0.0  # seconds of a delay, or of a clock

    @property
    def name(self) -> str:
        return f"{self.kind} {self.target}"

    def as_row(self) -> dict[str, Any]:
        return asdict(self)

    def parts(self) -> list[Part]:
        host = host_of(self.host)
        if self.target in ("web", "worker"):
            return [part for part in product.parts(host) if part.name != "haproxy"]
        if self.target == "embedder":
            return [product.embedder(host)]
        if self.target == "primary's host":
            return database.parts(host)
        name = "patroni" if self.target in ("primary", "replica") else self.target
        return [part for part in all_parts() if part.host == host and part.name == name]

    def inject(self) -> None:
        match self.kind:
            case "kill":
                self._each(lambda part: part.send(signal.SIGKILL))
            case "pause":
                self._each(lambda part: part.send(signal.SIGSTOP))
            case "partition":
                hosts.cut_off(host_of(self.host))
            case "delay":
                hosts.delay(host_of(self.host), self.amount)
            case "slow disk":
                self._each(lambda part: hosts.slow_disk(part, WRITES_A_SECOND))
            case "skew":  # it starts anew, since a running program's clock is its machine's
                self._each(lambda part: part.send(signal.SIGKILL))
                self._each(lambda part: part.start(int(self.amount)))

    def heal(self) -> None:
        match self.kind:
            case "kill":
                for part in self.parts():
                    if not part.is_up():
                        part.start()
            case "pause":
                self._each(lambda part: part.send(signal.SIGCONT))
            case "partition":
                hosts.connect(host_of(self.host))
            case "delay":
                hosts.lift_delay(host_of(self.host))
            case "slow disk":
                hosts.give_disk_back(host_of(self.host))
            case "skew":
                self._each(lambda part: part.send(signal.SIGKILL))
                self._each(Part.start)

    def _each(self, act: Callable[[Part], object]) -> None:
        for part in self.parts():
            act(part)

    def collides_with(self, other: "Fault") -> bool:
        """Whether taking one back would undo the other."""
        if self.host != other.host:
            return False
        both_on_wire = self.kind in ON_THE_WIRE and other.kind in ON_THE_WIRE
        both_local = self.kind not in ON_THE_WIRE and other.kind not in ON_THE_WIRE
        same = (("primary", "replica"), ("worker", "embedder"))
        return both_on_wire or (
            both_local
            and (
                self.target == other.target
                or self.kind == other.kind == "slow disk"
                or "primary's host" in (self.target, other.target)
                or any(self.target in targets and other.target in targets for targets in same)
            )
        )


def drawn(pick: random.Random, primary: Host, only: Collection[str] = ()) -> Fault:
    """One fault; every pair of target and kind is as likely as another. `only` names those that are drawn from."""
    every = [(target, kind) for target, kinds in KINDS.items() for kind in kinds]
    target, kind = pick.choice([(t, k) for t, k in every if not only or f"{k} {t}" in only])
    match target:
        case "primary" | "primary's host" | "pgbouncer":  # where it is used
            host = primary
        case "replica":
            host = pick.choice([host for host in DATABASES if host != primary])
        case "etcd":
            host = pick.choice(DATABASES)
        case "haproxy":
            host = pick.choice([*DATABASES, *WEBS])
        case _:
            host = pick.choice(WEBS if target == "web" else WORKERS)
    amounts = {"delay": DELAYS, "skew": (-SKEW_SECONDS, SKEW_SECONDS)}
    amount = pick.choice(amounts.get(kind, (0.0,)))
    return Fault(target, kind, host.name, round(pick.uniform(*HOLD), 1), amount)


def drawn_together(pick: random.Random, primary: Host, count: int, only: Collection[str] = ()) -> list[Fault]:
    """So many faults at once, of which none undoes another."""
    faults: list[Fault] = []
    while len(faults) < count:
        fault = drawn(pick, primary, only)
        if not any(fault.collides_with(other) for other in faults):
            faults.append(fault)
    return faults


def leaves_a_majority(faults: list[Fault]) -> bool:
    """Whether two database hosts can still agree, so that writes are to go on."""
    hit = {
        fault.host
        for fault in faults
        if fault.host.startswith("db")
        and (fault.kind in ON_THE_WIRE or fault.target in ("primary", "primary's host", "replica", "etcd"))
    }
    return len(hit) < 2


def all_parts() -> list[Part]:
    bases = [part for host in DATABASES for part in database.parts(host)]
    return bases + [part for host in (*WEBS, *WORKERS) for part in product.parts(host)]


def host_of(name: str) -> Host:
    return next(host for host in hosts.HOSTS if host.name == name)


def restore() -> None:
    """Everything as it was built: every cable in its place, every part going."""
    for host in hosts.HOSTS:
        hosts.lift_delay(host)
        hosts.give_disk_back(host)
        hosts.connect(host)
    for part in all_parts():
        part.send(signal.SIGCONT)
        if not part.is_up():
            part.start()


def is_whole() -> bool:
    """Whether every part goes, a primary has both its replicas, and both webs answer with their database."""
    return all(part.is_up() for part in all_parts()) and database.is_whole() and all(map(product.is_ready, WEBS))

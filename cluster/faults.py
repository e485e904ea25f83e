"""Faults of parts and hosts, drawn at random: what is done to whom, and how it is taken back."""

import random
import signal
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from cluster import database, hosts, product
from cluster.hosts import DATABASES, WEBS, WORKERS, Host, Part

SKEW_SECONDS = 300
DELAYS = (0.2, 0.5, 1.0, 2.0)
HOLD = (5.0, 12.0)  # seconds a fault lasts
EVERY = ("kill", "pause", "partition", "delay", "skew")
LOCAL = ("kill", "pause")
#: What is tried on whom. Go's programs ask the kernel for the time themselves, so that etcd's clock cannot be moved.
KINDS = {
    "primary": EVERY,
    "replica": EVERY,
    "etcd": LOCAL,
    "pgbouncer": LOCAL,
    "haproxy": LOCAL,
    "web": EVERY,
    "worker": EVERY,
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
            case "skew":  # it starts anew, since a running program's clock is its machine's
                self._each(lambda part: part.send(signal.SIGKILL))
                self._each(lambda part: part.start(int(self.amount)))

    def heal(self) -> None:
        match self.kind:
            case "kill":
                self._each(Part.start)
            case "pause":
                self._each(lambda part: part.send(signal.SIGCONT))
            case "partition":
                hosts.connect(host_of(self.host))
            case "delay":
                hosts.lift_delay(host_of(self.host))
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
        patroni = ("primary", "replica")
        return both_on_wire or (
            both_local and (self.target == other.target or (self.target in patroni and other.target in patroni))
        )


def drawn(pick: random.Random, primary: Host) -> Fault:
    """One fault; every pair of target and kind is as likely as another."""
    target, kind = pick.choice([(target, kind) for target, kinds in KINDS.items() for kind in kinds])
    match target:
        case "primary" | "pgbouncer":  # where it is used
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


def drawn_together(pick: random.Random, primary: Host, count: int) -> list[Fault]:
    """So many faults at once, of which none undoes another."""
    faults: list[Fault] = []
    while len(faults) < count:
        fault = drawn(pick, primary)
        if not any(fault.collides_with(other) for other in faults):
            faults.append(fault)
    return faults


def leaves_a_majority(faults: list[Fault]) -> bool:
    """Whether two database hosts can still agree, so that writes are to go on."""
    hit = {
        fault.host
        for fault in faults
        if fault.host.startswith("db") and (fault.kind in ON_THE_WIRE or fault.target in ("primary", "replica", "etcd"))
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
        hosts.connect(host)
    for part in all_parts():
        part.send(signal.SIGCONT)
        if not part.is_up():
            part.start()


def is_whole() -> bool:
    """Whether every part goes, a primary has both its replicas, and both webs answer with their database."""
    return all(part.is_up() for part in all_parts()) and database.is_whole() and all(map(product.is_ready, WEBS))

"""Which processes compute: what is silent and uses the processor is busy, what is silent and does not, hangs."""

from dataclasses import dataclass, field

import psutil

#: Share of one processor's time from which a process counts as busy; on a crowded machine it does not get all it wants.
BUSY_SHARE = 0.10
#: Seconds over which that share is taken.
WINDOW = 15.0


@dataclass
class Workload:
    """The processor time of processes, as it was read at every look."""

    readings: dict[int, list[tuple[float, float]]] = field(default_factory=dict)  # pid: moment, seconds computed

    def is_busy(self, pid: int, ticks: float) -> bool:
        """Whether a process computed in the last seconds; of one just met nothing is known, so it is not busy."""
        if (computed := _computed(pid)) is None:
            self.readings.pop(pid, None)
            return False
        known = [*self.readings.get(pid, []), (ticks, computed)]
        while len(known) > 2 and ticks - known[1][0] >= WINDOW:
            del known[0]
        self.readings[pid] = known
        begun, before = known[0]
        return ticks > begun and (computed - before) / (ticks - begun) >= BUSY_SHARE

    def forget_all_but(self, pids: set[int]) -> None:
        for pid in self.readings.keys() - pids:
            del self.readings[pid]


def _computed(pid: int) -> float | None:
    """Seconds of processor time a process has used, of all its threads; None of one that has ended."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return None
    return float(times.user + times.system)

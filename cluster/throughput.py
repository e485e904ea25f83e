"""How many turns and recalls a second, by the number of webs and of replicas: every kind of host has its share of CPU.

A machine has fewer processors than this has hosts. So that a ratio means something, what is multiplied is what is
short: each web, or each PostgreSQL, has a fraction of one processor by a control group, and the rest has what it takes.
Rounds are short and alternate, there and back, again and again, so that what else the machine does meanwhile falls on
all alike; of every number there are several, and the median is taken. Recalls are counted while nobody writes: a
replica that is short of a processor would fall behind what is written, and be left out.
"""

import json
import statistics
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from cluster import database, hosts, product, trial
from cluster.hosts import SPARE, WEBS, Host, Part
from cluster.wire import Api, address

ASKERS, SECONDS = 12, 6.0
PEOPLE = 40
CALLS = ("recall", "turns")
STALE = "recall, stale"  # answered by a replica alone
Figures = dict[str, dict[int, list[float]]]  # of a call, by how many: calls a second


def run(folder: Path, web_share: float, server_share: float, rounds: int) -> tuple[Figures, Figures]:
    """By 1, 2, 3 webs; by 0, 1, 2 replicas. The cluster must have been built with `--replicas`."""
    if not database.modes()["replicas"]:
        raise RuntimeError("Recalls are read from replicas in a cluster that was built with --replicas.")
    folder.mkdir(parents=True)
    webs = [*WEBS, SPARE]
    (spare,) = (part for part in product.parts(SPARE) if part.name == "up")
    if not spare.is_up():
        spare.start()
    hosts.until(lambda: all(product.is_ready(web) for web in webs), product.READY_SECONDS, "three webs that answer")
    parts = [part for web in webs for part in product.parts(web) if part.name == "up"]
    servers = [database.part_of(host, "patroni") for host in hosts.DATABASES]
    try:
        _rate(webs, "turns", 5)  # what is made once is there
        for part in servers:
            hosts.favour_cpu(part)
        by_webs = _measured("webs", (1, 2, 3), parts, web_share, rounds, lambda count: webs[:count])
        for part in parts:
            hosts.favour_cpu(part)
        by_replicas = _by_replicas(webs, servers, server_share, rounds)
    finally:
        for host in (*webs, *hosts.DATABASES):
            hosts.lift_cpu_limit(host)
        spare.end(60)
    report = {"about": trial.about(), "web_share": web_share, "server_share": server_share}
    report |= {"webs": by_webs, "replicas": by_replicas}
    (folder / trial.REPORT).write_text(json.dumps(report, indent=1))
    (folder / "report.md").write_text(page_of(by_webs, by_replicas))
    return by_webs, by_replicas


def _by_replicas(webs: list[Host], servers: list[Part], share: float, rounds: int) -> Figures:
    primary = database.primary()
    replicas = [host for host in hosts.DATABASES if host != primary]

    def led(count: int) -> list[Host]:
        for number, replica in enumerate(replicas):
            database.lead_to_replica(replica, is_led=number < count)
        time.sleep(4)  # until the webs have found out
        _rate(webs, "recall", SECONDS)  # and have their connections
        return webs

    try:
        return _measured("replicas", (0, 1, 2), servers, share, rounds, led)
    finally:
        led(len(replicas))


def _measured(
    what: str,
    counts: tuple[int, ...],
    parts: list[Part],
    share: float,
    rounds: int,
    hosts_of: Callable[[int], list[Host]],
) -> Figures:
    """There and back over the counts, so many rounds of each call, with the share of a processor for each part."""
    result: Figures = {call: defaultdict(list) for call in (*CALLS, STALE)}
    for part in parts:
        hosts.limit_cpu(part, share)
    for call in CALLS:
        for number in range(rounds):
            for count in counts[:: -1 if number % 2 else 1]:
                rate, stale = _rate(hosts_of(count), call, SECONDS)
                result[call][count].append(round(rate, 1))
                if call == "recall":
                    result[STALE][count].append(round(stale, 1))
                print(f"{count} {what}: {rate:.1f} {call} a second, {stale:.1f} stale", flush=True)
    for part in parts:
        hosts.lift_cpu_limit(part.host)
    return result


def _rate(webs: list[Host], call: str, seconds: float) -> tuple[float, float]:
    """Calls a second, and those of them that are stale; as many ask, on the load host, as leave no web without work."""
    words = [
        "nice",
        "-n",
        "-5",
        sys.executable,
        "-m",
        "cluster",
        "ask",
        call,
        ",".join(web.address for web in webs),
        str(seconds),
    ]
    process = subprocess.run(["ip", "netns", "exec", hosts.LOAD.name, *words], cwd=hosts.ROOT, capture_output=True)
    if process.returncode:
        raise RuntimeError(process.stderr.decode()[-500:])
    rate, stale = map(float, process.stdout.split())
    return rate, stale


def ask(call: str, addresses: list[str], seconds: float) -> tuple[float, float]:
    """(On the load host) calls a second that were answered with success, and those of them that are stale."""
    keys, counts, end = product.keys(), list[tuple[int, int]](), time.monotonic() + seconds

    def live(index: int) -> None:
        api, hits, stale = Api([(addresses[index % len(addresses)], product.WEB)], keys), 0, 0
        workspace = product.WORKSPACES[index % len(product.WORKSPACES)]
        while time.monotonic() < end:
            peer = f"t{index}-{hits % PEOPLE}"
            if call == "turns":
                body = {"address": address(peer), "user": f"On day {hits} I saw {index} herons.", "assistant": "Noted."}
            else:
                body = {"address": address(peer), "message": "How many herons did I see?", "need": "off"}
            status, row, _wait = api.call(workspace, "POST", call, body)
            hits += status is not None and status < 300
            stale += "stale" in row.get("degraded", ())
        counts.append((hits, stale))

    threads = [threading.Thread(target=live, args=(index,)) for index in range(ASKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(hits for hits, _stale in counts) / seconds, sum(stale for _hits, stale in counts) / seconds


def page_of(by_webs: Figures, by_replicas: Figures) -> str:
    """Tables of rates, medians with the least and the most, and of each against the first of its row."""
    lines = []
    for what, figures in (("webs", by_webs), ("replicas", by_replicas)):
        counts = sorted(figures["recall"])
        lines += [f"| calls a second | {' | '.join(f'{count} {what}' for count in counts)} |", "|---" * 4 + "|"]
        for call in CALLS:
            rates = [figures[call][count] for count in counts]
            first = statistics.median(rates[0]) or 1
            cells = [f"{(m := statistics.median(s)):.1f} ({m / first:.2f} ×), {min(s)} to {max(s)}" for s in rates]
            lines.append(f"| `/{call}` | {' | '.join(cells)} |")
        medians = [f"{statistics.median(figures[STALE][count]):.1f}" for count in counts]
        lines.append(f"| {STALE} | {' | '.join(medians)} |")
        lines.append("")
    return "\n".join(lines)

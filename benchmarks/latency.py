"""How long do POST /turns and POST /recall take, and where does the time go? `make bench ARGS=latency`.

Fills one scope of a platform, waits for the embedder, and measures over HTTP. What the database and the embedder take
of a call is measured in a second round in this process, with calls of the same kind; the rest is Python and the way
there and back. On a machine that does other things as well, believe the ratios.
"""

import argparse
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.test import Client

from benchmarks.ground import Milliseconds, percentile
from memories import embeddings
from memories.models import RecallTrace
from tests.support.house import House, until

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = {"platform": "telegram", "account": "bench", "peer": "u1", "chat": "c1"}
#: The patience with the embedder is not what is measured.
ENVIRONMENT = {"MEMORY_EMBED_RECALL_SECONDS": "5"}
EMBED_SECONDS = 600
#: A connection is used again for so long, as clients do.
IDLE_SECONDS = 30
PROBE = "Which harbour did the blue boat leave?"
NOUNS = ("harbour", "boat", "violin", "garden", "letter", "engine", "market", "bridge", "recipe", "camera", "ladder")
VERBS = ("repaired", "painted", "borrowed", "lost", "measured", "sold", "cleaned", "found", "photographed", "carried")
PLACES = ("Porto", "Lviv", "Hangzhou", "Bergen", "Oaxaca", "Tartu", "Nantes", "Chengdu", "Perth", "Leipzig")
CHINESE = ("周末去湖边散步", "给花换了大一点的盆", "把旧书捐给图书馆", "学会了做酸菜鱼", "修好了阳台的灯")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--entries", type=int, default=1_000, help="turns in the scope before anything is measured")
    parser.add_argument("--calls", type=int, default=200, help="of each kind")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def main(house: House, options: argparse.Namespace) -> None:
    settings.MEMORY_EMBED_RECALL_SECONDS = 5
    key = (house.data / "credentials" / "bot-key").read_text()
    with closing(Caller(house.port, key)) as caller:
        log(f"filling a scope with {options.entries} turns …")
        for n in range(options.entries):
            caller.post("turns", turn(n))
        wait_for_vectors(caller)
        log(f"{options.calls} calls of each kind …")
        over_http = measure(caller, options.entries, options.calls)
    embeddings.warm_up()
    within = measure_parts(key, options.entries + options.calls, options.calls)
    print_report({"entries": options.entries, "calls": options.calls, **figures(over_http, within)}, options.json)


# turns and questions


def turn(n: int) -> dict[str, Any]:
    """The n-th turn of a made-up life; its number keeps it from being merged with another."""
    pick = random.Random(n)
    user = f"On day {n} I {pick.choice(VERBS)} the {pick.choice(NOUNS)} in {pick.choice(PLACES)}"
    more = f", and {pick.choice(CHINESE)}。" if n % 3 == 0 else f", then {pick.choice(VERBS)} a {pick.choice(NOUNS)}."
    return {"address": ADDRESS, "user": user + more, "assistant": f"Day {n}: noted, in {pick.choice(PLACES)}."}


def question(n: int) -> dict[str, Any]:
    pick = random.Random(-n - 1)
    message = f"When was it that I {pick.choice(VERBS)} the {pick.choice(NOUNS)} number {n} in {pick.choice(PLACES)}?"
    return {"address": ADDRESS, "message": message}


# over HTTP


class Caller:
    """A bot with one keep-alive connection."""

    def __init__(self, port: int, key: str) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._used_at = time.monotonic()
        self.close = self._connection.close

    def post(self, call: str, body: dict[str, Any]) -> tuple[dict[str, Any], float]:
        """The answer and its milliseconds."""
        return self._ask("POST", f"/api/v1/{call}", json.dumps(body))

    def least(self) -> float:
        """The milliseconds of a call with a key that reads nothing."""
        return self._ask("GET", "/api/v1/tools", None)[1]

    def ping(self) -> float:
        """The milliseconds of the way there and back, with nothing done."""
        return self._ask("GET", "/livez", None)[1]

    def _ask(self, method: str, path: str, body: str | None) -> tuple[dict[str, Any], float]:
        if time.monotonic() - self._used_at > IDLE_SECONDS:  # the server may have hung up meanwhile
            self._connection.close()
        begun = time.perf_counter()
        self._connection.request(method, path, body, self._headers)
        response = self._connection.getresponse()
        answer = response.read()
        took = (time.perf_counter() - begun) * 1000
        self._used_at = time.monotonic()
        if response.status >= 400:
            sys.exit(f"{method} {path} answered {response.status}: {answer.decode(errors='replace')[:500]}")
        return dict(json.loads(answer)), took


def wait_for_vectors(caller: Caller) -> None:
    """Until the newest turn is found by its vector too: the embedder works in order of arrival."""

    def is_there() -> bool:
        time.sleep(0.5)
        answer, _took = caller.post("recall", {"address": ADDRESS, "message": PROBE, "limit": 50, "explain": True})
        results = [*answer["memories"], *answer["left_out"]]
        return bool(results) and not answer["degraded"] and all(item["why"]["vector"] is not None for item in results)

    caller.post("turns", {"address": ADDRESS, "user": "The blue boat left harbour seven.", "assistant": "Noted."})
    until(is_there, EMBED_SECONDS)


def measure(caller: Caller, first: int, calls: int) -> dict[str, Milliseconds]:
    took: dict[str, Milliseconds] = defaultdict(list)
    for n in range(calls):
        took["ping"].append(caller.ping())
        took["recall"].append(caller.post("recall", question(n))[1])
        took["turns"].append(caller.post("turns", turn(first + n))[1])
    return took


# within this process


def measure_parts(key: str, first: int, calls: int) -> dict[str, Milliseconds]:
    """The same calls through Django's test client: what they spend in SQL, and what traces say of embedding."""
    client = Client(headers={"Authorization": f"Bearer {key}", "Host": "localhost"})
    took: dict[str, Milliseconds] = defaultdict(list)
    for n in range(calls):
        for call, body in (("recall", question(calls + n)), ("turns", turn(first + n))):
            clock = Clock()
            with connection.execute_wrapper(clock):
                answer = client.post(f"/api/v1/{call}", body, content_type="application/json")
            if answer.status_code >= 400:
                sys.exit(f"POST /{call} answered {answer.status_code}: {answer.content.decode()[:500]}")
            took[f"{call}.sql"].append(clock.milliseconds)
            took[f"{call}.statements"].append(clock.statements)
            if call == "recall":
                trace = RecallTrace.objects.get(uid=answer.json()["recall_id"])
                took["recall.embedding"].append(trace.timings["embedding"])
    return took


class Clock:
    """Counts statements and the time they take."""

    def __init__(self) -> None:
        self.milliseconds, self.statements = 0.0, 0

    def __call__(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        begun = time.perf_counter()
        try:
            return execute(*arguments)
        finally:
            self.milliseconds += (time.perf_counter() - begun) * 1000
            self.statements += 1


# figures


def figures(over_http: dict[str, Milliseconds], within: dict[str, Milliseconds]) -> dict[str, Any]:
    data: dict[str, Any] = {"ping": percentiles(over_http["ping"])}
    for call in ("recall", "turns"):
        total = percentiles(over_http[call])
        parts = {part: percentile(within.get(f"{call}.{part}", [0.0]), 50) for part in ("embedding", "sql")}
        parts["python"] = round(max(total["p50"] - sum(parts.values()), 0.0), 2)
        data[call] = {
            **total,
            "p50_of": parts,
            "share_of": {part: round(value / total["p50"], 2) for part, value in parts.items()},
            "times_a_ping": round(total["p50"] / data["ping"]["p50"], 1),
            "p95_to_p50": round(total["p95"] / total["p50"], 2),
            "statements": int(percentile(within[f"{call}.statements"], 50)),
        }
    return data


def percentiles(values: Milliseconds) -> dict[str, float]:
    return {f"p{percent}": percentile(values, percent) for percent in (50, 95)}


def print_report(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(result))
        return
    print(f"scope of {result['entries']:,} turns, {result['calls']} calls; milliseconds over HTTP, parts of the p50\n")
    print(f"{'':14}{'p50':>8}{'p95':>8}{'embedding':>12}{'SQL':>12}{'Python':>12}{'× a ping':>10}{'p95/p50':>9}")
    for call in ("recall", "turns"):
        row = result[call]
        parts = "".join(f"{row['p50_of'][p]:7.1f} {row['share_of'][p]:3.0%}" for p in ("embedding", "sql", "python"))
        numbers = f"{row['p50']:8.1f}{row['p95']:8.1f}{parts}{row['times_a_ping']:10.1f}{row['p95_to_p50']:9.2f}"
        print(f"POST /{call:8}{numbers}   {row['statements']} statements")
    print(f"{'GET /livez':14}{result['ping']['p50']:8.1f}{result['ping']['p95']:8.1f}")


def log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

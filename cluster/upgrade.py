"""A rolling upgrade under load: host after host goes from one version to the next, on one database.

The first version is the one the cluster runs: this checkout, or a commit it was built of. The next is a commit, this
checkout, or the same with one more migration that adds what the first does not know. The first host that starts in it
brings the tables up to date, beside those that go on.
"""

import io
import json
import re
import subprocess
import sys
import tarfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cluster import faults, hosts, product, trial
from cluster.checker import Report
from cluster.history import calls_of
from cluster.hosts import WEBS, WORKERS

FIRST, NEXT = hosts.STATE / "first", hosts.STATE / "next"  # the code of either version
PLANTED = Path("sessions_app") / "migrations"
BEFORE, BETWEEN, READY_SECONDS = 5.0, 2.0, 240
#: A column that only the next version has, which the database fills.
_MIGRATION = '''"""What the next version adds."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "{before}")]
    operations = [
        migrations.RunSQL(
            "ALTER TABLE sessions_app_sessionevent ADD COLUMN planted text NOT NULL DEFAULT \\'\\'",
            "ALTER TABLE sessions_app_sessionevent DROP COLUMN planted",
        )
    ]
'''


@dataclass
class Step:
    """One host: when it was asked to end, and when it answered again, on the clock of the history."""

    host: str
    stopped: float
    ready: float

    @property
    def seconds(self) -> float:
        return round(self.ready - self.stopped, 1)


@dataclass
class Upgrade:
    before: str
    after: str
    steps: list[Step] = field(default_factory=list)
    calls: int = 0
    silence: dict[str, float] = field(default_factory=dict)  # from the first host's end until the last answers
    calm: dict[str, float] = field(default_factory=dict)
    findings: dict[str, int] = field(default_factory=dict)
    says: list[str] = field(default_factory=list)

    @property
    def is_well(self) -> bool:
        """Nothing was found, and no write waited longer than one host takes to start anew."""
        return not self.findings and max(self.silence.values()) <= max(step.seconds for step in self.steps)


def plant(folder: Path) -> str:
    """One more migration into a copy of the code; its name."""
    last = max(path.stem for path in (folder / PLANTED).glob("[0-9]*.py"))
    name = f"{int(re.match(r'[0-9]+', last)[0]) + 1:04}_planted"  # type: ignore[index]
    (folder / PLANTED / f"{name}.py").write_text(_MIGRATION.format(before=last))
    return name


def unpack(commit: str, folder: Path) -> None:
    """The code of a commit, with the environment of this folder."""
    folder.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", commit], cwd=hosts.ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    command = [sys.executable, "manage.py", "compilemessages", "-v0"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def run(folder: Path, before: str | None, after: str | None, pause: float) -> Upgrade:
    """Upgrade every host under load; history and report are in the folder."""
    folder.mkdir(parents=True)
    if NEXT.exists():
        raise RuntimeError("This cluster was upgraded before: take it down, and build it anew.")
    unpack(after or "HEAD", NEXT)
    head = hosts.run("git", "-C", str(hosts.ROOT), "rev-parse", "--short", "HEAD").strip()
    result = Upgrade(before or head, after or (head if before else f"the same with {plant(NEXT)}"))
    one = trial.Round(1, [], True)
    with trial.under_load(folder, pause, seconds=1_800):
        began = time.monotonic()
        time.sleep(BEFORE)
        first = time.monotonic()
        for host in (*WEBS, *WORKERS):
            result.steps.append(_step(host))
            print(f"{host.name}: {result.steps[-1].seconds} s", flush=True)
            time.sleep(BETWEEN)
        last = time.monotonic()
        time.sleep(trial.AFTER)
    hosts.until(faults.is_whole, trial.WHOLE_SECONDS, "a whole cluster")
    calls = calls_of(folder / trial.HISTORY)
    result.calls = len(calls)
    result.calm, result.silence = trial.silences(calls, began, first), trial.silences(calls, first, last)
    report = trial.settled(calls, folder, one)
    _judge(result, report)
    _write(folder, result)
    return result


def _step(host: hosts.Host) -> Step:
    stop = time.monotonic()
    product.restart(host, NEXT)
    if host in WEBS:
        hosts.until(lambda: product.is_ready(host), READY_SECONDS, f"{host.name} in the next version")
    else:
        log = next(part for part in product.parts(host) if part.name == "up").log
        greeting = f"runs on the host {host.name}"
        count = log.read_text().count(greeting)
        hosts.until(lambda: log.read_text().count(greeting) > count, READY_SECONDS, f"{host.name} in the next version")
    return Step(host.name, stop, time.monotonic())


def _judge(result: Upgrade, report: Report) -> None:
    result.findings = {str(kind): count for kind, count in report.by_kind().items() if count}
    result.says = [f"{finding.kind}: {finding.says}" for finding in report.findings]


def _write(folder: Path, result: Upgrade) -> None:
    about = trial.about()
    rows = {"about": about, **asdict(result)}
    (folder / trial.REPORT).write_text(json.dumps(rows, indent=1))
    (folder / "report.md").write_text(page_of(result, about))


def page_of(result: Upgrade, about: dict[str, object]) -> str:
    """What was seen, for people."""
    lines = [
        f"From {result.before} to {result.after}, {result.calls} calls; {about['date']}, {about['machine']},"
        f" load average {about['load_average']}. Found: {result.findings or 'nothing'}.",
        "",
        "| host | seconds from its end until it answered |",
        "|---|---|",
        *(f"| {step.host} | {step.seconds} |" for step in result.steps),
        "",
        "| seconds without an answer to any client | before | meanwhile |",
        "|---|---|---|",
        *(f"| {what} | {result.calm[what]} | {result.silence[what]} |" for what in result.silence),
    ]
    return "\n".join(lines) + "\n"

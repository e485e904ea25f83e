"""Is what was acknowledged there after an upgrade that was killed in the middle? `python -m benchmarks upgrade`.

The older version is this one; the newer is a copy of it with three more migrations: a table that is filled from what
there is, a column, and an index built beside the writers. Writers send turns of which no two are alike, again and again
until each is acknowledged, from before the upgrade until after it.

The older is stopped, the newer started with an embedded database, and killed with -9 while it backs up, in the
transaction of the first migration (the database with it), and while the index is built; the fourth start has to greet.
Then the older is started again and has to refuse; and the backup, made before the tables changed, is restored with it.
Both versions at once, on several hosts: `make cluster-upgrade`.

Exits with 1 when an acknowledged turn is missing, or is there twice.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.ground import ROOT
from benchmarks.soak import lost_or_torn, report_calls
from memplatform import postgres
from memplatform.postgres import place
from tests.support.house import House, free_port, until
from tests.support.load import Load, Sent

#: Of the newer version. A row more takes the index as long as `delay` says; afterwards a row costs nothing.
NEXT = {
    "0901_next_table": (
        "",
        """migrations.CreateModel(
            "NextThing", [("id", models.BigAutoField(primary_key=True)), ("of", models.TextField())]
        ),
        migrations.RunSQL("INSERT INTO memories_nextthing (of) SELECT content FROM memories_entry"),
        migrations.RunSQL("SELECT pg_sleep({pause})"),""",
    ),
    "0902_next_column": (
        "",
        """migrations.AddField("entry", "mood", models.IntegerField(db_default=7)),
        migrations.RunSQL(
            "CREATE FUNCTION planted_delay(content text) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS"
            " $$BEGIN PERFORM pg_sleep({delay}); RETURN length(content); END$$"
        ),""",
    ),
    "0903_next_index": (
        "atomic = False",
        """BuildIndex(
            "entry", models.Index(models.Func("content", function="planted_delay"), name="planted_index")
        ),
        migrations.RunSQL(
            "CREATE OR REPLACE FUNCTION planted_delay(content text) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS"
            " $$BEGIN RETURN length(content); END$$"
        ),""",
    ),
}
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "dist", "screenshots", "pictures")
BUILDING = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY%%' AND state = 'active'"
ASLEEP = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%%' AND state = 'active'"
#: Seconds, on a machine that has much else to do.
PATIENCE = 400
HASHED = {"MEMORY_EMBEDDERS": "memories.embeddings.deterministic.Deterministic", "MEMPLATFORM_MCP": "no"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--turns", type=int, default=400, help="there before the upgrade begins")
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--pause", type=float, default=4.0, help="seconds a migration takes longer")
    parser.add_argument("--delay", type=float, default=0.01, help="seconds a row takes longer while the index is built")


def main(data: Path, options: argparse.Namespace) -> None:
    newer = newer_version(data.parent / "newer", options.pause, options.delay)
    wrong = alone(data, newer, options.turns, options.writers)
    print(f"load average {os.getloadavg()[0]:.1f} after")
    sys.exit(1 if wrong else 0)


def newer_version(folder: Path, pause: float, delay: float) -> Path:
    """This version and three more migrations."""
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
    before = max(file.stem for file in (ROOT / "memories" / "migrations").glob("0*.py"))
    for name, (more, operations) in NEXT.items():
        text = operations.replace("{pause}", str(pause)).replace("{delay}", str(delay))
        (folder / "memories" / "migrations" / f"{name}.py").write_text(
            "from django.db import migrations, models\n"
            "from memories.migrations._sql import BuildIndex\n\n\n"
            f"class Migration(migrations.Migration):\n    dependencies = [('memories', '{before}')]\n"
            f"    {more}\n    operations = [\n        {text}\n    ]\n"
        )
        before = name
    return folder


def alone(data: Path, newer: Path, turns: int, writers: int) -> list[str]:
    """With an embedded database: what is lost or half-written."""
    port = free_port()
    older = House(data, port, **HASHED).greets()
    load = Load(older, patient=True)
    with load.running(writers):
        until(lambda: len(load.acknowledged) >= turns, PATIENCE)
        took = older.end(signal.SIGTERM)
        print(f"{turns} turns there, {writers} writers; the older version ended in {took:.1f} s")

        def start() -> House:
            return House(data, port, newer, **HASHED)

        kill(start(), "while it backs up", lambda _house: any(data.glob("backups/*.unfinished")))
        house = start()
        kill(house, "in a migration, the database with it", lambda house: asks(data, ASLEEP))
        kill_database(data)
        house = start()
        kill(house, "while an index is built", lambda house: asks(data, BUILDING))
        began = time.monotonic()
        house = start().greets()
        print(f"  started again: it greets after {time.monotonic() - began:.1f} s")
        until(lambda: len(load.acknowledged) > turns and load.sent[-1].answer.status == 201, 30)
        count = len(load.acknowledged)
        until(lambda: len(load.acknowledged) >= count + turns // 4, PATIENCE)
    report(load)
    wrong = lost_or_torn(load) + incomplete(house)
    house.end(signal.SIGTERM)
    wrong += refuses(House(data, port, **HASHED))
    return wrong + way_back(data, load, port)


def kill(house: House, when: str, is_time: Callable[[House], object]) -> None:
    """With -9, as soon as it is time; its children notice by themselves."""
    began = time.monotonic()
    until(lambda: is_time(house) or house.process.poll() is not None, PATIENCE)
    assert house.process.poll() is None, house.output
    house.process.send_signal(signal.SIGKILL)
    house.process.wait()
    house.reader.join()
    print(f"  killed with -9 {when}, {time.monotonic() - began:.1f} s after its start")


def kill_database(data: Path) -> None:
    server = postgres.server.find_postmaster(place.locate(data).cluster)
    assert server
    os.kill(server.pid, signal.SIGKILL)


def asks(data: Path, question: str) -> bool:
    """Whether the database, if it answers at all, counts one."""
    import psycopg

    try:
        with psycopg.connect(postgres.url(data)) as connection:
            row = connection.execute(question).fetchone()
    except (psycopg.Error, postgres.PostgresError, OSError):
        return False
    return bool(row and row[0])


def incomplete(house: House) -> list[str]:
    """What the tables lack of the newer version."""
    applied = set(house.ask("SELECT name FROM django_migrations WHERE app = 'memories'"))
    valid = house.ask("SELECT indisvalid FROM pg_index WHERE indexrelid = 'planted_index'::regclass")
    filled = house.ask("SELECT count(*) FROM memories_entry WHERE mood IS DISTINCT FROM 7")
    print(f"migrations applied: {sorted(applied & set(NEXT))}; index valid: {valid}; rows without the column: {filled}")
    return sorted(set(NEXT) - applied) + [str(rows) for rows in (valid, filled) if rows not in ([True], [0])]


def refuses(older: House) -> list[str]:
    """That the older version does not start on the tables of the newer one, and says why."""
    older.process.wait(timeout=PATIENCE)
    older.reader.join()
    words = " ".join(older.output)
    print(f"the older version on these tables: exit code {older.process.returncode}: {older.output[-2:]}")
    return [] if older.process.returncode and "newer version" in words else ["the older version started"]


def way_back(data: Path, load: Load, port: int) -> list[str]:
    """The backup of before, restored with the older version: it holds all that was acknowledged before it began."""
    backups = sorted((data / "backups").iterdir())
    newest = backups[0]
    folder = data.parent / "restored"
    words = [sys.executable, "manage.py", "restore_backup", str(newest)]
    environment = {**os.environ, "MEMPLATFORM_DATA": str(folder)}
    subprocess.run(words, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    house = House(folder, port, **HASHED).greets()
    contents = set(house.ask("SELECT content FROM sessions_app_sessionevent WHERE kind = 'user'"))
    house.end(signal.SIGTERM)
    earlier = [call for call in load.acknowledged if call.at < first_gap(load)]
    lost_sentences = [call.sentence for call in earlier if call.sentence not in contents]
    names = [backup.name for backup in backups]
    print(
        f"backups made by themselves: {names}; restored with the older version: {len(earlier)} turns of before,",
        end=" ",
    )
    print(f"{len(lost_sentences)} of them missing")
    return lost_sentences


def first_gap(load: Load) -> float:
    """When the older version stopped answering."""
    return min((call.at for call in load.refused), default=time.monotonic())


def report(load: Load) -> None:
    """How long nobody was answered, and how the calls were."""
    times = sorted(call.at + call.seconds for call in load.acknowledged)
    longest = max(later - earlier for earlier, later in zip(times, times[1:], strict=False))
    print(f"  nothing was acknowledged for {longest:.1f} s, all starts and kills together", end="; ")
    answered_calls: list[Sent] = [call for call in load.sent if call.answer.status]
    report_calls("turns", [(call.answer, call.seconds) for call in answered_calls])

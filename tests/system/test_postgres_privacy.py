"""What the embedded database writes beside its tables: nobody's words, and nothing for other accounts to read."""

import os
import signal
import threading
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from memplatform import postgres
from memplatform.postgres import place


def up(data: Path) -> str:
    return postgres.up(data, postgres.THROWAWAY)


SECRET = "I was treated for it in March"
#: What PostgreSQL quotes in the reason, the detail, or the statement it refused.
REFUSED = [
    f"SELEC '{SECRET}'",
    f"SELECT '{SECRET}'::int",
    f"SELECT '{{\"{SECRET}\": '::jsonb",
    f"SELECT 1 / 0, '{SECRET}'",
    f"INSERT INTO said VALUES ('{SECRET}'), ('{SECRET}')",
    f"INSERT INTO said VALUES (repeat('{SECRET} ', 3))",
    f"DO $$ BEGIN RAISE WARNING '{SECRET}'; RAISE EXCEPTION '{SECRET}'; END $$",
]


def test_the_log_holds_no_words_of_refused_statements(used: Path) -> None:
    with psycopg.connect(postgres.up(used), autocommit=True) as connection:  # configured as in production
        connection.execute("CREATE TABLE said (words text UNIQUE CHECK (length(words) < 40))")
        for statement in REFUSED:
            with pytest.raises(psycopg.Error):
                connection.execute(statement)
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT %s::text::int", [SECRET])
    log = place.locate(used).log.read_text()
    assert SECRET not in log
    assert "ready to accept connections" in log


def test_the_log_tells_of_a_crash_without_the_statement_that_ran(used: Path) -> None:
    with closing(psycopg.connect(postgres.up(used))) as connection:
        pid = connection.info.backend_pid
        other = threading.Thread(target=_ask_slowly, args=(connection,))
        other.start()
        time.sleep(0.5)
        os.kill(pid, signal.SIGKILL)
        other.join()
    log = place.locate(used).log
    end = time.monotonic() + 10
    while "terminated by signal 9" not in log.read_text():
        assert time.monotonic() < end
        time.sleep(0.05)
    assert SECRET not in log.read_text()


def _ask_slowly(connection: "psycopg.Connection[tuple[str]]") -> None:
    with pytest.raises(psycopg.Error):
        connection.execute(f"SELECT pg_sleep(60), '{SECRET}'")


def test_what_is_written_into_the_data_folder_is_for_its_account_alone(data: Path) -> None:
    os.umask(before := os.umask(0o022))
    assert before == 0o022
    up(data)
    where = place.locate(data)
    readable = [path for path in (data, *data.iterdir(), *where.log.parent.iterdir()) if path.stat().st_mode & 0o066]
    assert [path for path in readable if path.name not in ("lease.lock", "start.lock", "LOCATION")] == []
    assert where.cluster.stat().st_mode & 0o777 == 0o700


def test_logs_of_former_versions_are_closed_at_the_next_start(used: Path) -> None:
    logs = used / "logs"
    logs.mkdir()
    (logs / "web.log.1").write_text("who said what")
    logs.chmod(0o755)
    (logs / "web.log.1").chmod(0o644)
    up(used)
    assert logs.stat().st_mode & 0o066 == 0
    assert (logs / "web.log.1").stat().st_mode & 0o777 == 0o600


def test_the_account_of_the_database_gets_to_a_folder_that_a_platform_makes(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the umask of a platform, which is 077, and with the folders above the data not there yet."""
    monkeypatch.setattr(place, "ELSEWHERE", data / "not" / "there")
    monkeypatch.setattr(place, "can_enter", lambda _account, _path: False)
    before = os.umask(0o077)
    try:
        where = place.locate(data)
        place.prepare(where)
    finally:
        os.umask(before)
    wanted = 0o711 if os.geteuid() == 0 else 0o700
    made = (where.home, where.home.parent, where.home.parent.parent)
    assert [folder.stat().st_mode & 0o777 for folder in made] == [wanted] * 3

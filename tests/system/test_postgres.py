"""The embedded database, with real servers: whatever is killed, every committed row is there afterwards."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import psutil
import psycopg
import pytest

from memplatform import postgres
from memplatform.postgres import place
from memplatform.postgres.place import PostgresError
from memplatform.postgres.server import Postmaster, find_postmaster
from tests import ROOT
from tests.system.conftest import remove

IS_ROOT = os.geteuid() == 0


def up(data: Path) -> str:
    return postgres.up(data, postgres.THROWAWAY)


def server_of(data: Path) -> Postmaster:
    server = find_postmaster(place.locate(data).cluster)
    assert server
    return server


def write_three_rows(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE said (words text)")
        connection.execute("INSERT INTO said VALUES ('one'), ('zwei'), ('三')")


def rows_at(url: str) -> int:
    with psycopg.connect(url) as connection:
        result = connection.execute("SELECT count(*) FROM said").fetchone()
    assert result
    return int(result[0])


START = """
import sys
from pathlib import Path
from memplatform import postgres
print(postgres.up(Path(sys.argv[1]), postgres.THROWAWAY), flush=True)
"""
HOLD = """
import sys, time
from pathlib import Path
from memplatform import postgres
with postgres.lease(Path(sys.argv[1]), postgres.THROWAWAY) as url:
    print(url, flush=True)
    time.sleep(60)
"""


def start_in_another_process(data: Path, program: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, str(data)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_the_first_start_makes_a_database_that_knows_vectors(data: Path) -> None:
    address = postgres.url(data)
    assert up(data) == address
    with psycopg.connect(address) as connection:
        connection.execute("CREATE EXTENSION vector")
        assert connection.execute("SELECT '[1,2]'::vector <-> '[1,2]'").fetchone() == (0.0,)
        assert connection.execute("SHOW server_encoding").fetchone() == ("UTF8",)


def test_it_listens_on_no_network_and_its_folder_is_private(used: Path) -> None:
    with psycopg.connect(up(used)) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
    assert place.locate(used).sockets.stat().st_mode & 0o777 == 0o700


def test_committed_rows_survive_a_killed_server(used: Path) -> None:
    write_three_rows(postgres.up(used))  # configured as in production
    os.kill(server_of(used).pid, signal.SIGKILL)
    assert rows_at(postgres.up(used)) == 3


def test_a_server_asked_to_stop_while_somebody_is_connected_comes_back(used: Path) -> None:
    address = up(used)
    write_three_rows(address)
    with closing(psycopg.connect(address)):
        os.kill(server_of(used).pid, signal.SIGTERM)  # "smart": it waits for the connection to close
        time.sleep(0.3)
        up(used)
    assert rows_at(address) == 3


def test_a_swept_away_socket_is_made_again(used: Path) -> None:
    write_three_rows(up(used))
    place.locate(used).socket.unlink()
    assert rows_at(up(used)) == 3


def test_a_killed_holder_leaves_a_server_the_next_one_adopts_and_stops(used: Path) -> None:
    holder = start_in_another_process(used, HOLD)
    assert holder.stdout
    address = holder.stdout.readline().strip()
    write_three_rows(address)
    kill(holder)
    before = server_of(used)
    with postgres.lease(used) as again:
        assert (again, server_of(used).pid) == (address, before.pid)
        assert rows_at(again) == 3
    assert not postgres.is_up(used)


def test_a_server_can_be_stopped_after_its_starter_was_killed(used: Path) -> None:
    holder = start_in_another_process(used, HOLD)
    assert holder.stdout
    holder.stdout.readline()
    kill(holder)
    postgres.down(used)
    assert not postgres.is_up(used)
    postgres.down(used)


def test_the_last_to_leave_stops_it(used: Path) -> None:
    with postgres.lease(used, postgres.THROWAWAY) as address:
        with postgres.lease(used):
            pass
        write_three_rows(address)
    assert not postgres.is_up(used)


def test_four_starters_at_once_share_one_server(data: Path) -> None:
    starters = [start_in_another_process(data, START) for _ in range(4)]
    answers = {starter.communicate(timeout=60)[0].strip() for starter in starters}
    assert answers == {postgres.url(data)}
    write_three_rows(postgres.url(data))


def test_a_starter_killed_while_making_the_database_leaves_nothing_half_made(data: Path) -> None:
    starter = start_in_another_process(data, START)
    while not list(data.glob("postgres.new-*")):
        assert starter.poll() is None
        time.sleep(0.005)
    begun = psutil.Process(starter.pid).children(recursive=True)
    kill(starter)
    psutil.wait_procs(begun, timeout=30)  # initdb, which nobody tells: it may write for a moment longer
    write_three_rows(up(data))
    assert list(data.glob("postgres.new-*")) == []


@pytest.mark.parametrize("impostor", ["alive", "zombie"])
def test_a_pid_used_by_another_process_is_not_taken_for_the_server(used: Path, impostor: str) -> None:
    write_three_rows(up(used))
    os.kill(server_of(used).pid, signal.SIGKILL)
    other = subprocess.Popen(["sleep", "60"] if impostor == "alive" else ["true"])
    where = place.locate(used)
    for file in (where.cluster / "postmaster.pid", Path(f"{where.socket}.lock")):
        file.write_text(file.read_text().replace(file.read_text().split("\n")[0], str(other.pid), 1))
    if impostor == "zombie":
        time.sleep(0.1)
    assert rows_at(up(used)) == 3
    assert server_of(used).pid != other.pid
    other.kill()
    other.wait()


def test_an_empty_pid_file_is_no_obstacle(used: Path) -> None:
    write_three_rows(up(used))
    os.kill(server_of(used).pid, signal.SIGKILL)
    (place.locate(used).cluster / "postmaster.pid").write_text("")
    assert rows_at(up(used)) == 3


def test_a_server_killed_while_held_comes_back_for_its_holders(used: Path) -> None:
    with postgres.lease(used, postgres.THROWAWAY) as address:
        write_three_rows(address)
        os.kill(server_of(used).pid, signal.SIGKILL)
        up(used)
        assert rows_at(address) == 3


def test_a_long_path_gets_a_private_socket_folder_in_tmp(data: Path) -> None:
    deep = data.parent / ("d" * 100) / ".data"
    write_three_rows(up(deep))
    assert place.locate(deep).sockets.parent == Path("/tmp")
    remove(deep)


@pytest.mark.parametrize("trap", ["open to others", "a link"])
def test_a_socket_folder_that_is_not_private_is_refused(data: Path, trap: str) -> None:
    deep = data.parent / ("d" * 100) / ".data"
    sockets = place.locate(deep).sockets
    if trap == "a link":
        sockets.symlink_to(data.parent)
    else:
        sockets.mkdir(mode=0o755)
    with pytest.raises(PostgresError, match="remove it and start again"):
        up(deep)
    sockets.unlink() if trap == "a link" else sockets.rmdir()


def test_starting_and_leaving_at_once_never_leaves_a_server_behind(used: Path) -> None:
    up(used)

    def come_and_go() -> None:
        for _ in range(3):
            with postgres.lease(used, postgres.THROWAWAY) as address, psycopg.connect(address) as connection:
                connection.execute("SELECT 1")

    visitors = [threading.Thread(target=come_and_go) for _ in range(3)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    assert not postgres.is_up(used)


if IS_ROOT:  # only root hands the server to another account

    def test_as_root_in_a_closed_folder_the_database_lies_elsewhere(data: Path) -> None:
        data.parent.chmod(0o700)
        address = postgres.url(data)
        assert up(data) == address
        write_three_rows(address)
        home = place.locate(data).home
        assert home.parent == place.ELSEWHERE
        assert (data / "LOCATION").read_text() == f"{home}\n"
        assert not (data / "postgres").exists()
        data.parent.chmod(0o755)  # the note is followed even when the folder could be entered now
        assert postgres.url(data) == address
        assert rows_at(up(data)) == 3

    def test_as_root_its_account_may_pass_to_where_the_database_lies(
        data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        open_folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
        open_folder.chmod(0o755)
        try:
            monkeypatch.setattr(place, "ELSEWHERE", open_folder / "memplatform")
            postgres.require(data)
            data.parent.chmod(0o700)
            before = os.umask(0o077)  # as `up` sets it
            try:
                place.prepare(place.locate(data))
            finally:
                os.umask(before)
            assert (open_folder / "memplatform").stat().st_mode & 0o777 == 0o711
            (open_folder / "memplatform").chmod(0o700)  # as former versions made it
            place.prepare(place.locate(data))
            assert (open_folder / "memplatform").stat().st_mode & 0o777 == 0o711
        finally:
            shutil.rmtree(open_folder)

    def test_as_root_the_server_runs_as_the_one_who_owns_its_files(data: Path) -> None:
        postgres.require(data)
        shutil.chown(data, "nobody")
        (data / "postgres").mkdir(mode=0o700)
        shutil.chown(data / "postgres", "nobody")
        account = place.locate(data).account
        assert account and account.uid == data.stat().st_uid

"""Keys of bots seen in the last day are known without the database; a key that ended is not."""

import json
import os
import shutil
import stat
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from memories.models import Bot, BotKey, Workspace
from memories.offline import store
from tests.conftest import Api, make_key

pytestmark = pytest.mark.django_db


@pytest.fixture
def token(workspace: Workspace) -> str:
    """Of a key that was just seen."""
    token = make_key(workspace, permissions=["read", "write"], scope_patterns=["telegram:*"])
    assert Api(token).get("sessions").status_code == 200
    return token


def place(token: str) -> Path:
    return store.root() / "keys" / BotKey.digest_of(token)


def test_a_key_that_was_seen_is_known_with_all_a_call_needs(workspace: Workspace, token: str) -> None:
    key = store.admit_key(token, timezone.now())
    assert key is not None and key.is_from_cache
    by_database = BotKey.objects.get(digest=BotKey.digest_of(token))
    assert key.caller() == by_database.caller()
    assert key.caller().folder == workspace.folder
    assert key.permits("write") and not key.permits("admin")


def test_it_is_a_file_only_its_account_reads_and_holds_no_token(token: str) -> None:
    assert stat.S_IMODE(place(token).stat().st_mode) == 0o600
    assert stat.S_IMODE(place(token).parent.stat().st_mode) == 0o700
    assert token not in place(token).read_text()


def test_a_key_nobody_saw_and_a_guess_are_unknown(workspace: Workspace) -> None:
    assert store.admit_key(make_key(workspace), timezone.now()) is None
    assert store.admit_key("mp_guess", timezone.now()) is None
    assert store.admit_key("../../etc/passwd", timezone.now()) is None


def test_after_a_day_the_database_has_to_see_it_first(token: str) -> None:
    seen = timezone.now()
    assert store.admit_key(token, seen + timedelta(hours=23))
    assert store.admit_key(token, seen + timedelta(hours=25)) is None
    assert store.admit_key(token, seen) is None  # and it left the cache


def test_an_expired_key_is_refused_by_its_own_date(workspace: Workspace) -> None:
    ends = timezone.now() + timedelta(hours=1)
    token = make_key(workspace, expires_at=ends)
    assert Api(token).get("entries").status_code == 200
    assert store.admit_key(token, ends - timedelta(seconds=1))
    assert store.admit_key(token, ends) is None


def ended_by_revoking(token: str) -> None:
    BotKey.objects.filter(digest=BotKey.digest_of(token)).update(revoked_at=timezone.now())


def ended_by_disabling(token: str) -> None:
    Bot.objects.filter(keys__digest=BotKey.digest_of(token)).update(disabled_at=timezone.now())


def ended_by_date(token: str) -> None:
    BotKey.objects.filter(digest=BotKey.digest_of(token)).update(expires_at=timezone.now())


def ended_by_deletion(token: str) -> None:
    BotKey.objects.filter(digest=BotKey.digest_of(token)).delete()


WAYS = [ended_by_revoking, ended_by_disabling, ended_by_date, ended_by_deletion]


@pytest.mark.parametrize("end", WAYS)
def test_a_key_the_database_refuses_leaves_the_cache_at_once(token: str, end: Any) -> None:
    end(token)
    assert Api(token).get("sessions").status_code == 401
    assert not place(token).exists()


@pytest.mark.thorough
@pytest.mark.parametrize("end", WAYS)
def test_a_key_that_ended_by_another_door_is_swept_out(workspace: Workspace, token: str, end: Any) -> None:
    other = make_key(workspace, name="other bot")
    assert Api(other).get("entries").status_code == 200
    end(token)
    assert store.count_unusable(timezone.now()) >= 1
    assert store.drop_unusable(timezone.now()) >= 1
    assert not place(token).exists() and place(other).exists()
    assert store.count_unusable(timezone.now()) == 0


def altered(path: Path) -> None:
    path.write_text(path.read_text()[:-1] + "x")


def widened(path: Path) -> None:
    body, *signature = path.read_text().split(":")
    path.write_text(":".join([body[:-4] + "AAAA", *signature]))


def emptied(path: Path) -> None:
    path.write_text("")


def replaced(path: Path) -> None:
    path.write_text(json.dumps({"digest": path.name, "permissions": ["admin"]}))


def copied(path: Path) -> None:
    """As from a backup that was made before the key was revoked."""
    result = path.with_name("backup")
    shutil.copy2(path, result)
    path.unlink()
    os.rename(result, path)


@pytest.mark.parametrize("change", [altered, widened, emptied, replaced, copied])
def test_an_altered_or_copied_file_is_refused(token: str, change: Any) -> None:
    change(place(token))
    assert store.admit_key(token, timezone.now()) is None


def test_the_file_of_one_key_opens_no_other(workspace: Workspace, token: str) -> None:
    other = make_key(workspace, permissions=["admin"])
    os.link(place(token), place(other))  # the same inode under another name
    assert store.admit_key(other, timezone.now()) is None


def test_it_is_written_once_a_minute(token: str, monkeypatch: Any) -> None:
    written: list[datetime] = []
    monkeypatch.setattr(store, "_card", lambda key, now: written.append(now) or {})
    for _ in range(3):
        Api(token).get("sessions")
    assert written == []
    store._written[BotKey.digest_of(token)] -= store.WRITTEN_EVERY
    for _ in range(3):
        Api(token).get("sessions")
    assert len(written) == 1


def test_a_folder_that_cannot_be_written_keeps_no_bot_out(workspace: Workspace, monkeypatch: Any) -> None:
    monkeypatch.setattr(store, "write", lambda *_args: (_ for _ in ()).throw(OSError("No space left on device")))
    assert Api(make_key(workspace)).get("entries").status_code == 200

"""A lost password is no lost platform."""

from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

pytestmark = pytest.mark.django_db


@pytest.fixture
def password_folder(settings: object, tmp_path: Path) -> Path:
    """Where the password is kept."""
    settings.DATA_DIR = tmp_path  # type: ignore[attr-defined]
    return tmp_path / "credentials" / "operator-password"


def user(**more: object) -> User:
    return get_user_model().objects.create_superuser("operator", password="lost-and-gone", **more)


def may_log_in(password: str) -> bool:
    return Client().post("/admin/login/", {"username": "operator", "password": password}).status_code == 302


def test_a_reset_gives_a_new_password_and_keeps_it_where_only_its_owner_reads(password_folder: Path) -> None:
    user()
    call_command("operator", "reset")
    assert password_folder.stat().st_mode & 0o777 == 0o600
    assert may_log_in(password_folder.read_text())
    assert not may_log_in("lost-and-gone")


def test_a_reset_logs_out_whoever_was_in(password_folder: Path) -> None:
    client = Client()
    client.force_login(user())
    assert client.get("/admin/").status_code == 200
    call_command("operator", "reset")
    assert client.get("/admin/").status_code == 302


def test_an_account_that_is_gone_is_made_and_one_switched_off_is_let_in(password_folder: Path) -> None:
    call_command("operator", "reset")
    get_user_model().objects.update(is_active=False)
    call_command("operator", "reset")
    assert may_log_in(password_folder.read_text())


def test_what_is_printed_into_a_file_or_a_journal_holds_no_password(
    password_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("operator", "reset")
    printed = capsys.readouterr().out
    assert password_folder.read_text() not in printed
    assert str(password_folder) in printed


@pytest.mark.parametrize("name", ["nobody", "../nobody", "a/b"])
def test_another_account_is_not_made_by_a_slip_of_the_pen(password_folder: Path, name: str) -> None:
    with pytest.raises(CommandError):
        call_command("operator", "reset", name=name)
    assert not get_user_model().objects.exists()

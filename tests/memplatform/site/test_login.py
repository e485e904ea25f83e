"""The door to the admin: guessing is slow, passwords are good ones, a login ends, pages load from here alone."""

import logging
from datetime import timedelta
from typing import Any

import pyotp
import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from memplatform.site.logins import ADDRESS_MOST, DEVICE_COOKIE, NAME_MOST
from memplatform.site.second_factor import new_secret, set_up

pytestmark = pytest.mark.django_db
PASSWORD = "a long enough word 花生"


@pytest.fixture(autouse=True)
def operator() -> Any:
    return get_user_model().objects.create_superuser("operator", password=PASSWORD)


def log_in(password: str, *, address: str = "203.0.113.9", name: str = "operator") -> Any:
    return Client(REMOTE_ADDR=address).post("/admin/login/", {"username": name, "password": password})


def test_after_five_wrong_passwords_even_the_right_one_waits_a_quarter_of_an_hour() -> None:
    codes = [log_in(f"guess {n}").status_code for n in range(5)]
    assert codes == [200, 200, 200, 200, 429]
    assert log_in(PASSWORD).status_code == 429
    with time_machine.travel(timezone.now() + timedelta(minutes=16)):
        assert log_in(PASSWORD).status_code == 302


def test_a_stranger_who_guesses_does_not_lock_out_the_operator_elsewhere() -> None:
    for n in range(6):
        log_in(f"guess {n}")
    assert log_in(PASSWORD, address="203.0.113.10").status_code == 302


def guess_from_everywhere(name: str = "operator") -> None:
    """As often as is borne of a name alone, from an address each time."""
    for n in range(NAME_MOST):
        log_in(f"guess {n}", address=f"198.51.100.{n}", name=name)


def test_a_name_that_is_guessed_from_many_addresses_waits_in_browsers_it_never_used() -> None:
    client = Client(REMOTE_ADDR="203.0.113.20")
    form = {"username": "operator", "password": PASSWORD}
    assert client.post("/admin/login/", form).status_code == 302
    client.post("/admin/logout/")
    guess_from_everywhere()
    assert log_in(PASSWORD, address="203.0.113.21").status_code == 429
    client.defaults["REMOTE_ADDR"] = "203.0.113.22"  # the owner, somewhere else with the same browser
    assert client.post("/admin/login/", form).status_code == 302
    with time_machine.travel(timezone.now() + timedelta(minutes=16)):
        assert log_in(PASSWORD, address="203.0.113.21").status_code == 302


def test_a_browser_that_knows_one_account_is_not_known_for_another(operator: Any) -> None:
    get_user_model().objects.create_superuser("mallory", password=PASSWORD)
    browser = Client(REMOTE_ADDR="203.0.113.20")
    browser.post("/admin/login/", {"username": "mallory", "password": PASSWORD})
    browser.post("/admin/logout/")
    guess_from_everywhere()
    assert browser.post("/admin/login/", {"username": "operator", "password": PASSWORD}).status_code == 429
    browser.cookies[DEVICE_COOKIE] = str(operator.pk)  # made up
    assert browser.post("/admin/login/", {"username": "operator", "password": PASSWORD}).status_code == 429


def test_who_has_a_second_factor_is_not_kept_out_by_guesses_from_elsewhere(operator: Any) -> None:
    secret = new_secret()
    assert set_up(operator, secret, pyotp.TOTP(secret).now(), now=timezone.now())
    guess_from_everywhere()
    result = log_in(PASSWORD, address="203.0.113.21")
    assert result.status_code == 302 and "/admin/login/code/" in result.headers["Location"]


def test_an_address_that_tries_many_names_waits_and_the_browsers_that_are_known_there_do_not() -> None:
    client = Client(REMOTE_ADDR="203.0.113.9")
    client.post("/admin/login/", {"username": "operator", "password": PASSWORD})
    client.post("/admin/logout/")
    for n in range(ADDRESS_MOST):
        log_in("a guess", name=f"somebody {n}")
    assert log_in("a guess", name="yet another").status_code == 429
    assert client.post("/admin/login/", {"username": "operator", "password": PASSWORD}).status_code == 302


def test_a_reset_lets_a_locked_operator_in_at_once(settings: Any, tmp_path: Any) -> None:
    settings.DATA_DIR = tmp_path
    for n in range(6):
        log_in(f"guess {n}")
    call_command("operator", "reset")
    assert log_in((tmp_path / "credentials" / "operator-password").read_text()).status_code == 302


def test_the_page_of_a_locked_login_says_so_in_the_reader_s_language() -> None:
    for n in range(5):
        log_in(f"guess {n}")
    client = Client(REMOTE_ADDR="203.0.113.9", headers={"Accept-Language": "zh-CN"})
    page = client.post("/admin/login/", {"username": "operator", "password": PASSWORD})
    assert "15 分钟" in page.content.decode()


def test_a_wrong_password_leaves_a_line_that_names_account_and_address_and_no_password(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        log_in("hunter2-hunter2")
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("axes")]
    assert any("operator" in line and "203.0.113.9" in line for line in lines)
    assert not any("hunter2" in line for line in lines)


@pytest.mark.parametrize("password", ["a", "short", "password123", "12345678901", "operator-1"])
def test_a_bad_password_is_refused(operator: Any, password: str) -> None:
    with pytest.raises(ValidationError):
        validate_password(password, operator)


def test_a_login_ends_after_a_working_day() -> None:
    client = Client(REMOTE_ADDR="203.0.113.9")
    client.post("/admin/login/", {"username": "operator", "password": PASSWORD})
    assert client.get("/admin/").status_code == 200
    with time_machine.travel(timezone.now() + timedelta(hours=13)):
        assert client.get("/admin/").status_code == 302


def test_pages_may_load_from_here_alone_and_stand_in_no_frame(client: Client, operator: Any) -> None:
    client.force_login(operator)
    for path in ("/", "/admin/login/", "/admin/", "/api/docs"):
        policy = client.get(path, follow=True).headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        script = next(part for part in policy.split(";") if part.strip().startswith("script-src"))
        assert "unsafe-inline" not in script


def test_the_api_pages_run_no_script_of_their_own_line(client: Client, operator: Any) -> None:
    client.force_login(operator)
    body = client.get("/api/docs").content.decode()
    assert not [part for part in body.split("<script")[1:] if "src=" not in part.split(">")[0]]

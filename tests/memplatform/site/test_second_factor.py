"""The second factor: asked for after the password on every way in, each code once, and removed for whoever lost it."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pyotp
import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories import secrets
from memories.audit.models import AuditRecord
from memories.staff.models import Factor
from memplatform.site.second_factor import SECONDS, new_secret, set_up
from tests.conftest import NOW

pytestmark = pytest.mark.django_db
PASSWORD = "a long enough word 花生"
HOME, LOGIN, CODE, OWN = "/admin/", "/admin/login/", "/admin/login/code/", "/admin/second-factor/"


@pytest.fixture(autouse=True)
def clock() -> Iterator[Any]:
    with time_machine.travel(NOW, tick=False) as travelled:
        yield travelled


@pytest.fixture
def alice() -> Any:
    return get_user_model().objects.create_superuser("alice", password=PASSWORD)


@pytest.fixture
def secret(alice: Any) -> str:
    """The secret of Alice's factor, confirmed a while ago."""
    made, then = new_secret(), NOW - timedelta(hours=1)
    assert set_up(alice, made, pyotp.TOTP(made).at(then), now=then)
    return made


def code_of(secret: str, later: int = 0) -> str:
    return pyotp.TOTP(secret).at(timezone.now() + timedelta(seconds=later))


def give_password(client: Client | None = None) -> Client:
    client = client or Client()
    client.post(f"{LOGIN}?next=/admin/memories/entry/", {"username": "alice", "password": PASSWORD})
    return client


def is_in(client: Client) -> bool:
    return client.get(HOME).status_code == 200


def events() -> list[str]:
    return list(AuditRecord.objects.order_by("at", "id").values_list("event", flat=True))


# setting it up


def test_it_is_set_up_with_a_first_code_and_the_password_and_shows_recovery_codes_once(alice: Any) -> None:
    client = give_password()
    page = client.get(OWN).content.decode()
    secret = re.findall(r'mp-secret">([A-Z2-7 ]+)<', page)[0].replace(" ", "")
    assert "<svg" in page and "http" not in page[page.index("<svg") : page.index("</svg>")].replace("http://www.w3", "")
    for wrong in ({"code": "000000", "password": PASSWORD}, {"code": code_of(secret), "password": "wrong"}):
        client.post(OWN, wrong)
        assert not Factor.objects.exists()
    codes = client.post(OWN, {"code": code_of(secret), "password": PASSWORD}).content.decode()
    shown = re.findall(r"^.*?((?:[A-Z2-7]{4} ){3}[A-Z2-7]{4})$", codes, re.MULTILINE)
    factor = Factor.objects.get()
    assert len(shown) == len(set(shown)) == 10
    stored = f"{factor.sealed} {factor.recovery}"
    assert secret not in stored and not any(code.replace(" ", "") in stored for code in shown)
    assert is_in(client), "the browser it was set up in stays logged in"
    assert shown[0] not in client.get(OWN).content.decode()
    assert "factor_on" in events()


def test_other_browsers_of_the_account_have_to_give_a_code_from_then_on(alice: Any) -> None:
    before = give_password()
    assert is_in(before)
    made = new_secret()
    set_up(alice, made, code_of(made), now=timezone.now())
    assert not is_in(before)


# the way in


def test_a_password_alone_opens_nothing(alice: Any, secret: str) -> None:
    client = give_password()
    assert not is_in(client)
    for address in (OWN, "/admin/password_change/", "/admin/memories/entry/", "/api/docs"):
        assert client.get(address).status_code != 200, address
    assert "login" not in events()


def test_a_code_opens_what_was_asked_for_and_the_login_is_noted_then(alice: Any, secret: str) -> None:
    client = give_password()
    answer = client.post(f"{CODE}?next=/admin/memories/entry/", {"code": code_of(secret)})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/admin/memories/entry/")
    assert is_in(client)
    assert events() == ["login"]


def test_somebody_logged_in_by_whatever_way_is_nobody_without_the_code(alice: Any, secret: str) -> None:
    client = Client()
    client.force_login(alice)
    assert not is_in(client)


def test_it_leads_to_no_other_site(alice: Any, secret: str) -> None:
    answer = give_password().post(f"{CODE}?next=https://elsewhere.example/", {"code": code_of(secret)})
    assert answer.headers["Location"] == HOME


def test_a_code_is_taken_once_and_one_that_is_older_never(alice: Any, secret: str) -> None:
    later, now = code_of(secret, SECONDS), code_of(secret)
    assert is_in(give_after_password(later))
    assert not is_in(give_after_password(later))
    assert not is_in(give_after_password(now))


@pytest.mark.parametrize(("seconds", "opens"), [(-SECONDS, True), (SECONDS, True), (-65, False), (65, False)])
def test_the_clock_of_a_phone_may_be_wrong_by_half_a_minute(alice: Any, secret: str, seconds: int, opens: bool) -> None:
    assert is_in(give_after_password(code_of(secret, seconds))) is opens


def test_a_recovery_code_opens_once(alice: Any) -> None:
    made = new_secret()
    code, *others = set_up(alice, made, code_of(made), now=timezone.now()) or []
    assert is_in(give_after_password(f"{code[:4]} {code[4:8]}-{code[8:]}".lower()))
    assert not is_in(give_after_password(code))
    assert is_in(give_after_password(others[-1]))
    assert len(Factor.objects.get().recovery) == 8


@pytest.mark.parametrize("code", ["", "12345", "１２３４５６", "0" * 41, "\0", "花生"])
def test_what_is_no_code_is_refused_without_a_fault(alice: Any, secret: str, code: str) -> None:
    client = give_password()
    assert client.post(CODE, {"code": code}).status_code == 200
    assert not is_in(client)


def give_after_password(code: str, address: str = "127.0.0.1") -> Client:
    client = give_password(Client(REMOTE_ADDR=address))
    client.post(CODE, {"code": code})
    return client


# guessing


def test_after_five_wrong_codes_from_wherever_even_the_right_one_waits(alice: Any, secret: str, clock: Any) -> None:
    for n in range(5):
        give_after_password(f"00000{n}", address=f"203.0.113.{n}")
    client = give_password()
    assert client.post(CODE, {"code": code_of(secret)}).status_code == 429
    assert not is_in(client)
    assert events().count("code_failed") >= 5
    clock.shift(timedelta(minutes=16))
    client.post(CODE, {"code": code_of(secret)})
    assert is_in(client)


def test_wrong_old_passwords_lock_the_account_as_a_login_does(alice: Any) -> None:
    client = give_password()
    form = {"new_password1": "花生 and another word", "new_password2": "花生 and another word"}
    codes = [
        client.post("/admin/password_change/", form | {"old_password": f"guess {n}"}).status_code for n in range(5)
    ]
    assert codes == [200, 200, 200, 200, 429]
    assert client.post("/admin/password_change/", form | {"old_password": PASSWORD}).status_code == 429
    assert "login_locked" in events()


def test_a_password_is_changed_by_whoever_knows_the_old_one(alice: Any) -> None:
    client, new = give_password(), "花生 and another word"
    form = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert client.post("/admin/password_change/", form).status_code == 302
    assert is_in(client)
    alice.refresh_from_db()
    assert alice.check_password(new)


# taking it away


def test_its_owner_removes_it_with_a_code(alice: Any, secret: str, clock: Any) -> None:
    client = give_after_password(code_of(secret))
    client.post(OWN, {"code": "000000", "remove": "1"})
    assert Factor.objects.exists()
    clock.shift(timedelta(minutes=1))
    client.post(OWN, {"code": code_of(secret), "remove": "1"})
    assert not Factor.objects.exists()
    assert is_in(client)
    assert events()[-1] == "factor_off"


def test_new_recovery_codes_void_the_former_ones(alice: Any, secret: str, clock: Any) -> None:
    client, former = give_after_password(code_of(secret)), Factor.objects.get().recovery
    clock.shift(timedelta(minutes=1))
    client.post(OWN, {"code": code_of(secret)})
    assert not set(former) & set(Factor.objects.get().recovery)


def test_a_superuser_removes_the_factor_of_somebody_who_lost_it(alice: Any, secret: str) -> None:
    boss = get_user_model().objects.create_superuser("boss", password=PASSWORD)
    client = Client()
    client.force_login(boss)
    client.post(reverse("admin:auth_user_remove_factor", args=[alice.pk]), {"confirmed": "yes"})
    assert not Factor.objects.exists()
    assert AuditRecord.objects.get(event="factor_off").actor == "user:boss"


def test_a_command_lets_in_the_last_owner_who_lost_it(alice: Any, secret: str) -> None:
    call_command("operator", "remove-factor", name="alice")
    assert is_in(give_password())
    assert AuditRecord.objects.get(event="factor_off").actor == "command:operator"
    with pytest.raises(CommandError, match="no second factor"):
        call_command("operator", "remove-factor", name="alice")


def test_new_keys_of_secrets_read_it_still(alice: Any, secret: str, settings: Any) -> None:
    settings.SECRETS_KEYS = ["new"]
    call_command("rotate_secrets")
    settings.SECRET_KEY = "another"
    assert secrets.unseal(Factor.objects.get().sealed) == secret


# where everybody has to have one


def test_where_it_is_required_an_account_without_one_sets_it_up_and_does_nothing_else(
    alice: Any, settings: Any
) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    client = give_password()
    for address in (HOME, "/admin/memories/entry/", "/admin/password_change/"):
        assert client.get(address).headers["Location"] == OWN
    assert client.get("/api/docs").status_code != 200
    secret = re.findall(r'mp-secret">([A-Z2-7 ]+)<', client.get(OWN).content.decode())[0].replace(" ", "")
    client.post(OWN, {"code": code_of(secret), "password": PASSWORD})
    assert is_in(client)

"""Secrets: readable by the platform alone, with keys that can be changed."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from memories import secrets
from memories.models import Change, Secret, Workspace

pytestmark = pytest.mark.django_db


def test_a_secret_is_kept_read_replaced_and_forgotten(workspace: Workspace) -> None:
    assert secrets.read("llm", workspace=workspace) is None
    secrets.keep("llm", "sk-一二三", workspace=workspace)
    secrets.keep("llm", "sk-new", workspace=workspace)
    assert secrets.read("llm", workspace=workspace) == "sk-new"
    assert secrets.forget("llm", workspace=workspace) is True
    assert secrets.forget("llm", workspace=workspace) is False
    assert not Secret.objects.exists()


def test_workspaces_and_the_platform_have_each_their_own(workspace: Workspace, stranger: Workspace) -> None:
    secrets.keep("llm", "the platform's")
    secrets.keep("llm", "alice's", workspace=workspace)
    assert secrets.read("llm") == "the platform's"
    assert secrets.read("llm", workspace=workspace) == "alice's"
    assert secrets.read("llm", workspace=stranger) is None


def test_no_trace_of_it_is_anywhere_in_the_database(workspace: Workspace) -> None:
    secrets.keep("llm", "open sesame", workspace=workspace)
    with connection.cursor() as cursor:
        cursor.execute("SELECT s::text FROM memories_secret s")
        (row,) = cursor.fetchone()
    assert b"open sesame".hex() not in row and "sesame" not in row
    assert not Change.objects.exists()
    assert "sesame" not in repr(Secret.objects.get()) + str(Secret.objects.get())


def test_the_same_value_never_looks_the_same_twice() -> None:
    secrets.keep("one", "open sesame")
    secrets.keep("two", "open sesame")
    one, two = Secret.objects.order_by("name")
    assert bytes(one.ciphertext) != bytes(two.ciphertext)


def test_without_its_key_it_cannot_be_read(settings: Any) -> None:
    secrets.keep("llm", "open sesame")
    settings.SECRET_KEY = "another key, from another installation"
    with pytest.raises(secrets.SecretUnreadable, match="“llm” cannot be read") as refusal:
        secrets.read("llm")
    assert "sesame" not in str(refusal.value)


def test_a_changed_ciphertext_is_noticed() -> None:
    secrets.keep("llm", "open sesame")
    secret = Secret.objects.get()
    spoilt = bytearray(bytes(secret.ciphertext))
    spoilt[20] ^= 1
    Secret.objects.update(ciphertext=bytes(spoilt))
    with pytest.raises(secrets.SecretUnreadable):
        secrets.read("llm")


@pytest.mark.parametrize(
    ("before", "during"),
    [
        ({"SECRETS_KEYS": ["old"]}, {"SECRETS_KEYS": ["new", "old"]}),
        ({"SECRETS_KEYS": []}, {"SECRETS_KEYS": ["new"]}),  # until now SECRET_KEY did it
        ({"SECRET_KEY": "old"}, {"SECRET_KEY": "other", "SECRET_KEY_FALLBACKS": ["old"], "SECRETS_KEYS": ["new"]}),
    ],
)
def test_keys_can_be_rotated_and_the_old_one_retired(
    settings: Any, before: dict[str, Any], during: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in before.items():
        setattr(settings, name, value)
    secrets.keep("llm", "open sesame")
    for name, value in during.items():
        setattr(settings, name, value)
    assert secrets.read("llm") == "open sesame"
    call_command("rotate_secrets")
    assert "1 secrets are encrypted with the first key now." in capsys.readouterr().out
    settings.SECRETS_KEYS, settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = ["new"], "yet another", []
    assert secrets.read("llm") == "open sesame"


def test_a_rotation_that_cannot_read_one_changes_none(settings: Any) -> None:
    settings.SECRETS_KEYS = ["lost"]
    secrets.keep("a", "open sesame")
    settings.SECRETS_KEYS = ["new"]
    secrets.keep("b", "abracadabra")
    before = list(Secret.objects.order_by("name").values_list("ciphertext", flat=True))
    with pytest.raises(CommandError, match="“a” cannot be read"):
        call_command("rotate_secrets")
    after = Secret.objects.order_by("name").values_list("ciphertext", flat=True)
    assert [bytes(text) for text in after] == [bytes(text) for text in before]

"""The audit log: what people do is written down, seen by auditors and owners, and changed by nobody."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import Error, connection, transaction
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from memories.admin.auditing import note
from memories.audit.models import AuditEvent, AuditRecord
from memories.lifecycle import maintenance
from memories.models import BotKey
from memories.staff.roles import Role
from memories.tenancy import row_level_security
from tests.memories.admin.conftest import SECRET, House, enter, make_user

pytestmark = pytest.mark.django_db
LIST = "admin:memories_auditrecord_changelist"
KEY = {"confirmed": "yes", "label": "production", "scope_patterns": "", "expires": "30", "permissions": ["read"]}


@pytest.fixture
def auditor(mine: House) -> Client:
    return enter(make_user("audrey", workspace=mine.workspace, role=Role.AUDITOR, is_staff=True))


def events() -> list[tuple[str, str]]:
    return [(row.event, row.actor) for row in AuditRecord.objects.exclude(actor="user:marmalade").order_by("at", "id")]


def test_what_an_owner_does_is_written_down_and_the_token_is_not(alice: Client, auditor: Client, mine: House) -> None:
    issued = alice.post(reverse("admin:memories_bot_issue_key", args=[mine.bot.pk]), KEY).context["token"]
    key = BotKey.objects.get(label="production")
    alice.post(reverse("admin:memories_botkey_revoke", args=[key.pk]), {"confirmed": "yes"})
    alice.post(reverse("admin:memories_scope_change", args=[mine.scope.pk]), {"label": "Kitchen"})
    member = mine.workspace.members.get(user__username="audrey")
    alice.post(reverse("admin:memories_member_change", args=[member.pk]), {"role": "viewer"})
    alice.post(reverse("admin:memories_member_change", args=[member.pk]), {"role": "auditor"})
    results = ["key_issued", "key_revoked", "setting", "role", "role"]
    assert events() == [(event, "user:alice") for event in results]
    page = auditor.get(reverse(LIST)).content.decode()
    assert "Issued a key" in page and "alice" in page and issued not in page
    assert not AuditRecord.objects.filter(details__icontains=issued).exists()


def test_what_leaves_by_command_is_written_down(mine: House, tmp_path: Path) -> None:
    call_command("export", str(tmp_path / "whole"), workspace=mine.workspace.name)
    call_command("export", str(tmp_path / "one"), workspace=mine.workspace.name, scope=mine.scope.key)
    records = AuditRecord.objects.filter(event="exported", workspace=mine.workspace).order_by("at", "id")
    results = [(row.actor.partition(":")[0], row.about) for row in records]
    whole = mine.workspace.name
    assert results == [("command", whole), ("command", f"scope {mine.scope.pk}")]


def test_the_count_below_the_list_reads_as_one_says_it(auditor: Client, mine: House) -> None:
    for n in range(2):
        AuditRecord.note(
            AuditEvent.JOB, actor="user:a", at=timezone.now(), workspace_id=mine.workspace.pk, about=str(n)
        )
    assert "lines of the audit log" in auditor.get(reverse(LIST)).content.decode()


def test_logins_are_written_down_with_where_they_came_from(mine: House, auditor: Client) -> None:
    user = get_user_model().objects.get(username="audrey")
    user.set_password("rye and spelt")
    user.save()
    browser = Client(REMOTE_ADDR="203.0.113.9")
    for name, password in (("audrey", "wrong"), ("hunter2-hunter2", "wrong"), ("audrey", "rye and spelt")):
        browser.post("/admin/login/", {"username": name, "password": password})
    assert events() == [("login_failed", "user:audrey"), ("login_failed", "unknown"), ("login", "user:audrey")]
    browser.post("/admin/logout/")
    browser.post("/admin/logout/")  # nobody is logged in any more
    assert events()[3:] == [("logout", "user:audrey")]
    page = enter(user).get(reverse(LIST)).content.decode()
    assert "203.0.113.9" in page and "Logged out" in page
    assert "hunter2" not in page
    for _n in range(5):
        browser.post("/admin/login/", {"username": "audrey", "password": "wrong"})
    assert events()[-1] == ("login_locked", "user:audrey")


def test_who_audits_one_workspace_reads_nothing_of_another(auditor: Client, theirs: House) -> None:
    make_user("charlie", workspace=theirs.workspace, is_staff=True)
    Client().post("/admin/login/", {"username": "charlie", "password": "wrong"})
    page = auditor.get(reverse(LIST)).content.decode()
    assert SECRET not in page and "charlie" not in page
    assert SECRET not in auditor.get(reverse("admin:memories_auditrecord_export", args=["csv"])).content.decode()


def test_it_leaves_as_a_file_and_that_is_written_down(auditor: Client, mine: House) -> None:
    AuditRecord.note(
        AuditEvent.SETTING, actor="user:eve", at=timezone.now(), workspace_id=mine.workspace.pk, about="=1"
    )
    address = reverse("admin:memories_auditrecord_export", args=["jsonl"])
    lines = [json.loads(line) for line in auditor.get(f"{address}?actor=user:eve").content.decode().splitlines()]
    assert [(line["by"], line["about"]) for line in lines] == [("user:eve", "=1")]
    assert events()[-1] == ("exported", "user:audrey")
    table = auditor.get(reverse("admin:memories_auditrecord_export", args=["csv"])).content.decode()
    assert "'=1" in table  # no formula
    assert auditor.get(reverse("admin:memories_auditrecord_export", args=["pdf"])).status_code == 404


@pytest.mark.parametrize(
    "statement", ["UPDATE memories_auditrecord SET actor = 'user:nobody'", "DELETE FROM memories_auditrecord"]
)
@pytest.mark.parametrize("role", [row_level_security.WEB_ROLE, ""])
def test_nobody_changes_a_line(statement: str, role: str, mine: House) -> None:
    """The web's role has no right to; of the owner of the tables a trigger asks the same for the last days."""
    AuditRecord.note(AuditEvent.LOGIN, actor="user:eve", at=timezone.now())
    with pytest.raises(Error), transaction.atomic(), connection.cursor() as cursor:
        if role:
            cursor.execute(f"SET LOCAL ROLE {role}")
        cursor.execute(statement)
    assert AuditRecord.objects.filter(actor="user:eve").exists()


def test_old_lines_leave_as_the_setting_says_and_young_ones_stay(mine: House, settings: Any) -> None:
    now = timezone.now()
    for days in (400, 200, 40, 5):
        AuditRecord.note(AuditEvent.LOGIN, actor=f"user:{days}", at=now - timedelta(days=days))
    maintenance.clean_up(now=now)
    assert set(AuditRecord.objects.filter(event="login").values_list("actor", flat=True)) == {
        "user:200",
        "user:40",
        "user:5",
    }
    settings.MEMORY_AUDIT_TTL = timedelta(days=1)
    assert maintenance.count_outdated(now=now)["audit"] >= 2
    maintenance.clean_up(now=now)
    assert list(AuditRecord.objects.filter(event="login").values_list("actor", flat=True)) == ["user:5"]


def test_it_names_no_words_of_a_memory_and_no_person_by_their_scope(mine: House) -> None:
    request = RequestFactory().get("/admin/")
    request.user = make_user("eve", workspace=mine.workspace, is_staff=True)
    for row, name in ((mine.entry, "entry"), (mine.scope, "scope"), (mine.bot, mine.bot.name)):
        note(request, AuditEvent.SETTING, row)
        about = AuditRecord.objects.latest("at").about
        assert mine.entry.content[:10] not in about and mine.scope.key not in about
        assert name in about

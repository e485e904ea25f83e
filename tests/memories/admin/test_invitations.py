"""Staff join by a link: single, for a time, hashed, in no log, and never more than whoever invited could give."""

import logging
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.audit.models import AuditRecord
from memories.staff.models import Invitation, Member
from memories.staff.roles import Role
from tests.memories.admin.conftest import House, dismiss_all, enter, make_user

pytestmark = pytest.mark.django_db
JOIN = "/join/"
PASSWORD = "a long enough word 花生"
NEW = {"username": "audrey", "password1": PASSWORD, "password2": PASSWORD}


def invite(client: Client, house: House, role: str = "auditor") -> str:
    """The code of a new invitation."""
    form = {"confirmed": "yes", "workspace": house.workspace.pk, "role": role, "label": "Audrey", "days": "7"}
    page = client.post(reverse("admin:memories_member_invite"), form)
    link = str(page.context["token"])
    assert link.startswith("http://testserver/join/#")
    return link.partition("#")[2]


def test_what_each_role_may_do_is_said_where_one_invites(alice: Client, mine: House) -> None:
    page = alice.get(reverse("admin:memories_member_invite")).content.decode()
    for role in Role:
        assert f"{role.label}: " in page
    assert "reads, also the audit log." in page


def test_an_auditor_joins_by_a_link_and_reads_the_audit_log(alice: Client, mine: House) -> None:
    code, browser = invite(alice, mine), Client()
    assert browser.get(JOIN).status_code == 200
    assert browser.post(JOIN, NEW | {"code": code}).headers["Location"] == "/admin/"
    assert Member.objects.get(user__username="audrey").role == Role.AUDITOR
    page = browser.get(reverse("admin:memories_auditrecord_changelist")).content.decode()
    assert "Joined by an invitation" in page and "Invited somebody" in page
    assert code not in page and not Invitation.objects.filter(digest=code).exists()
    listed = alice.get(reverse("admin:memories_invitation_changelist")).content.decode()
    assert "joined" in listed and code not in listed


def test_a_link_works_once_until_it_is_over_or_withdrawn(alice: Client, mine: House) -> None:
    used, over, withdrawn = (invite(alice, mine) for _n in range(3))
    Client().post(JOIN, NEW | {"code": used})
    last = Invitation.objects.latest("pk")
    alice.post(reverse("admin:memories_invitation_withdraw", args=[last.pk]), {"confirmed": "yes"})
    for code in (used, withdrawn, "", "guess"):
        page = Client().post(JOIN, NEW | {"code": code, "username": "ben"})
        assert "cannot be used" in page.content.decode()
    with time_machine.travel(timezone.now() + timedelta(days=8)):
        assert "cannot be used" in Client().post(JOIN, NEW | {"code": over, "username": "ben"}).content.decode()
    assert not get_user_model().objects.filter(username="ben").exists()


def test_without_a_code_nobody_learns_whose_names_exist(alice: Client, mine: House) -> None:
    pages = {Client().post(JOIN, NEW | {"code": "guess", "username": name}).content for name in ("alice", "nobody")}
    errors = {b"already exists" in page for page in pages}
    assert errors == {False}
    assert b"already exists" in Client().post(JOIN, NEW | {"code": invite(alice, mine), "username": "alice"}).content


def test_a_bad_password_joins_nobody_and_leaves_the_link_open(alice: Client, mine: House) -> None:
    code = invite(alice, mine)
    Client().post(JOIN, {"code": code, "username": "audrey", "password1": "short", "password2": "short"})
    assert not get_user_model().objects.filter(username="audrey").exists()
    assert Client().post(JOIN, NEW | {"code": code}).status_code == 302


def test_somebody_with_an_account_joins_with_it(alice: Client, mine: House, theirs: House) -> None:
    charlie = make_user("charlie", workspace=theirs.workspace, is_staff=True)
    assert enter(charlie).post(JOIN, {"code": invite(alice, mine, "curator")}).status_code == 302
    assert Member.objects.get(workspace=mine.workspace, user=charlie).role == Role.CURATOR
    again = enter(charlie).post(JOIN, {"code": invite(alice, mine, "owner")})
    assert "already" in again.content.decode()
    assert Member.objects.get(workspace=mine.workspace, user=charlie).role == Role.CURATOR


def test_who_was_dismissed_admits_nobody_any_more(alice: Client, mine: House) -> None:
    code = invite(alice, mine)
    dismiss_all(mine.workspace)
    assert "cannot be used" in Client().post(JOIN, NEW | {"code": code}).content.decode()


def test_owners_invite_to_their_own_workspaces_alone(alice: Client, theirs: House, mine: House) -> None:
    form = {"confirmed": "yes", "workspace": theirs.workspace.pk, "role": "viewer", "days": "7"}
    count = Invitation.objects.count()
    alice.post(reverse("admin:memories_member_invite"), form)
    operator = enter(make_user("olga", workspace=mine.workspace, role=Role.OPERATOR, is_staff=True))
    assert operator.post(reverse("admin:memories_member_invite"), form).status_code == 403
    assert Invitation.objects.count() == count


def test_the_code_is_in_no_log_and_no_record(alice: Client, mine: House, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        code = invite(alice, mine)
        Client().post(JOIN, NEW | {"code": code})
    assert code not in caplog.text
    assert not AuditRecord.objects.filter(details__icontains=code).exists()


def test_everybody_changes_their_own_password_and_that_is_noted(mine: House) -> None:
    user: Any = make_user("audrey", workspace=mine.workspace, role=Role.AUDITOR, is_staff=True)
    user.set_password("rye and spelt")
    user.save()
    form = {"old_password": "rye and spelt", "new_password1": PASSWORD, "new_password2": PASSWORD}
    assert enter(user).post("/admin/password_change/", form).status_code == 302
    user.refresh_from_db()
    assert user.check_password(PASSWORD)
    assert AuditRecord.objects.filter(event="password", actor="user:audrey").exists()

"""Every address of the admin for every role, compared with one table (role_table)."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, connection, transaction
from django.template.response import SimpleTemplateResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from memories.models import Batch, BotKey, Scope, Workspace
from memories.staff.models import Member
from memories.staff.rights import needs
from memories.staff.roles import ROLES, Right, Role
from sessions_app.models import SessionEvent
from tests.conftest import NOW
from tests.memories.admin import role_table
from tests.memories.admin.conftest import House, enter, make_user
from tests.memories.admin.test_wall import patterns, rows_of

pytestmark = pytest.mark.django_db
LETTERS = {"V": "viewer", "A": "auditor", "C": "curator", "O": "operator", "W": "owner", "S": "superuser"}
#: Who see least and most: in the walk of roles their pages are written out, and those of the others are not.
WRITTEN_OUT = ("V", "S")
#: What that walk leaves out, or opens with a question only.
OPENED_APART = ("login", "login_code", "logout", "memories_jobrun_run", "autocomplete")
AUTOCOMPLETE = "?app_label=memories&model_name=entry&field_name=scope&term="


def person(letter: str, workspace: Workspace, *, again: bool = False) -> Client:
    if again:
        return enter(get_user_model().objects.get(username=letter))
    if letter == "S":
        return enter(make_user("S", is_staff=True, is_superuser=True))
    return enter(make_user(letter, workspace=workspace, role=Role(LETTERS[letter]), is_staff=True))


def is_refusal(response: Any) -> bool:
    """Whether somebody may not do this; Django answers for a row that is not theirs to see with the home page."""
    return response.status_code in (403, 405) or response.headers.get("Location") == "/admin/"


def addresses(house: House) -> Iterator[tuple[str, str]]:
    """The name of every page, with one of its addresses in this house."""
    rows = {label: found[0].pk for label, found in rows_of(house).items() if found}
    rows |= {
        model._meta.label_lower.replace(".", "_"): model._default_manager.first().pk
        for model, page in admin.site._registry.items()
        if page.workspace_field is None
    }
    rows["memories_workspace"] = house.workspace.pk
    key, channel = (rows[name] for name in ("memories_botkey", "channels_app_channel"))
    for path, pattern in patterns():
        name = pattern.name
        if name is None or name == "app_list":
            continue
        label = next((label for label in rows if name.startswith(f"{label}_")), "")
        row = str(rows.get(label, 1))
        for part, value in (
            ("<path:object_id>", row), ("<id>", row), ("<int:pk>", row),
            ("<int:version>", "1"), ("<uuid:uid>", str(house.entry.uid)), ("<slug:job>", "expire"),
            ("<int:scope_id>", str(house.scope.pk)), ("<int:event>", str(SessionEvent.objects.first().pk)),
            ("<int:key>/<int:channel>/<int:after>", f"{key}/{channel}/0"),
            ("<slug:kind>", "csv"), ("<slug:policy_kind>", "ttl"),
        ):  # fmt: skip
            path = path.replace(part, value)
        yield name, path


def test_the_table_names_every_address_of_the_admin(furnished: House) -> None:
    named = {name for name, _get, _post in role_table.lines()} - {"app_list"}
    assert {name for name, _path in addresses(furnished)} == named


@pytest.mark.thorough
@pytest.mark.parametrize("letter", LETTERS)
def test_each_role_opens_and_sends_what_the_table_says(letter: str, furnished: House, monkeypatch: Any) -> None:
    if letter not in WRITTEN_OUT:  # what pages say costs most, and is not asked
        monkeypatch.setattr(SimpleTemplateResponse, "rendered_content", "")
    client, may = person(letter, furnished.workspace), {name: (get, post) for name, get, post in role_table.lines()}
    wrong = []
    for name, address in addresses(furnished):
        if name in ("login", "login_code", "logout"):
            continue
        address += {"memories_jobrun_run": f"?of={furnished.workspace.pk}", "autocomplete": AUTOCOMPLETE}.get(name, "")
        for method, who in zip(("get", "post"), may[name], strict=True):
            with transaction.atomic():  # what was done is taken back: each address is asked of the same house
                response = getattr(client, method)(address)
                transaction.set_rollback(True)
            is_hidden = response.status_code == 404  # a row that is not theirs to see; all of these rows are there
            is_wrong = not (is_refusal(response) or is_hidden)
            if letter in who:
                is_wrong = is_refusal(response) and response.status_code != 405
            if is_wrong or response.status_code >= 500:
                wrong.append(f"{method} {name}: {LETTERS[letter]} got {response.status_code}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.thorough
@pytest.mark.parametrize("letter", ["V", "S", ""])
def test_no_address_fails_for_those_who_see_least_and_most(letter: str, furnished: House) -> None:
    """Each address, with a row that is there and with one that is not, opened and sent an empty form, and written out;
    those with a row that is there in the walk above, where every role asks for each."""
    client = person(letter, furnished.workspace) if letter else Client()
    client.raise_request_exception = False
    failed = []
    for name, address in addresses(furnished):
        missing = re.sub(r"/\d+/", "/987654321/", address)
        items = {address, missing}
        if letter in WRITTEN_OUT and name not in OPENED_APART:
            items -= {address}
        for item in items:
            for method in ("get", "post"):
                with transaction.atomic():
                    status = getattr(client, method)(item).status_code
                    transaction.set_rollback(True)
                if status >= 500:
                    failed.append(f"{method} {name} {item}: {status}")
                if name == "logout" and letter:  # the walk is made by somebody logged in
                    client = person(letter, furnished.workspace, again=True)
                    client.raise_request_exception = False
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("letter", LETTERS)
def test_each_role_logs_out_and_the_old_cookie_opens_nothing(letter: str, furnished: House) -> None:
    client = person(letter, furnished.workspace)
    client.raise_request_exception = False
    old = client.cookies[settings.SESSION_COOKIE_NAME].value
    assert client.get(reverse("admin:index")).status_code == 200
    assert "logout-form" in client.get(reverse("admin:index")).content.decode()
    response = client.get(reverse("admin:logout"))
    assert (
        response.status_code == 200 and client.get(reverse("admin:index")).status_code == 200
    )  # a link logs nobody out
    assert client.post(reverse("admin:logout")).status_code == 200
    thief = Client()
    thief.cookies[settings.SESSION_COOKIE_NAME] = old
    for browser in (client, thief):
        answer = browser.get(reverse("admin:index"))
        assert answer.headers["Location"].startswith(reverse("admin:login"))


@pytest.mark.parametrize(
    ("language", "words"), [("en", "It takes a role you do not have"), ("zh-hans", "这需要您在此工作区中没有的角色")]
)
def test_who_is_refused_reads_why_and_finds_the_way_back(language: str, words: str, furnished: House) -> None:
    client = person("V", furnished.workspace)
    client.raise_request_exception = False
    client.cookies["django_language"] = language
    refused = client.get(reverse("admin:memories_bot_issue_key", args=[furnished.bot.pk]))
    missing = client.get("/admin/nothing/here/")
    assert (refused.status_code, missing.status_code) == (403, 404)
    assert words in refused.content.decode()
    for answer in (refused, missing):
        assert f'href="{reverse("admin:index")}"' in answer.content.decode()


@pytest.mark.parametrize("letter", LETTERS)
def test_each_role_is_offered_the_actions_the_table_says(letter: str, furnished: House) -> None:
    request = RequestFactory().get("/admin/")
    name = "S" if letter == "S" else letter
    person(letter, furnished.workspace)
    request.user = get_user_model().objects.get(username=name)
    for model, page in admin.site._registry.items():
        label = model._meta.label_lower.replace(".", "_")
        wanted = {action for action, who in role_table.ACTIONS.get(label, {}).items() if letter in who}
        assert set(page.get_actions(request)) == wanted, label


def test_a_role_holds_where_it_was_given_and_nowhere_else(mine: House, theirs: House) -> None:
    """An owner of one workspace who reads another: no page, form or ticked row lets them do more there."""
    alice = make_user("alice", workspace=mine.workspace, is_staff=True)
    Member.objects.create(workspace=theirs.workspace, user=alice, role=Role.VIEWER)
    client = enter(alice)
    for name, row in (("bot_issue_key", theirs.bot.pk), ("entry_expire", theirs.entry.pk)):
        assert client.get(reverse(f"admin:memories_{name}", args=[row])).status_code == 403
    assert client.get(reverse("admin:memories_entry_change", args=[theirs.entry.pk])).status_code == 200
    ticked = {"action": "expire_chosen", "_selected_action": [theirs.entry.pk], "confirmed": "yes", "reason": "r"}
    client.post(reverse("admin:memories_entry_changelist"), ticked)
    theirs.entry.refresh_from_db()
    assert theirs.entry.expired_at is None
    new = {"workspace": theirs.workspace.pk, "name": "spy", "keys-TOTAL_FORMS": 0, "keys-INITIAL_FORMS": 0}
    client.post(reverse("admin:memories_bot_add"), new)
    assert not theirs.workspace.bots.filter(name="spy").exists()
    assert (
        client.get(f"{reverse('admin:memories_jobrun_run', args=['expire'])}?of={theirs.workspace.pk}").status_code
        == 404
    )


def test_an_irreversible_batch_is_approved_by_those_who_may_erase(mine: House) -> None:
    batch = Batch.objects.create(
        workspace=mine.workspace, name="purge", actor="job:purge", state="proposed", counts={"purge": 1}, created_at=NOW
    )
    approve = reverse("admin:memories_batch_approve", args=[batch.pk])
    assert person("O", mine.workspace).get(approve).status_code == 403
    assert person("W", mine.workspace).get(approve).status_code == 200


# no escalation


def change_role(client: Client, member: Member, role: str) -> Any:
    return client.post(reverse("admin:memories_member_change", args=[member.pk]), {"role": role})


def test_an_owner_gives_roles_and_nobody_else_does(mine: House) -> None:
    owner, operator = person("W", mine.workspace), person("O", mine.workspace)
    ben = Member.objects.create(workspace=mine.workspace, user=make_user("ben", is_staff=True))
    change_role(owner, ben, "curator")
    change_role(operator, ben, "owner")
    change_role(operator, Member.objects.get(user__username="O"), "owner")
    ben.refresh_from_db()
    assert (ben.role, Member.objects.get(user__username="O").role) == ("curator", "operator")
    history = owner.get(reverse("admin:memories_member_history", args=[ben.pk])).content.decode()
    assert "user:W" in history and "Curator" in history


def test_who_does_not_hold_a_role_can_neither_give_nor_take_it(mine: House, monkeypatch: Any) -> None:
    """Should a role lesser than owner once give roles, it would give none above itself."""
    roles = {**ROLES, Role.OPERATOR: ROLES[Role.OPERATOR] | {Right.MEMBERS}}
    monkeypatch.setattr("memories.staff.roles.ROLES", roles)
    client = person("O", mine.workspace)
    own = Member.objects.get(user__username="O")
    theirs = Member.objects.create(workspace=mine.workspace, user=make_user("ben", is_staff=True), role=Role.OWNER)
    change_role(client, own, "owner")
    change_role(client, theirs, "viewer")
    client.post(reverse("admin:memories_member_delete", args=[theirs.pk]), {"post": "yes"})
    assert {row.role for row in Member.objects.filter(pk__in=[own.pk, theirs.pk])} == {"operator", "owner"}


def test_the_last_owner_stays(mine: House) -> None:
    client = person("W", mine.workspace)
    member = Member.objects.get(workspace=mine.workspace)
    change_role(client, member, "viewer")
    client.post(reverse("admin:memories_member_delete", args=[member.pk]), {"post": "yes"})
    member.refresh_from_db()
    assert member.role == Role.OWNER


def test_the_database_keeps_the_last_owner_too(mine: House) -> None:
    make_user("alice", workspace=mine.workspace)
    for attempt in (
        lambda: Member.objects.filter(workspace=mine.workspace).delete(),
        lambda: Member.objects.filter(workspace=mine.workspace).update(role="viewer"),
    ):
        with pytest.raises(IntegrityError, match="last owner"), transaction.atomic():
            attempt()
            with connection.cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def test_a_key_holds_no_more_than_whoever_issues_it(mine: House, monkeypatch: Any) -> None:
    """A role with keys, but no hand on memories, gives keys that read."""
    monkeypatch.setattr("memories.staff.roles.ROLES", {**ROLES, Role.AUDITOR: ROLES[Role.AUDITOR] | {Right.KEYS}})
    client = person("A", mine.workspace)
    form = {
        "confirmed": "yes",
        "label": "mine",
        "scope_patterns": "",
        "expires": "30",
        "permissions": ["read", "write"],
    }
    issue = reverse("admin:memories_bot_issue_key", args=[mine.bot.pk])
    client.post(issue, form)
    client.post(issue, form | {"permissions": ["read"]})
    assert [key.permissions for key in BotKey.objects.filter(label="mine")] == [["read"]]


def test_the_address_of_a_webhook_is_for_those_who_set_it(mine: House) -> None:
    mine.workspace.webhooks.update(url="https://receiver.example/hooks/quiet-word")
    page = reverse("admin:memories_webhook_change", args=[mine.workspace.webhooks.get().pk])
    assert "quiet-word" in person("W", mine.workspace).get(page).content.decode()
    assert "quiet-word" not in person("A", mine.workspace).get(page).content.decode()


# fail closed


def test_an_address_of_old_leads_to_the_page_that_asks(mine: House) -> None:
    old = person("V", mine.workspace).get(f"/admin/memories/entry/{mine.entry.pk}/")
    assert (old.status_code, old.headers["Location"]) == (302, f"/admin/memories/entry/{mine.entry.pk}/change/")


def test_a_view_that_names_no_right_is_not_built() -> None:
    def careless(request: Any) -> None: ...

    with pytest.raises(ImproperlyConfigured, match="names no right"):
        admin.site.admin_view(careless)
    assert admin.site.admin_view(needs(Right.READ)(careless))


def test_what_a_page_does_not_name_it_refuses(mine: House, rf: RequestFactory) -> None:
    page = admin.site.get_model_admin(Scope)
    request = rf.get("/admin/")
    person("W", mine.workspace)
    request.user = get_user_model().objects.get(username="W")
    assert page.admits(request, "view") and page.admits(request, "change", mine.scope)
    assert not page.admits(request, "add") and not page.admits(request, "shred")

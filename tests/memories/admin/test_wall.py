"""Nobody sees another workspace, at any address of the admin: found by walking them, so that a new page is included."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from memories.admin.access import RestrictedAdmin, WorkspaceRestriction
from memories.models import Entry, Scope, Workspace
from tests.memories.admin.conftest import SECRET, House, dismiss_all, enter, make_user

ANSWER = {
    "confirmed": "yes",
    "reason": "r",
    "term": "",
    "action": "expire_chosen",
    "label": "l",
    "permissions": ["read"],
}

#: What was asked for, said back by the page.
ECHO = re.compile(rf"""(?:q=|q%3D|value="){SECRET}""")
pytestmark = pytest.mark.django_db


def patterns() -> Iterator[tuple[str, URLPattern]]:
    """Every address of the admin, with the names of what stands in it."""

    def walk(resolver: Any, prefix: str) -> Iterator[tuple[str, URLPattern]]:
        for pattern in resolver.url_patterns:
            path = prefix + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                yield from walk(pattern, path)
            else:
                yield path, pattern

    for path, pattern in walk(get_resolver(), "/"):
        if path.startswith("/admin/"):
            yield path, pattern


def rows_of(house: House) -> dict[str, list[Any]]:
    """The rows of a workspace by the name their addresses begin with."""
    data: dict[str, list[Any]] = {}
    for model, model_admin in admin.site._registry.items():
        field = getattr(model_admin, "workspace_field", None)
        if field:
            rows = model._default_manager.filter(**{field: house.workspace.pk})
            data[model._meta.label_lower.replace(".", "_")] = list(rows.order_by(*model._meta.ordering, "pk"))
    return data


def addresses(house: House) -> Iterator[str]:
    """Every address, filled in with this house's rows; lists are also searched and filtered for them."""
    rows = rows_of(house)
    for path, pattern in patterns():
        name = pattern.name or ""
        model = next((label for label in rows if name.startswith(f"{label}_")), None)
        if "<path:object_id>" in path or "<id>" in path:
            for row in rows.get(model or "", []):
                yield (
                    path.replace("<path:object_id>", str(row.pk))
                    .replace("<id>", str(row.pk))
                    .replace("<int:version>", "1")
                )
        elif "<" not in path and "(?P" not in path and name != "logout":  # the walk is made by somebody logged in
            yield path
            if name.endswith("_changelist"):
                yield f"{path}?q={house.word}"
                yield f"{path}?workspace__id__exact={house.workspace.pk}"
                yield f"{path}?scope__id__exact={house.scope.pk}"
                yield f"{path}?of={house.workspace.pk}"
    yield from (
        reverse("admin:app_list", args=[label]) for label in ("memories", "sessions_app", "channels_app", "auth")
    )
    yield f"{reverse('admin:search')}?s={house.word}&extended=1"
    yield f"{reverse('admin:search')}?s={house.word}"
    yield from _autocompletions(house)


def _autocompletions(house: House) -> Iterator[str]:
    for model in admin.site._registry:
        for field in model._meta.get_fields():
            if field.is_relation and field.concrete:
                where = f"app_label={model._meta.app_label}&model_name={model._meta.model_name}&field_name={field.name}"
                yield f"{reverse('admin:autocomplete')}?{where}&term={house.word}"
                yield f"{reverse('admin:autocomplete')}?{where}&term="


def snapshot(house: House) -> list[Any]:
    """Everything of a workspace, for telling whether anything was changed."""
    return [sorted(map(repr, (vars(row) | {"_state": 0} for row in rows))) for rows in rows_of(house).values()]


@pytest.mark.thorough
def test_a_member_meets_no_trace_of_another_workspace(alice: Client, mine: House, theirs: House) -> None:
    before = snapshot(theirs)
    for address in addresses(theirs):
        for response in (alice.get(address), alice.post(address, ANSWER)):
            assert response.status_code in (200, 302, 403, 404, 405), (address, response.status_code)
            shown = ECHO.sub("", response.content.decode())
            assert SECRET not in shown, address
            assert str(theirs.entry.uid) not in shown, address
    assert snapshot(theirs) == before
    assert alice.get(reverse("admin:memories_entry_change", args=[mine.entry.pk])).status_code == 200  # still logged in


@pytest.mark.thorough
def test_the_wall_is_what_hides_it(charlie: Client, theirs: House) -> None:
    """The walk above would notice: somebody of that workspace meets its word at nearly every address."""
    seen = (address for address in addresses(theirs) if SECRET in charlie.get(address).content.decode())
    assert len(list(islice(seen, 61))) > 60


@pytest.mark.thorough
def test_staff_without_a_workspace_sees_an_empty_house(dora: Client, theirs: House) -> None:
    home = dora.get(reverse("admin:index"))
    assert "not a member of any workspace" in home.content.decode()
    before = snapshot(theirs)
    for address in addresses(theirs):
        for response in (dora.get(address), dora.post(address, ANSWER)):
            assert not any(word in response.content.decode() for word in (f"I like {SECRET}", f"bot-{SECRET}")), address
            opened = address.split("?")[0].count("/") > 3 and response.status_code == 200
            assert not opened or address.startswith((reverse("admin:password_change"), "/admin/language")), address
    assert snapshot(theirs) == before


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["plain", "anonymous"])
def test_everybody_else_is_sent_to_the_login(kind: str, theirs: House) -> None:
    client = enter(make_user("plain", workspace=theirs.workspace) if kind == "plain" else None)
    outside = (reverse("admin:login"), "/admin/language/")
    for address in addresses(theirs):
        if not address.startswith(outside):
            response = client.get(address)
            assert (response.status_code, response.headers.get("Location", "")[:13]) == (302, "/admin/login/"), address


def test_a_membership_that_ended_is_felt_at_once(alice: Client, mine: House) -> None:
    address = reverse("admin:memories_entry_change", args=[mine.entry.pk])
    assert alice.get(address).status_code == 200
    dismiss_all(mine.workspace)
    assert alice.get(address).status_code in (302, 403, 404)


def test_a_colleague_cannot_move_a_setting_into_another_workspace(alice: Client, mine: House, theirs: House) -> None:
    response = alice.post(
        reverse("admin:memories_bot_add"),
        {"workspace": theirs.workspace.pk, "name": "spy", "keys-TOTAL_FORMS": 0, "keys-INITIAL_FORMS": 0},
    )
    assert response.status_code == 200
    assert not theirs.workspace.bots.filter(name="spy").exists()


def test_counts_on_the_home_page_are_of_ones_own(alice: Client, mine: House, theirs: House) -> None:
    assert {figure.name: figure.value for figure in alice.get("/admin/").context["figures"]}["Memories in use"] == "1"


def test_the_database_hides_it_too(alice: Client, mine: House, theirs: House, monkeypatch: Any) -> None:
    """The admin's own wall taken away, row-level security still shows nothing of others."""
    monkeypatch.setattr(
        WorkspaceRestriction,
        "get_queryset",
        lambda self, request: super(WorkspaceRestriction, self).get_queryset(request),
    )
    address = reverse("admin:memories_entry_changelist")
    assert SECRET not in alice.get(address).content.decode()
    assert Entry.objects.filter(content__contains=SECRET).exists()  # which the owner of the tables sees


def test_the_site_refuses_a_page_that_asks_nobody_whose_rows_it_shows() -> None:
    class Careless(ModelAdmin):  # type: ignore[type-arg]
        pass

    with pytest.raises(ImproperlyConfigured):
        admin.site.register(Entry, Careless)


def test_every_page_and_inline_stands_behind_the_wall() -> None:
    for model_admin in admin.site._registry.values():
        assert isinstance(model_admin, RestrictedAdmin)
        assert all(issubclass(inline, WorkspaceRestriction) for inline in model_admin.inlines), model_admin


def test_every_page_names_the_field_that_holds_its_workspace() -> None:
    for model, model_admin in admin.site._registry.items():
        columns = {field.attname for field in model._meta.concrete_fields}
        if model is Workspace:
            assert model_admin.workspace_field == "id"
        elif "workspace_id" in columns:
            assert model_admin.workspace_field == "workspace_id", model
        else:
            assert model_admin.workspace_field is None, f"{model} has no workspace: only superusers may come"


def test_nothing_but_memberships_and_pinned_tests_can_be_deleted() -> None:
    deletable = {
        model.__name__
        for model, page in admin.site._registry.items()
        if "delete" in {*page.members_may, *page.superusers_may}
    }
    assert deletable == {"Member", "PinnedTest"}
    assert Scope.__name__ not in deletable

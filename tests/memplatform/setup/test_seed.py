"""A made-up workspace for measurements: everything an operator's pages show, and never beside what people remember."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from memories.models import Batch, BatchChange, Change, Entry, EntryAccess, EntryIndex, RecallTrace, Scope, Workspace
from sessions_app.models import Session, SessionEvent
from tests.conftest import make_key
from tests.memories.admin.conftest import enter, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]


@pytest.fixture
def seeded_workspace(db: None) -> Workspace:
    out = StringIO()
    call_command("seed", entries=700, workspace="Made up", stdout=out)
    assert "entries 700" in out.getvalue()
    return Workspace.objects.get(name="Made up")


def test_it_has_every_kind_of_row_and_each_belongs_to_another(seeded_workspace: Workspace) -> None:
    rows = (Entry, EntryIndex, Session, SessionEvent, Batch, BatchChange, RecallTrace)
    assert [model.objects.filter(workspace_id=seeded_workspace.pk).count() for model in rows] == [
        700,
        700,
        70,
        280,
        7,
        35,
        70,
    ]
    entries = Entry.objects.filter(workspace=seeded_workspace)
    assert entries.filter(expired_at__isnull=False).exists() and entries.filter(pinned=True).exists()
    assert entries.filter(content__contains="龙井").exists() and entries.filter(content__contains="release").exists()
    assert 0 < EntryAccess.objects.filter(entry__in=entries).count() < 700
    assert not entries.exclude(scope__workspace_id=seeded_workspace.pk).exists()
    assert sum(Scope.objects.filter(workspace=seeded_workspace).values_list("entry_count", flat=True)) == 700
    assert Change.objects.filter(workspace_id=seeded_workspace.pk, actor="command:seed", op="I").exists()
    session = Session.objects.filter(workspace=seeded_workspace).first()
    assert session and entries.filter(origins__contains=[session.origin_of(session.messages()[0])]).exists()


def test_its_pages_can_be_read_and_more_is_remembered_beside_it(seeded_workspace: Workspace) -> None:
    owner = enter(make_user("owner", is_staff=True, is_superuser=True))
    page = owner.get(reverse("admin:memories_entry_changelist"), {"q": "Atlas", "view": "live"})
    assert page.status_code == 200 and page.context["cl"].result_list
    log = owner.get(reverse("admin:memories_recalltrace_changelist"), {"q": "release branch"})
    assert log.status_code == 200 and log.context["cl"].result_list
    session = Session.objects.filter(workspace=seeded_workspace).latest("pk")
    talk = owner.get(reverse("admin:sessions_app_session_change", args=[session.pk])).context["talk"]
    assert any(bubble.memories for day in talk.days for bubble in day.bubbles)
    headers = {"Authorization": f"Bearer {make_key(seeded_workspace)}"}
    content = {"scope": "telegram:direct_user1", "content": "One more"}
    assert Client().post("/api/v1/entries", content, "application/json", headers=headers).status_code == 201


def test_it_refuses_where_something_is_remembered(seeded_workspace: Workspace) -> None:
    with pytest.raises(CommandError, match="--yes"):
        call_command("seed", entries=10)
    with pytest.raises(CommandError, match="already"):
        call_command("seed", entries=10, workspace="Made up", yes=True)
    with pytest.raises(CommandError, match="at least one"):
        call_command("seed", entries=0)
    call_command("seed", entries=10, yes=True, stdout=StringIO())
    assert Entry.objects.filter(workspace__name="Seed 10").count() == 10

"""Names of workspaces: who may not see the others does not learn their names by trying."""

import pytest
from django.test import Client
from django.urls import reverse

from memories.models import Workspace
from tests.memories.admin.conftest import House

pytestmark = pytest.mark.django_db
FORM = {"language": "en", "time_zone": "UTC", "members-TOTAL_FORMS": 0, "members-INITIAL_FORMS": 0}


def test_a_member_cannot_tell_a_taken_name_from_a_free_one(alice: Client, mine: House, theirs: House) -> None:
    address = reverse("admin:memories_workspace_change", args=[mine.workspace.pk])
    answers = [alice.post(address, FORM | {"name": name}) for name in (theirs.workspace.name, "nobody has this name")]
    assert {answer.status_code for answer in answers} == {302}
    assert not any("already exists" in answer.content.decode() for answer in answers)
    assert Workspace.objects.get(pk=mine.workspace.pk).name == mine.workspace.name


def test_a_superuser_renames_a_workspace(owner: Client, mine: House) -> None:
    address = reverse("admin:memories_workspace_change", args=[mine.workspace.pk])
    assert owner.post(address, FORM | {"name": "Home"}).status_code == 302
    assert Workspace.objects.get(pk=mine.workspace.pk).name == "Home"

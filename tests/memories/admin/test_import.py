"""A file of another program comes in by the admin: first what it would bring, then a batch that can be undone."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from memories.admin import imports
from memories.admin.masking import MASK
from memories.choices import BatchState
from memories.imports.foreign_file import import_file
from memories.models import Batch, BatchChange, Entry
from memories.staff.roles import Role
from tests.conftest import NOW
from tests.memories.admin.conftest import House, enter, make_user

pytestmark = pytest.mark.django_db
FACTS = "content,at\nPriya's birthday is 3 May,2026-01-02\nThe wifi password is hunter2-xyz,\n我喜欢喝龙井茶,\n,\n"


def send(client: Client, house: House, text: str = FACTS, name: str = "facts.csv", **more: Any) -> Any:
    file = SimpleUploadedFile(name, text.encode())
    return client.post(reverse("import"), {"file": file, "scope": house.scope.pk, **more})


def words(house: House) -> set[str]:
    return set(Entry.objects.in_scope(house.scope).live().values_list("content", flat=True))


def test_what_it_would_bring_is_shown_and_nothing_is_remembered_yet(owner: Client, mine: House) -> None:
    before = words(mine)
    page = send(owner, mine)
    text = page.content.decode()
    assert "3 memories would come into" in text and "birthday is 3 May" in text.replace("&#x27;", "'")
    assert "hunter2" not in text and "A credential" in text  # not even before it is kept apart
    tried = page.context["tried"]
    assert (tried.report.preview.secrets, tried.languages, tried.report.left_out.count) == (1, "en 2, zh 1", 1)
    assert "nothing stands in it" in text
    assert words(mine) == before and tried.batch.state == BatchState.PROPOSED


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_secret_that_is_planned_is_masked_in_the_plan_and_in_the_review(
    language: str, owner: Client, mine: House
) -> None:
    text = "content,at\nPriya's birthday is 3 May,\nThe wifi password is hunter2-xyz,\n家里的门锁密码是 580331,\n"
    batch = send(owner, mine, text).context["tried"].batch
    for address in (reverse("admin:memories_batch_change", args=[batch.pk]), f"{reverse('review')}?at={batch.pk}"):
        page = owner.get(address, headers={"accept-language": language}).content.decode()
        assert "birthday is 3 May" in page.replace("&#x27;", "'") and MASK in page, address
        assert "hunter2" not in page and "580331" not in page, address


def test_the_mask_of_a_planned_secret_is_not_kept_as_its_words(owner: Client, mine: House) -> None:
    batch = send(owner, mine).context["tried"].batch
    row = BatchChange.objects.get(batch=batch, verb="create", position=2)
    plan = reverse("admin:memories_batch_plan", args=[batch.pk])
    owner.post(plan, {"position": row.position, "content": MASK, "confirmed": "yes"})
    row.refresh_from_db()
    assert row.draft["content"] == "The wifi password is hunter2-xyz"


def test_it_is_written_by_one_click_and_taken_back_by_an_undo(owner: Client, mine: House) -> None:
    before = words(mine)
    page = send(owner, mine)
    answer = owner.post(page.context["approve"], {"confirmed": "yes"}, follow=True)
    assert "Applied: Create: 3." in answer.content.decode()
    assert len(words(mine)) == len(before) + 3
    batch = Batch.objects.get(pk=page.context["tried"].batch.pk)
    assert (batch.actor, batch.reason) == ("user:owner", "facts.csv")
    undo = reverse("admin:memories_batch_undo", args=[batch.pk])
    owner.post(undo, {"confirmed": "yes", "reason": "the wrong file", "changed": "leave"})
    assert words(mine) == before


def test_what_is_thrown_away_is_written_by_no_later_import(owner: Client, mine: House, tmp_path: Any) -> None:
    page = send(owner, mine)
    owner.post(page.context["refuse"], {"confirmed": "yes"})
    waiting = send(owner, mine).context["tried"].batch
    other = tmp_path / "other.csv"
    other.write_text("content\nSomething else\n")
    import_file(mine.scope, other, kind="csv", now=NOW, actor="command:x")
    waiting.refresh_from_db()
    assert waiting.state == BatchState.PROPOSED  # a killed import goes on; one that nobody approved does not
    assert "Something else" in words(mine) and not any("birthday" in line for line in words(mine))


def test_what_is_there_already_comes_no_second_time(owner: Client, mine: House) -> None:
    owner.post(send(owner, mine).context["approve"], {"confirmed": "yes"})
    page = send(owner, mine)
    assert page.context["tried"].batch is None and page.context["tried"].report.already == 3
    assert "Nothing: all of it is there already" in page.content.decode()


def test_a_file_of_several_people_is_refused_until_one_is_named(owner: Client, mine: House) -> None:
    rows = [{"memory": f"{name} likes tea", "user_id": name, "id": name} for name in ("ann", "ben")]
    text = json.dumps({"results": rows})
    assert "several" in send(owner, mine, text, "mem0.json").content.decode()
    page = send(owner, mine, text, "mem0.json", who="ann")
    assert page.context["tried"].report.preview.memories == 1 and page.context["tried"].kind == "mem0"


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [("nothing we know", "notes.txt", "notes.txt"), ("x" * 300, "large.csv", "manage.py import takes a file of any"),
     ("content\n" + "a line\nanother\nthird\n", "rows.csv", "bring it in by the command")],
)  # fmt: skip
def test_what_cannot_be_read_is_said_at_the_file(
    owner: Client, mine: House, monkeypatch: pytest.MonkeyPatch, text: str, name: str, message: str
) -> None:
    monkeypatch.setattr(imports, "BYTES_MOST", 200)
    monkeypatch.setattr(imports, "ROWS_MOST", 2)
    before = Batch.objects.count()
    page = send(owner, mine, text, name)
    assert message in page.content.decode() and "tried" not in page.context
    assert Batch.objects.count() == before


def test_only_those_who_operate_import_and_only_where_they_do(mine: House, theirs: House) -> None:
    curator = enter(make_user("cu", workspace=mine.workspace, role=Role.CURATOR, is_staff=True))
    operator = enter(make_user("op", workspace=mine.workspace, role=Role.OPERATOR, is_staff=True))
    assert curator.get(reverse("import")).status_code == 403 and send(curator, mine).status_code == 403
    page = send(operator, theirs)
    assert "tried" not in page.context and not Batch.objects.filter(workspace=theirs.workspace, name="import").exists()
    assert "tried" in send(operator, mine).context


def test_a_frozen_memory_takes_no_import(owner: Client, mine: House) -> None:
    mine.scope.frozen = True
    mine.scope.save(update_fields=["frozen"])
    assert "tried" not in send(owner, mine).context

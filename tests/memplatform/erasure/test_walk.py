"""An erased person is nowhere any more: in no table, page, answer or file; and nobody else has lost anything (F7)."""

import shutil
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.db import connection
from django.urls import reverse

from memories import batches
from memories.audit.models import AuditRecord
from memories.batches import PlanRow
from memories.batches import branch as branches
from memories.batches.steps import EditStep
from memories.embeddings import text_hash
from memories.files import disk
from memories.files.layout import scope_folder
from memories.models import (
    Batch,
    BufferedTurn,
    DailyEvent,
    EmbeddingCache,
    Entry,
    Erasure,
    ErasureState,
    Scope,
    Tombstone,
    Workspace,
)
from memories.notes.freshness import FileIndexer, scopes_with_files
from memories.staff.models import Member
from memories.staff.roles import Role
from memplatform.erasure import certificate, run
from memplatform.erasure.collect import fates
from sessions_app.models import SessionEvent
from tests.conftest import NOW, Api, make_key
from tests.memories.admin.conftest import enter, make_user
from tests.memplatform.erasure.conftest import (
    ANN,
    BEN,
    CANARY,
    LATER,
    PEER,
    Town,
    direct,
    drain_journal,
    files_with,
    group,
    word,
)

pytestmark = pytest.mark.django_db


def tables() -> list[str]:
    with connection.cursor() as cursor:
        return sorted(connection.introspection.table_names(cursor))


def tables_with(words: str) -> list[str]:
    """Every table in a row of which some words stand."""
    results = []
    with connection.cursor() as cursor:
        for table in tables():
            cursor.execute(f"SELECT count(*) FROM {table} row WHERE row::text ILIKE %s", [f"%{words}%"])
            if cursor.fetchone()[0]:
                results.append(table)
    return results


def erase(town: Town) -> dict[str, Any]:
    order = run.order(town.workspace, [ANN], reason="request 17", actor="user:op", now=LATER)
    assert run.erase_waiting(now=LATER) == {"erased": 1, "failed": 0}
    order.refresh_from_db()
    assert order.state == ErasureState.DONE
    issued: dict[str, Any] = order.certificate
    return issued


def test_every_table_of_the_database_is_named_with_what_becomes_of_it(db: None) -> None:
    assert sorted(fates()) == tables()


@pytest.mark.thorough
def test_nothing_of_an_erased_person_is_found_anywhere(town: Town) -> None:
    assert len(tables_with(CANARY)) > 15, "the canary is not where it should be"
    assert EmbeddingCache.objects.exists()
    before = town.of_ben()
    issued = erase(town)
    assert tables_with(CANARY) == []
    assert tables_with(PEER) == []
    assert files_with(CANARY) == files_with(PEER) == []
    assert issued["verified"]["rows_still_tied_to_the_person"] == 0
    assert issued["verified"]["same_words_found_in"] == {}
    assert certificate.verify(issued) == "own"
    assert town.of_ben() == before
    assert not EmbeddingCache.objects.filter(text_hash=text_hash(word("fact"))).exists()


def test_the_watcher_of_files_makes_no_memory_of_a_folder_that_was_erased(town: Town) -> None:
    watcher = FileIndexer()
    while watcher(now=LATER) == 0.0:  # it has seen all files, and waits for changes
        pass
    erase(town)
    for _look in range(20):
        watcher(now=LATER)
        sleep(0.05)
    assert not Scope.objects.filter(key__contains=PEER).exists()
    assert [str(path) for path in Path(settings.MEMORY_FILES_ROOT).rglob("*") if PEER in path.name] == []
    assert tables_with(PEER) == []


def test_a_folder_that_goes_while_it_is_looked_at_begins_no_memory(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever saw its files a moment ago finds them gone once the memory would be made."""
    folder = scope_folder(workspace.folder, f"telegram:direct_{PEER}")
    disk.append(folder, folder.daily(NOW.date()), "- hello\n")
    begin = type(Scope.objects).begin

    def late(*args: Any) -> Scope:
        shutil.rmtree(folder.workspace / folder.base)
        return begin(*args)

    monkeypatch.setattr(type(Scope.objects), "begin", late)
    assert list(scopes_with_files(workspace)) == []
    assert not Scope.objects.filter(key__contains=PEER).exists()


@pytest.mark.thorough
def test_no_page_and_no_answer_tells_of_an_erased_person(town: Town) -> None:
    erase(town)
    owner = enter(make_user("owner", is_staff=True, is_superuser=True))
    pages = [reverse("admin:index"), reverse("review"), f"{reverse('admin:search')}?s=shed&extended=1"]
    for model in admin.site._registry:
        name = f"admin:{model._meta.label_lower.replace('.', '_')}"
        pages += [reverse(f"{name}_changelist"), f"{reverse(f'{name}_changelist')}?q=shed"]
        pages += [reverse(f"{name}_change", args=[row.pk]) for row in model._default_manager.all()[:50]]
    for page in pages:
        shown = owner.get(page, follow=True).content.decode()
        assert CANARY not in shown and PEER not in shown, page
    api = Api(make_key(town.workspace, name="reader"))
    for call in ("entries", "events", "sessions", "batches"):
        assert CANARY not in api.get(call).content.decode(), call
    for address in (direct(PEER), group(PEER), group(BEN), direct(BEN)):
        for call in ("recall", "context"):
            body = {"address": address, "message": "what did somebody keep in the shed behind the house?"}
            assert CANARY not in api.post(call, body).content.decode()


@pytest.mark.thorough
def test_an_owner_erases_in_their_own_workspaces_and_nobody_else_does(town: Town) -> None:
    other = Workspace.objects.create(name="Other")
    run.order(other, [ANN], reason="theirs", actor="user:op", now=NOW)
    owner = make_user("olga", workspace=town.workspace, is_staff=True)
    Member.objects.create(workspace=other, user=owner, role=Role.OPERATOR)
    client, page = enter(owner), reverse("admin:memories_erasure_erase")
    named = client.get(f"{page}?person={ANN}&of={town.workspace.pk}").context["person"]  # with who is linked to her
    answer = {"confirmed": "yes", "reason": "request 17", "person": named}
    assert client.post(f"{page}?person={ANN}&of={town.workspace.pk}", answer).status_code == 302
    order = Erasure.objects.get(workspace=town.workspace)
    assert (order.actor, AuditRecord.objects.get(event="erased").about) == ("user:olga", str(order.uid))
    assert client.get(reverse("admin:memories_erasure_change", args=[order.pk])).status_code == 200
    assert "theirs" not in client.get(reverse("admin:memories_erasure_changelist")).content.decode()
    client.post(f"{page}?person={ANN}&of={other.pk}", answer)  # where they may not, nothing is ordered
    assert Erasure.objects.filter(workspace=other).count() == 1
    operator = enter(make_user("oscar", workspace=town.workspace, role=Role.OPERATOR, is_staff=True))
    assert operator.post(f"{page}?person={ANN}", answer).status_code == 403


@pytest.mark.thorough
def test_what_others_said_is_in_use_again_and_their_days_are_condensed_anew(town: Town) -> None:
    erase(town)
    bens = Entry.objects.get(content="Ben owns a green bicycle", path="")
    assert bens.is_live()
    day = DailyEvent.objects.get(content="Ben bought a bicycle")
    assert day.compressed_at is None
    assert set(DailyEvent.objects.values_list("content", flat=True)) == {day.content}


@pytest.mark.thorough
def test_what_was_erased_is_refused_when_it_comes_again(town: Town) -> None:
    erase(town)
    drain_journal()
    count = Entry.objects.count()
    data = {"address": direct(PEER), "user": word("turn"), "assistant": "Noted."}
    answer = town.api.post("turns", data)
    assert answer.status_code == 201  # the bot is not kept from its work
    assert {(entry["outcome"], entry["reason"]) for entry in answer.json()["entries"]} == {("suppressed", "erased")}
    assert tables_with(CANARY) == [], "nor in the history of the conversation, nor in the buffer"
    assert answer.json()["session"]["tokens"] == 0
    anew = town.api.post("turns", {**data, "user": "I am back."}).json()
    assert SessionEvent.objects.filter(session__uid=anew["session"]["id"]).count() == 2
    assert BufferedTurn.objects.filter(batch__session_uid=anew["session"]["id"]).count() == 1
    count += len(anew["entries"])
    saved = town.api.post("entries", {"scope": f"telegram:direct_{PEER}", "content": word("edited")})
    assert saved.status_code == 409
    assert saved.json()["errors"][0]["code"] == "erased"
    assert Entry.objects.count() == count
    other = town.api.post("entries", {"scope": f"telegram:direct_{PEER}", "content": "I am back, and like tea"})
    assert other.status_code == 201


@pytest.mark.thorough
@pytest.mark.parametrize("step", range(12))
def test_killed_at_any_step_it_goes_on_to_the_same_end(town: Town, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    seen = 0
    keep = run._enter, run.remove.add

    def dying(*arguments: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == step * 3 + 2:
            raise Killed
        (keep[0] if len(arguments) == 2 else keep[1])(*arguments)

    monkeypatch.setattr(run, "_enter", dying)
    monkeypatch.setattr(run.remove, "add", dying)
    order = run.order(town.workspace, [ANN], reason="request 17", actor="user:op", now=LATER)
    try:
        run.work_off(order.pk, now=LATER)
    except Killed:
        monkeypatch.setattr(run, "_enter", keep[0])
        monkeypatch.setattr(run.remove, "add", keep[1])
        run.work_off(order.pk, now=LATER)
    order.refresh_from_db()
    assert order.state == ErasureState.DONE
    assert tables_with(CANARY) == files_with(CANARY) == []


@pytest.mark.thorough
def test_twice_is_the_same(town: Town) -> None:
    erase(town)
    left = Tombstone.objects.count(), town.of_ben()
    again = erase(town)
    assert sum(again["removed"].values()) == 0
    assert (Tombstone.objects.count(), town.of_ben()) == left


@pytest.mark.thorough
def test_a_preview_counts_what_goes_and_changes_nothing(town: Town) -> None:
    before = tables_with(CANARY)
    result = run.preview(town.workspace, [ANN], now=NOW)
    assert result.counts["memories_entry"] == Entry.objects.filter(content__contains=CANARY).count()
    assert tables_with(CANARY) == before
    assert any(CANARY in sample for sample in result.samples)


def test_a_branch_that_waits_loses_their_rows_and_keeps_those_of_others(town: Town) -> None:
    (bens,) = Entry.objects.in_scope(town.group).live().filter(content__contains="Ben").order_by("pk")[:1]
    waiting = Batch.objects.get(scope=town.group, name="t")
    edit = PlanRow.of(bens, EditStep(columns={"importance": 0.75}))
    other = batches.plan(town.group, [edit], name="change", run="edit", actor="user:op", now=NOW)
    branch = branches.begin(town.group, "another try", actor="user:op", now=NOW)
    branches.take_in(branch, [waiting, other], actor="user:op", now=NOW)
    erase(town)
    assert list(branch.changes.order_by("position").values_list("verb", "state", "note")) == [
        ("create", "left", "erased"), ("change", "planned", ""),
    ]  # fmt: skip
    assert tables_with(CANARY) == []
    branch.refresh_from_db()
    batches.apply_batch(batches.approve(branch, actor="user:op", now=LATER), now=LATER)
    bens.refresh_from_db()
    assert bens.importance == 0.75 and tables_with(CANARY) == []

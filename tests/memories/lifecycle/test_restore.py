"""Bringing back what the night took: one batch, or all of it, for a new term; never what people took out."""

from datetime import datetime, timedelta
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_q.models import OrmQ

from memories import batches, entries, tasks
from memories.batches import bulk_actions
from memories.choices import BatchVerb
from memories.lifecycle import expiry
from memories.models import Batch, Entry, Policy, Scope, Workspace
from tests.conftest import NOW, make_scope
from tests.memories.admin.conftest import enter, make_user
from tests.memories.lifecycle.conftest import SAID, expire, live, remember

pytestmark = pytest.mark.django_db
MORNING = NOW + timedelta(hours=5)
LAST_NIGHT = "admin:memories_batch_last_night"


def restored(batches: list[Batch], days: int | None = 30) -> dict[str, int]:
    term = None if days is None else timedelta(days=days)
    return expiry.restore_all(batches, term=term, now=MORNING, actor="user:ann", reason="too early")


def test_all_that_expired_last_night_comes_back_with_a_term(workspace: Workspace, scope: Scope) -> None:
    other = make_scope(workspace, "telegram:direct_u43")
    remember(scope, *SAID[:2])
    remember(other, *SAID[2:])
    expire(workspace)
    assert live(scope) | live(other) == set()
    assert restored(list(expiry.expiry_batches(since=NOW - expiry.NIGHT))) == {"scopes": 2, "entries": 4}
    assert live(scope) | live(other) == set(SAID)
    assert set(Entry.objects.values_list("expires_at", flat=True)) == {MORNING + timedelta(days=30)}
    batch = Batch.objects.get(scope=scope, name=BatchVerb.RESTORE)
    assert (batch.counts, batch.actor, batch.reason) == ({"restore": 2}, "user:ann", "too early")


def test_without_a_term_it_lives_as_its_policy_says_from_now_on(workspace: Workspace, scope: Scope) -> None:
    remember(scope, *SAID)
    expire(workspace)
    restored(list(Batch.objects.all()), days=None)
    assert expire(workspace, "expire:1:next", now=MORNING + timedelta(days=29))["entries"] == 0
    assert expire(workspace, "expire:1:later", now=MORNING + timedelta(days=30))["entries"] == 4


@pytest.mark.parametrize("days", [None, 30])
def test_what_comes_back_was_said_when_it_was_said(workspace: Workspace, scope: Scope, days: int | None) -> None:
    """Else an outdated port that is brought back would be the newer one."""
    before = {entry.pk: entry.stated_at for entry in remember(scope, *SAID)}
    expire(workspace)
    restored(list(Batch.objects.all()), days=days)
    (one,) = Entry.objects.filter(pk=min(before))
    entries.restore(entries.expire(one, now=MORNING, actor="user:ann"), now=MORNING, actor="user:ann")
    assert dict(Entry.objects.live().values_list("pk", "stated_at")) == before


def test_the_night_before_and_what_people_took_out_stay_out(workspace: Workspace, scope: Scope) -> None:
    (first,) = remember(scope, SAID[0])
    expire(workspace, "expire:1:before", now=NOW - timedelta(days=2))
    second, third = remember(scope, *SAID[1:3])
    expire(workspace)
    third.refresh_from_db()
    bulk_actions.apply_action([third], bulk_actions.restore(), now=NOW, actor="user:ann", reason="r")
    bulk_actions.apply_action(
        [Entry.objects.get(pk=third.pk)], bulk_actions.EXPIRE, now=NOW, actor="user:ann", reason="it is wrong"
    )
    assert restored(list(expiry.expiry_batches(since=NOW - expiry.NIGHT)))["entries"] == 1
    assert live(scope) == {second.content}


def test_a_frozen_scope_stays_as_it_is(workspace: Workspace, scope: Scope) -> None:
    remember(scope, *SAID)
    expire(workspace)
    Scope.objects.update(frozen=True)
    assert restored(list(Batch.objects.all())) == {"scopes": 0, "entries": 0}
    assert live(scope) == set()


def test_an_undone_night_is_nothing_to_restore(workspace: Workspace, scope: Scope) -> None:
    remember(scope, *SAID)
    expire(workspace)
    undo = batches.plan_undo(Batch.objects.get(), actor="user:ann", now=MORNING)
    batches.apply_batch(undo, now=MORNING)
    assert not expiry.expiry_batches(since=NOW - expiry.NIGHT).exists()


def undo(of: Batch, *, now: datetime = MORNING) -> Batch:
    return batches.apply_batch(batches.plan_undo(of, actor="user:ann", now=now), now=now)


@pytest.mark.parametrize(("own_term", "days"), [(None, 30), (timedelta(days=35), 30)])
def test_an_undone_expiry_holds_until_an_end_that_is_shown(
    workspace: Workspace, scope: Scope, own_term: timedelta | None, days: int
) -> None:
    remember(scope, *SAID)
    if own_term:
        Entry.objects.update(expires_at=NOW - timedelta(days=40) + own_term)
    expire(workspace)
    undone = undo(Batch.objects.get())
    ends = MORNING + timedelta(days=days)
    assert live(scope) == set(SAID) and set(Entry.objects.values_list("expires_at", flat=True)) == {ends}
    (row, *_others) = batches.describe(undone, list(undone.changes.order_by("position")))
    assert row.columns["expires_at"][1] == ends
    for night in (1, 2, days - 1):
        assert expire(workspace, f"expire:1:{night}", now=MORNING + timedelta(days=night))["entries"] == 0
    assert expire(workspace, "expire:1:end", now=ends)["entries"] == 4


def test_what_never_ends_by_its_policy_holds_for_a_month(workspace: Workspace, scope: Scope) -> None:
    remember(scope, "the spare key is with the neighbour", type="user_explicit", expires_at=NOW - timedelta(days=1))
    expire(workspace)
    undo(Batch.objects.get())
    assert Entry.objects.get().expires_at == MORNING + timedelta(days=30)


def test_an_undo_of_that_undo_takes_the_end_back_too(workspace: Workspace, scope: Scope) -> None:
    remember(scope, *SAID)
    expire(workspace)
    undo(undo(Batch.objects.get()))
    assert live(scope) == set() and set(Entry.objects.values_list("expires_at", flat=True)) == {None}


def test_what_was_not_over_gets_no_end_of_its_own(workspace: Workspace, scope: Scope) -> None:
    entries = remember(scope, *SAID, days_ago=3)
    bulk_actions.apply_action(entries, bulk_actions.EXPIRE, now=NOW, actor="user:ann", reason="wrong")
    undo(Batch.objects.get())
    assert live(scope) == set(SAID) and set(Entry.objects.values_list("expires_at", flat=True)) == {None}


@pytest.fixture
def ann(workspace: Workspace) -> Client:
    return enter(make_user("ann", workspace=workspace, is_staff=True))


ANSWER = {"confirmed": "yes", "reason": "needed again", "term": "90"}


def test_a_batch_of_the_job_has_a_button_that_asks_for_the_term(
    ann: Client, workspace: Workspace, scope: Scope
) -> None:
    remember(scope, *SAID)
    expire(workspace, now=timezone.now())
    batch = Batch.objects.get()
    address = reverse("admin:memories_batch_restore", args=[batch.pk])
    assert address in ann.get(reverse("admin:memories_batch_change", args=[batch.pk])).content.decode()
    assert "Restore 4 memories" in ann.get(address).content.decode()
    assert live(scope) == set()
    assert ann.post(address, ANSWER).status_code == 302
    assert live(scope) == set(SAID)
    assert Batch.objects.latest("pk").reason == "needed again"
    term = Entry.objects.earliest("pk").expires_at
    assert term and abs(term - timezone.now() - timedelta(days=90)) < timedelta(minutes=1)
    assert ann.get(address).status_code == 302  # there is nothing left


def test_what_expired_last_night_is_listed_and_brought_back_together(
    ann: Client, workspace: Workspace, stranger: Workspace, scope: Scope
) -> None:
    theirs = make_scope(stranger)
    remember(scope, *SAID[:2])
    remember(theirs, SAID[2])
    for number, owner in enumerate((workspace, stranger)):
        expire(owner, f"expire:{number}:tonight", now=timezone.now())
    listed = ann.get(reverse("admin:memories_entry_changelist"), {"due": "last_night"}).content.decode()
    assert (SAID[0] in listed, SAID[1] in listed, SAID[2] in listed) == (True, True, False)
    assert reverse(LAST_NIGHT) in listed
    assert "Restore 2 memories" in ann.get(reverse(LAST_NIGHT)).content.decode()
    ann.post(reverse(LAST_NIGHT), ANSWER)
    assert (live(scope), live(theirs)) == (set(SAID[:2]), set())


def test_what_is_restored_is_what_the_list_shows(ann: Client, workspace: Workspace, scope: Scope) -> None:
    remember(scope, "My bike lock has the number of the house", *SAID[1:3])
    remember(make_scope(workspace, "telegram:direct_u43"), SAID[3])
    expire(workspace, now=timezone.now())
    searched = {"q": "bike lock", "view": "last_night"}
    listed = ann.get(reverse("admin:memories_entry_changelist"), searched).content.decode()
    address = f"{reverse(LAST_NIGHT)}?{urlencode(searched)}"
    assert "Restore this 1 memory with a term" in listed and address.replace("&", "&amp;") in listed
    assert "Restore 1 memory" in ann.get(address).content.decode()
    ann.post(address, ANSWER)
    assert set(Entry.objects.live().values_list("content", flat=True)) == {"My bike lock has the number of the house"}


def test_one_click_undoes_what_one_click_restored_in_several_scopes(
    ann: Client, workspace: Workspace, scope: Scope
) -> None:
    other = make_scope(workspace, "telegram:direct_u43")
    remember(scope, *SAID[:2])
    remember(other, *SAID[2:])
    expire(workspace, now=timezone.now())
    page = ann.post(reverse(LAST_NIGHT), ANSWER, follow=True).content.decode()
    restored = Batch.objects.filter(name=BatchVerb.RESTORE).order_by("pk")
    assert len(restored) == 2 and reverse("admin:memories_batch_run", args=[restored[0].pk]) in page
    run = reverse("admin:memories_batch_undo_run", args=[restored[0].pk])
    assert run in ann.get(reverse("admin:memories_batch_run", args=[restored[0].pk])).content.decode()
    ann.post(run, {"confirmed": "yes", "reason": "one too many"})
    assert live(scope) | live(other) == set()
    undos = Batch.objects.filter(name=BatchVerb.UNDO)
    assert [(undo.reason, undo.run) for undo in undos] == [("one too many", undos[0].run)] * 2


def test_a_night_is_undone_at_once_and_so_is_its_undo(ann: Client, workspace: Workspace, scope: Scope) -> None:
    other = make_scope(workspace, "telegram:direct_u43")
    remember(scope, *SAID[:2])
    remember(other, *SAID[2:])
    expire(workspace, now=timezone.now())
    night = Batch.objects.earliest("pk")
    ann.post(reverse("admin:memories_batch_undo_run", args=[night.pk]), ANSWER)
    assert live(scope) | live(other) == set(SAID)
    undo = Batch.objects.filter(name=BatchVerb.UNDO).earliest("pk")
    ann.post(reverse("admin:memories_batch_undo_run", args=[undo.pk]), ANSWER)
    assert live(scope) | live(other) == set()


def test_a_night_whose_memories_were_all_restored_by_hand_offers_no_undo(
    ann: Client, workspace: Workspace, scope: Scope
) -> None:
    remember(scope, SAID[0])
    remember(make_scope(workspace, "telegram:direct_u43"), SAID[1])
    expire(workspace, now=timezone.now())
    night = Batch.objects.get(scope=scope)
    pages = [reverse(f"admin:memories_batch_{page}", args=[night.pk]) for page in ("run", "change")]
    undos = [reverse(f"admin:memories_batch_{page}", args=[night.pk]) for page in ("undo_run", "undo")]
    assert "Undo all 2" in ann.get(pages[0]).content.decode() and undos[1] in ann.get(pages[1]).content.decode()
    for entry in Entry.objects.all():
        entries.restore(entry, now=timezone.now(), actor="user:ann")
    for page, undo in zip(pages, undos, strict=True):
        shown = ann.get(page).content.decode()
        assert "there is nothing to undo" in shown and undo not in shown
    assert "there is nothing to undo" in ann.get(undos[0], follow=True).content.decode()


def test_the_times_to_live_a_night_went_by_are_told_in_the_reader_s_language(
    ann: Client, workspace: Workspace, scope: Scope
) -> None:
    remember(scope, SAID[0])
    Policy.objects.create(workspace=workspace, entry_type="auto_capture", scope_kind=scope.kind, kind="ttl", value=45)
    expire(workspace, now=timezone.now())
    night = Batch.objects.get()
    pages = [reverse("admin:memories_batch_changelist")]
    pages += [reverse(f"admin:memories_batch_{page}", args=[night.pk]) for page in ("run", "change")]
    for page in pages:
        english, chinese = (ann.get(page, headers={"Accept-Language": text}) for text in ("en", "zh-hans"))
        assert "Chat turn 30 d (built in); Auto capture 45 d (policy version 1)" in english.content.decode()
        assert "存留时间：对话轮次 30 天（内置）；" in chinese.content.decode()
        assert "45 天（策略第 1 版）" in chinese.content.decode() and "chat_turn" not in chinese.content.decode()


def test_a_run_of_others_is_undone_by_nobody_else(ann: Client, stranger: Workspace) -> None:
    theirs = make_scope(stranger)
    remember(theirs, *SAID[:2])
    expire(stranger, now=timezone.now())
    address = reverse("admin:memories_batch_undo_run", args=[Batch.objects.get().pk])
    assert ann.post(address, ANSWER).status_code == 404
    assert live(theirs) == set()


def test_a_batch_of_somebody_else_or_of_another_kind_has_no_such_page(
    ann: Client, workspace: Workspace, stranger: Workspace, scope: Scope
) -> None:
    remember(make_scope(stranger), *SAID)
    expire(stranger)
    address = reverse("admin:memories_batch_restore", args=[Batch.objects.get().pk])
    assert (ann.get(address).status_code, ann.post(address, ANSWER).status_code) == (404, 404)
    mine = remember(scope, SAID[0], days_ago=1)
    bulk_actions.apply_action(mine, bulk_actions.EXPIRE, now=NOW, actor="user:ann", reason="r")
    address = reverse("admin:memories_batch_restore", args=[Batch.objects.get(scope=scope).pk])
    assert ann.get(address).status_code == 404


def test_what_is_much_is_left_to_the_worker(
    ann: Client, workspace: Workspace, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.admin.batches.actions.INLINE_ROWS", 3)
    remember(scope, *SAID)
    expire(workspace, now=timezone.now())
    assert "the worker brings them back" in ann.post(reverse(LAST_NIGHT), ANSWER, follow=True).content.decode()
    assert live(scope) == set()
    queued = OrmQ.objects.get().task
    assert queued["func"] == "memories.tasks.restore_expired"
    assert tasks.restore_expired(*queued["args"], **queued["kwargs"]) == {"scopes": 1, "entries": 4}
    assert tasks.restore_expired(*queued["args"], **queued["kwargs"]) == {"scopes": 0, "entries": 0}  # once more
    assert live(scope) == set(SAID)

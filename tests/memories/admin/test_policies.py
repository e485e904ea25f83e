"""Policies are set after a preview: what would no longer be served, and which answers would change."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memories.audit.models import AuditRecord
from memories.choices import PolicyKind
from memories.evaluation import what_if
from memories.lifecycle import expiry
from memories.models import Change, Entry, PinnedTest, Policy, RecallTrace
from memories.models.policy import Policies
from tests.memories.admin.conftest import House

pytestmark = pytest.mark.django_db
TTL = (PolicyKind.TTL.value, "chat_turn", "user", "")


def form(kind: str, house: House) -> str:
    return f"{reverse('admin:memories_policy_set', args=[kind])}?of={house.workspace.pk}"


def set_numbers(client: Client, house: House, kind: str, **numbers: Any) -> Any:
    """Preview numbers, and save what was previewed."""
    shown = client.post(form(kind, house), numbers)
    saved = numbers | {"confirmed": "yes", "before": shown.context["preview"].before, "reason": "because"}
    return client.post(form(kind, house), saved)


@pytest.fixture
def aged_house(mine: House) -> House:
    """A workspace whose two memories of conversations are ten days old, and serve its one recall."""
    Entry.objects.filter(workspace=mine.workspace).update(
        stated_at=timezone.now() - timedelta(days=10), expired_at=None, suppressed_at=None
    )
    return mine


def test_a_preview_tells_what_would_end_and_saves_nothing(alice: Client, aged_house: House) -> None:
    shown = alice.post(form("ttl", aged_house), {"chat_turn-user": "7"})
    page = shown.content.decode()
    assert "2 of 2 memories would no longer be served" in page
    assert f"I like {aged_house.word} with tea" in page  # one of them
    assert "1 would be answered without any memory" in page and aged_house.trace.message in page
    assert not Policy.objects.filter(kind="ttl").exists()


def test_what_was_previewed_is_saved_with_who_and_why(alice: Client, aged_house: House) -> None:
    assert (
        set_numbers(alice, aged_house, "ttl", **{"chat_turn-user": "7", "fact-chat-unlimited": "on"}).status_code == 302
    )
    assert Policy.objects.of(aged_house.workspace.pk).values == {
        TTL: 7.0,
        ("ttl", "fact", "chat", ""): None,
        ("weight", "", "", "alpha"): 0.4,  # another kind stays as it is
    }
    page = alice.get(f"{reverse('admin:memories_policy_versions')}?of={aged_house.workspace.pk}").content.decode()
    assert "alice" in page and "because" in page and "<ins>7 days</ins>" in page
    assert AuditRecord.objects.filter(actor="user:alice", details__what="policies").exists()


def test_a_pinned_test_that_would_fail_is_named_and_asks_for_a_reason(alice: Client, aged_house: House) -> None:
    PinnedTest.objects.all().delete()
    where = {"key": aged_house.scope.key, "kind": aged_house.scope.kind, "only_chat": None, "in_group": False}
    PinnedTest.objects.create(
        workspace=aged_house.workspace, message=aged_house.trace.message, scope_keys=[aged_house.scope.key],
        must_words=[aged_house.word],
        whom={"said": "", "asker": "", "session": "", "places": [where]}, created_by="t", created_at=timezone.now(),
    )  # fmt: skip
    shown = alice.post(form("ttl", aged_house), {"chat_turn-user": "7"})
    assert "1 pinned test would fail." in shown.content.decode()
    assert "1 pinned test" not in alice.post(form("ttl", aged_house), {"chat_turn-user": "60"}).content.decode()
    sure = {"chat_turn-user": "7", "confirmed": "yes", "before": shown.context["preview"].before}
    refused = alice.post(form("ttl", aged_house), sure | {"reason": ""})
    assert "say why" in refused.content.decode() and not Policy.objects.filter(kind="ttl").exists()
    assert alice.post(form("ttl", aged_house), sure | {"reason": "we may not keep it"}).status_code == 302


def test_asking_again_writes_nothing_and_opens_no_transaction(aged_house: House) -> None:
    before, after = Policies([]), Policies.of_values({TTL: 7.0})
    zone = aged_house.workspace.zone()
    with CaptureQueriesContext(connection) as queries:
        result = what_if.ask_again(aged_house.workspace.pk, before, after, now=timezone.now(), zone=zone)
    assert (result.found, result.asked, result.changed, result.lost) == (1, 1, 1, 1)
    words = {query["sql"].split()[0] for query in queries}
    assert words == {"SET", "SELECT", "WITH"} or words == {"SET", "SELECT"}
    assert RecallTrace.objects.filter(workspace=aged_house.workspace).count() == 1


def test_asking_again_stops_when_its_time_is_up(aged_house: House) -> None:
    now, zone = timezone.now(), aged_house.workspace.zone()
    result = what_if.ask_again(aged_house.workspace.pk, Policies([]), Policies([]), now=now, zone=zone, seconds=-1)
    assert (result.found, result.asked) == (1, 0)


def test_more_memories_of_a_recall_answer_those_who_named_no_number(aged_house: House) -> None:
    fewer = Policies.of_values({("weight", "", "", "max_recalls"): 1.0})
    zone = aged_house.workspace.zone()
    result = what_if.ask_again(aged_house.workspace.pk, Policies([]), fewer, now=timezone.now(), zone=zone)
    (other,) = result.others
    assert (len(other.before), len(other.after)) == (2, 1) and other.came == []


def test_what_ends_and_what_comes_back_is_counted_in_one_statement(aged_house: House) -> None:
    pk, now = aged_house.workspace.pk, timezone.now()
    first, _second = Entry.objects.filter(workspace=aged_house.workspace)
    week, month = Policies.of_values({TTL: 7.0}), Policies([])
    with CaptureQueriesContext(connection) as queries:
        assert expiry.change_of_serving(pk, month, week, now=now) == expiry.ServingChange(2, 2, 0)
    assert len(queries) == 1
    assert expiry.change_of_serving(pk, week, month, now=now) == expiry.ServingChange(0, 0, 2)
    Entry.objects.filter(pk=first.pk).update(pinned=True)
    assert expiry.change_of_serving(pk, month, week, now=now) == expiry.ServingChange(2, 1, 0)
    Entry.objects.filter(pk=first.pk).update(pinned=False, expires_at=now + timedelta(days=3))
    assert expiry.change_of_serving(pk, month, week, now=now) == expiry.ServingChange(2, 1, 0)
    assert expiry.change_of_serving(pk, month, Policies.of_values({TTL: 20.0}), now=now).ended == 0


def test_what_somebody_else_changed_meanwhile_is_looked_at_again(alice: Client, aged_house: House) -> None:
    shown = alice.post(form("ttl", aged_house), {"chat_turn-user": "20"})
    Policy.objects.filter(workspace=aged_house.workspace).update(value=0.9)
    sent = {"chat_turn-user": "20", "confirmed": "yes", "before": shown.context["preview"].before}
    again = alice.post(form("ttl", aged_house), sent)
    assert again.status_code == 200 and "Somebody changed these policies meanwhile" in again.content.decode()
    assert not Policy.objects.filter(kind="ttl").exists()


def test_any_version_is_gone_back_to_as_a_whole(alice: Client, aged_house: House) -> None:
    versions = f"{reverse('admin:memories_policy_versions')}?of={aged_house.workspace.pk}"
    set_numbers(alice, aged_house, "ttl", **{"chat_turn-user": "20"})
    set_numbers(alice, aged_house, "ttl")  # the default again: the row is removed
    set_numbers(alice, aged_house, "weight", alpha="0.9")
    first = next(version for version in alice.get(versions).context["versions"] if TTL in version.values)
    back = f"{reverse('admin:memories_policy_go_back', args=[first.number])}?of={aged_house.workspace.pk}"
    response = alice.get(back)
    assert "default: 30 days" in response.content.decode() and not Policy.objects.filter(kind="ttl").exists()
    alice.post(back, {"confirmed": "yes", "before": response.context["preview"].before, "reason": "better"})
    assert Policy.objects.of(aged_house.workspace.pk).values == {TTL: 20.0, ("weight", "", "", "alpha"): 0.4}
    newest = alice.get(versions).context["versions"][0]
    assert (newest.reason, newest.is_present, len(newest.lines)) == ("better", True, 2)
    assert alice.get(back.replace(f"/{first.number}/", "/999999999/")).status_code == 404


def test_a_removed_policy_leaves_its_history_and_is_brought_back(
    alice: Client, charlie: Client, aged_house: House
) -> None:
    set_numbers(alice, aged_house, "weight")
    removed = Change.objects.get(table_name="memories_policy", op="D", actor="user:alice")
    assert removed.old["reason"] == "because"
    listed = alice.get(reverse("admin:memories_policy_changelist"))
    history = reverse("admin:memories_policy_history", args=[removed.row_id])
    assert history in listed.content.decode()
    assert "Removed" in alice.get(history).content.decode()
    assert charlie.get(history).status_code == 404
    assert history not in charlie.get(reverse("admin:memories_policy_changelist")).content.decode()
    filled = alice.get(listed.context["removed"][0].bring_back)
    assert 'value="0.4"' in filled.content.decode()


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("ttl", {"chat_turn-user": "-1"}),
        ("ttl", {"chat_turn-user": "soon"}),
        ("ttl", {"chat_turn-user": "7", "chat_turn-user-unlimited": "on"}),
        ("quota", {"fact-user": "1.5"}),
        ("weight", {"alpha": "1.5"}),
        ("weight", {"max_recalls": "0"}),
        ("weight", {"alpha": "nan"}),
    ],
)
def test_a_number_that_makes_no_sense_is_an_error_of_its_field(
    kind: str, wrong: dict[str, str], alice: Client, mine: House
) -> None:
    answer = alice.post(form(kind, mine), wrong)
    assert list(answer.context["form"].errors) == [next(iter(wrong))]
    assert "preview" not in answer.context


def test_strangers_and_viewers_set_nothing(alice: Client, charlie: Client, dora: Client, mine: House) -> None:
    assert charlie.get(form("ttl", mine)).status_code == charlie.post(form("ttl", mine), {}).status_code == 404
    assert dora.get(form("ttl", mine)).status_code == 403
    assert alice.get(reverse("admin:memories_policy_set", args=["nonsense"])).status_code == 404
    versions = reverse("admin:memories_policy_versions")
    assert charlie.get(f"{versions}?of={mine.workspace.pk}").status_code == 404


def test_the_address_of_a_policy_leads_to_the_form_of_its_kind(alice: Client, mine: House) -> None:
    policy = Policy.objects.get(workspace=mine.workspace)
    shown = alice.get(reverse("admin:memories_policy_change", args=[policy.pk]))
    assert shown.headers["Location"] == f"{form('weight', mine)}#id_alpha"


def test_the_preview_speaks_chinese(alice: Client, aged_house: House) -> None:
    response = alice.post(form("ttl", aged_house), {"chat_turn-user": "7"}, headers={"Accept-Language": "zh-CN"})
    page = response.content.decode()
    assert "2 条记忆中有 2 条将从下一次调用起不再提供" in page
    assert "What would change" not in page and "Preview" not in page

"""What the files would have found beside what the database found, and calls that could not be applied (A4, C11)."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from channels_app.models import PathComparison, ReplayedRecord, ReplayOutcome
from memories.models import FileState
from tests.memories.admin.conftest import SECRET, House

pytestmark = pytest.mark.django_db


def compare(house: House, *, account: str = "b1", both: int = 2, days_ago: int = 0) -> PathComparison:
    return PathComparison.objects.create(
        workspace=house.workspace,
        platform="telegram",
        account=account,
        trace=house.trace.uid,
        message=f"what do I drink with {house.word}? 喝什么？",
        both=both,
        only_database=[{"id": str(house.entry.uid), "path": "", "line": None, "content": f"I like {house.word}"}],
        only_files=[
            {"path": "MEMORY.md", "line": 4, "content": "妹妹叫小雨"},
            {"path": "gone.md", "line": 1, "content": "x"},
        ],
        created_at=timezone.now() - timedelta(days=days_ago),
    )


def test_days_and_channels_are_summed(alice: Client, mine: House, theirs: House) -> None:
    for days_ago, account in ((0, "b1"), (0, "b1"), (0, "b2"), (3, "b1"), (60, "b1")):
        compare(mine, account=account, days_ago=days_ago)
    compare(theirs)
    answer = alice.get(reverse("admin:channels_app_pathcomparison_changelist"))
    sums = [
        (row["account"], row["recalls"], row["found_by_both"], row["database"], row["files"])
        for row in answer.context["comparison_days"]
    ]
    assert sums == [("b1", 2, 4, 2, 4), ("b2", 1, 2, 1, 2), ("b1", 1, 2, 1, 2)]
    assert SECRET not in answer.content.decode()


def test_a_comparison_leads_to_its_recall_and_lines(alice: Client, mine: House) -> None:
    FileState.objects.create(
        workspace=mine.workspace, scope=mine.scope, path="MEMORY.md", modified_ns=1, size=1, indexed_at=timezone.now()
    )
    answer = alice.get(reverse("admin:channels_app_pathcomparison_change", args=[compare(mine).pk]))
    text = answer.content.decode()
    assert reverse("admin:memories_recalltrace_change", args=[mine.trace.pk]) in text
    assert reverse("admin:memories_entry_change", args=[mine.entry.pk]) in text
    assert [bool(line.url) for line in answer.context["file_lines"]] == [True, False]
    assert "MEMORY.md:4" in text


def test_comparisons_of_others_are_not_there(alice: Client, theirs: House) -> None:
    address = reverse("admin:channels_app_pathcomparison_change", args=[compare(theirs).pk])
    answer = alice.get(address, follow=True)
    assert SECRET not in answer.content.decode()
    assert "comparison" not in (answer.context or {})


def park(house: House) -> None:
    ReplayedRecord.objects.create(
        uid=uuid4(),
        workspace=house.workspace,
        platform="telegram",
        kind="turns",
        outcome=ReplayOutcome.PARKED,
        reason="too long",
        body={"user": house.word},
        accepted_at=timezone.now(),
        replayed_at=timezone.now(),
    )


def test_the_home_page_counts_calls_that_could_not_be_applied(alice: Client, mine: House, theirs: House) -> None:
    park(theirs)
    words = "taken in while the database was away could not be applied"
    assert f"1 call {words}" in alice.get("/admin/").content.decode()  # the one the house is furnished with
    park(mine)
    assert f"2 calls {words}" in alice.get("/admin/").content.decode()
    alice.cookies["django_language"] = "zh-hans"
    assert "2 个在数据库离线时收下的调用无法写入" in alice.get("/admin/").content.decode()

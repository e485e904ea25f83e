"""Operators see what their workspaces' model cost, and hear when a budget is spent (D7)."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.admin.spend import PURPOSES
from memories.consolidation import summaries
from memories.consolidation.compression import daily, weekly
from memories.consolidation.extraction import model as extraction
from memories.models import Spend, Workspace
from sessions_app.conversation_model import FLUSH, SUMMARY
from tests.memories.admin.conftest import dismiss_all, enter, make_user

pytestmark = pytest.mark.django_db
SPEND = "admin:memories_spend_changelist"


@pytest.fixture
def alice(workspace: Workspace) -> Client:
    return enter(make_user("alice", workspace=workspace, is_staff=True))


def spend(workspace: Workspace, purpose: str, *, days: int = 0, **counts: int) -> Spend:
    day = timezone.now().date() - timedelta(days=days)
    return Spend.objects.create(workspace=workspace, local_date=day, purpose=purpose, model="small", **counts)


def test_a_day_counts_what_is_reserved_and_a_month_adds_up(
    alice: Client, workspace: Workspace, stranger: Workspace, settings: Any
) -> None:
    settings.MEMORY_LLM_DAILY_TOKENS = 2_000
    spend(workspace, "extraction", prompt_tokens=500, completion_tokens=300, reserved_tokens=200, calls=3, failures=1)
    spend(workspace, "extraction", days=3, prompt_tokens=9_000, calls=2)
    spend(workspace, "extraction", days=40, prompt_tokens=70_000, calls=7)
    spend(stranger, "compression", prompt_tokens=600_000, calls=5)
    page = alice.get(reverse(SPEND))
    (today,) = page.context["days"]
    assert (today.tokens, today.share, today.refused) == (1_000, 50, 0)
    (month,) = page.context["sums"]
    assert (month["purpose"], month["tokens"], month["all_calls"], month["all_failures"]) == (
        "extraction",
        "9,800",
        5,
        1,
    )


@pytest.mark.parametrize(
    ("language", "sentences"),
    [("en", ["Summaries of conversations", "an older one"]), ("zh-hans", ["对话摘要", "an older one"])],
)
def test_a_purpose_is_told_in_the_readers_language(
    language: str, sentences: list[str], alice: Client, workspace: Workspace
) -> None:
    rows = [spend(workspace, purpose, calls=1) for purpose in ("session_summary", "an older one")]
    pages = [reverse(SPEND), *(reverse("admin:memories_spend_change", args=[row.pk]) for row in rows)]
    every, *each = (alice.get(page, headers={"Accept-Language": language}).content.decode() for page in pages)
    assert all(every.count(words) == 2 for words in sentences)  # in the list, and in the sums of the month
    assert all(words in page for words, page in zip(sentences, each, strict=True))
    assert "session_summary" not in every


def test_every_purpose_has_a_name() -> None:
    asking = {extraction.PURPOSE, summaries.PURPOSE, summaries.JOB, daily.JOB, weekly.JOB, FLUSH, SUMMARY}
    assert asking == set(PURPOSES)


def test_what_was_spent_cannot_be_changed(alice: Client, workspace: Workspace) -> None:
    row = spend(workspace, "extraction", calls=1)
    for page in ("change", "delete"):
        alice.post(reverse(f"admin:memories_spend_{page}", args=[row.pk]), {"calls": 0, "post": "yes"})
    assert alice.post(reverse("admin:memories_spend_add"), {"calls": 0}).status_code == 403
    assert list(Spend.objects.values_list("calls", flat=True)) == [1]


def test_the_home_page_tells_of_a_spent_budget_and_only_of_ones_own(
    alice: Client, workspace: Workspace, stranger: Workspace
) -> None:
    text = "budget is spent in 1 workspace"
    spend(stranger, "extraction", refused=7)
    spend(workspace, "extraction", days=2, refused=7)
    assert text not in alice.get(reverse("admin:index")).content.decode()
    spend(workspace, "extraction", refused=3)
    shown = alice.get(reverse("admin:index")).content.decode()
    assert text in shown
    assert "3 questions were refused" in shown and "next day or month" in shown
    assert "MEMORY_LLM_DAILY_TOKENS and MEMORY_LLM_MONTHLY_TOKENS" in shown
    dismiss_all(workspace)
    assert text not in alice.get(reverse("admin:index")).content.decode()


def test_without_a_model_the_page_says_so(alice: Client) -> None:
    assert "works without one" in alice.get(reverse(SPEND)).content.decode()

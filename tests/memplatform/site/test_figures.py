"""The home page's figures: each says what it counts, and counts that (A14)."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories import entries
from memories.choices import EntryType
from memories.models import Entry, Policy, RecallTrace, Scope, Workspace
from memories.models.change import acting
from tests.conftest import make_draft, make_scope
from tests.memories.admin.conftest import House, enter, make_user

pytestmark = pytest.mark.django_db
RECEIPTS = "admin:memories_recalltrace_changelist"


def home(client: Client) -> Any:
    return client.get(reverse("admin:index"))


def shown(client: Client) -> dict[str, tuple[str, str]]:
    """Each figure's value and what it says it counts."""
    return {str(figure.name): (figure.value, str(figure.hint)) for figure in home(client).context["figures"]}


def recalled(workspace: Workspace, verdict: str | None, message: str = "?", **columns: Any) -> RecallTrace:
    """A recall of this minute with a verdict; None: the message needed no memory."""
    told = {"verdict": verdict} if verdict else {}
    defaults = {"scopes": [], "served": [1], "created_at": timezone.now(), "timings": {"total": 10.0}}
    return RecallTrace.objects.create(workspace=workspace, message=message, evidence=told, **defaults | columns)


@pytest.fixture
def asked(mine: House) -> Workspace:
    """Five recalls: two found, one weak, one none though something was served, one that needed no memory."""
    RecallTrace.objects.all().delete()
    for verdict in ("found", "found", "weak", "none", None):
        recalled(mine.workspace, verdict, f"the question that is {verdict}")
    return mine.workspace


def test_a_hit_is_a_recall_whose_verdict_is_found(alice: Client, asked: Workspace) -> None:
    value, hint = shown(alice)["Found"]
    assert value == "50%" and "2 of 4" in hint and "60%" in hint


def test_questions_nothing_was_found_for_are_those_of_that_verdict(alice: Client, asked: Workspace) -> None:
    context = home(alice).context
    assert [trace.message for trace in context["unanswered"]] == ["the question that is none"]
    assert [trace.message for trace in context["doubtful"]] == ["the question that is weak"]


def test_the_list_of_traces_goes_by_the_verdict_too(alice: Client, asked: Workspace) -> None:
    page = alice.get(reverse(RECEIPTS), {"answer": "none"})
    assert [trace.message for trace in page.context["cl"].result_list] == ["the question that is none"]
    words = page.content.decode()
    assert "Not enough" in words
    page = alice.get(reverse(RECEIPTS), {"answer": "unneeded"})
    assert [trace.message for trace in page.context["cl"].result_list] == ["the question that is None"]


def test_memories_in_use_are_counted_apart_from_all_that_is_kept(alice: Client, mine: House) -> None:
    Policy.objects.create(workspace=mine.workspace, kind="ttl", entry_type="chat_turn", scope_kind="user", value=1)
    now = timezone.now()
    for word in ("kettle", "saucer"):
        entries.remember(make_draft(mine.scope, f"the {word} is blue", at=now), now=now, actor="test")
    before = now - timedelta(days=3)
    old = make_draft(mine.scope, "the lamp is green", type=EntryType.CHAT_TURN, at=before, slots={"sender_id": "u"})
    entries.remember(old, now=now, actor="test")
    live = sum(1 for entry in Entry.objects.filter(workspace=mine.workspace) if _is_served(entry, now))
    value, hint = shown(alice)["Memories in use"]
    assert int(value) == live and f"{Entry.objects.filter(workspace=mine.workspace).count()} kept" in hint


def _is_served(entry: Entry, now: datetime) -> bool:
    ends = Policy.objects.of(entry.workspace_id).end_of(entry)
    return entry.is_live() and (ends is None or ends > now)


def test_the_reference_rate_is_what_answers_used_of_what_they_were_given(alice: Client, mine: House) -> None:
    RecallTrace.objects.all().delete()
    recalled(mine.workspace, "found", served=[1, 2, 3, 4], used=[1, 2], overlap=[3])  # the bot's own word counts
    recalled(mine.workspace, "found", served=[5, 6, 7, 8], overlap=[5])
    recalled(mine.workspace, "found", served=[9, 10])  # nobody reported on it
    value, hint = shown(alice)["Used in the answer"]
    assert value == "38%" and "3 of 8" in hint and "40%" in hint


def test_the_dedup_rate_is_what_was_known_already_of_what_came(workspace: Workspace) -> None:
    now = timezone.now()
    scope = make_scope(workspace)
    for minute, words in enumerate(("the tea is green", "the cat is Mochi", "the tea is green", "the tea is green!")):
        entries.remember(make_draft(scope, words, at=now + timedelta(minutes=minute)), now=now, actor="bot:test")
    value, hint = shown(enter(make_user("alice", workspace=workspace, is_staff=True)))["Known already"]
    assert value == "50%" and "2 of 4" in hint


def test_tokens_an_entry_are_counted_of_the_newest(alice: Client, mine: House) -> None:
    value, hint = shown(alice)["Tokens a memory"]
    assert 0 < float(value) < 200 and "200" in hint


def test_nobody_elses_recalls_are_counted(alice: Client, asked: Workspace, theirs: House) -> None:
    recalled(theirs.workspace, "found", used=[1], served=[1])
    assert "2 of 4" in shown(alice)["Found"][1] and shown(alice)["Used in the answer"][0] == "—"


def test_a_figure_of_nothing_is_a_dash(owner: Client) -> None:
    told = shown(owner)
    assert {told[name][0] for name in ("Found", "Used in the answer", "Known already", "Tokens a memory")} == {"—"}


def test_the_home_page_asks_as_often_for_many_recalls_as_for_few(
    alice: Client, asked: Workspace, django_assert_max_num_queries: Any
) -> None:
    home(alice)
    for n in range(40):
        recalled(asked, ("found", "weak", "none")[n % 3], uuid4().hex, used=[1])
    with django_assert_max_num_queries(48):
        home(alice)


def test_what_a_batch_merges_is_nothing_that_came(workspace: Workspace) -> None:
    """Only what bots and people write is known already or new; what a job puts together is neither."""
    now, scope = timezone.now(), Scope.objects.create(workspace=workspace, key="telegram:direct_u9", kind="user")
    entry = entries.remember(make_draft(scope, "the tea is green", at=now), now=now, actor="bot:test").entry
    with acting("job:compress", batch=7):
        Entry.objects.filter(pk=entry.pk).update(stated_at=now + timedelta(hours=1))
    assert "0 of 1" in shown(enter(make_user("alice", workspace=workspace, is_staff=True)))["Known already"][1]

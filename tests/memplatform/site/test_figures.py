"""The home page's figures: each says what it counts, and counts that (A14)."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories import entries
from memories.choices import EntryType
from memories.index import worker
from memories.lifecycle import expiry
from memories.models import Entry, EntryAccess, EntryVector, IndexQueueItem, Policy, RecallTrace, Scope, Workspace
from memories.models.change import acting
from memplatform.operations import rollups
from memplatform.operations.models import Heartbeat, Incident, IncidentKind
from tests.conftest import make_draft, make_scope
from tests.memories.admin.conftest import House, enter, make_user

pytestmark = pytest.mark.django_db
RECEIPTS = "admin:memories_recalltrace_changelist"


def home(client: Client, **asked: str) -> Any:
    return client.get(reverse("admin:index"), asked)


def shown(client: Client) -> dict[str, tuple[str, str]]:
    """Each figure's value and what it says it counts."""
    return {str(figure.name): (figure.value, str(figure.hint)) for figure in home(client).context["figures"]}


def recalled(workspace: Workspace, verdict: str | None, message: str = "?", **columns: Any) -> RecallTrace:
    """A recall of this minute with a verdict; None: the message needed no memory."""
    verdict_of = {"verdict": verdict} if verdict else {}
    defaults = {"scopes": [], "served": [1], "created_at": timezone.now(), "timings": {"total": 10.0}}
    return RecallTrace.objects.create(workspace=workspace, message=message, evidence=verdict_of, **defaults | columns)


@pytest.fixture
def recalled_workspace(mine: House) -> Workspace:
    """Five recalls: two found, one weak, one none though something was served, one that needed no memory."""
    RecallTrace.objects.all().delete()
    for verdict in ("found", "found", "weak", "none", None):
        recalled(mine.workspace, verdict, f"the question that is {verdict}")
    return mine.workspace


def test_a_hit_is_a_recall_whose_verdict_is_found(alice: Client, recalled_workspace: Workspace) -> None:
    value, hint = shown(alice)["Hit rate"]
    assert value == "50%" and "2 of 4" in hint and "60%" in hint


def test_questions_nothing_was_found_for_are_those_of_that_verdict(
    alice: Client, recalled_workspace: Workspace
) -> None:
    context = home(alice).context
    assert [trace.message for trace in context["unanswered"]] == ["the question that is none"]
    assert [trace.message for trace in context["doubtful"]] == ["the question that is weak"]


def test_the_page_of_what_several_share_shows_the_questions_of_that_alone(
    alice: Client, recalled_workspace: Workspace
) -> None:
    for keys in (["workspace"], [], ["telegram:direct_u42"]):
        recalled(recalled_workspace, "none", f"asked of {keys}", scope_keys=keys)
    RecallTrace.objects.filter(message__startswith="the question").delete()
    listed = {
        channel: sorted(trace.message for trace in home(alice, channel=channel).context["unanswered"])
        for channel in ("-", "telegram")
    }
    assert listed == {"-": ["asked of ['workspace']", "asked of []"], "telegram": ["asked of ['telegram:direct_u42']"]}


def test_a_wish_to_keep_something_is_no_question_nothing_was_found_for(
    alice: Client, recalled_workspace: Workspace
) -> None:
    for message in ("Remember that I sail a dinghy.", "请记住我周五休息。", "Don't forget the boat. Where is it?"):
        recalled(recalled_workspace, "none", message)
    unanswered = [trace.message for trace in home(alice).context["unanswered"]]
    assert unanswered == ["Don't forget the boat. Where is it?", "the question that is none"]


def test_the_list_of_traces_goes_by_the_verdict_too(alice: Client, recalled_workspace: Workspace) -> None:
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
    value, hint = shown(alice)["Reference rate"]
    assert value == "38%" and "3 of 8" in hint and "40%" in hint


def test_the_dedup_rate_is_what_was_known_already_of_what_came(workspace: Workspace) -> None:
    now = timezone.now()
    scope = make_scope(workspace)
    for minute, words in enumerate(("the tea is green", "the cat is Mochi", "the tea is green", "the tea is green!")):
        entries.remember(make_draft(scope, words, at=now + timedelta(minutes=minute)), now=now, actor="bot:test")
    value, hint = shown(enter(make_user("alice", workspace=workspace, is_staff=True)))["Deduplication rate"]
    assert value == "50%" and "2 of 4" in hint


def test_tokens_an_entry_are_counted_of_the_newest(alice: Client, mine: House) -> None:
    value, hint = shown(alice)["Tokens per memory"]
    assert 0 < float(value) < 200 and "200" in hint


def test_nobody_elses_recalls_are_counted(alice: Client, recalled_workspace: Workspace, theirs: House) -> None:
    recalled(theirs.workspace, "found", used=[1], served=[1])
    assert "2 of 4" in shown(alice)["Hit rate"][1] and shown(alice)["Reference rate"][0] == "—"


def test_a_figure_of_nothing_is_a_dash(owner: Client) -> None:
    result = shown(owner)
    rates = ("Hit rate", "Reference rate", "Deduplication rate", "Tokens per memory")
    assert {result[name][0] for name in rates} == {"—"}


def test_the_home_page_asks_as_often_for_many_recalls_as_for_few(
    alice: Client, recalled_workspace: Workspace, django_assert_max_num_queries: Any
) -> None:
    home(alice)
    for n in range(40):
        recalled(recalled_workspace, ("found", "weak", "none")[n % 3], uuid4().hex, used=[1])
    with django_assert_max_num_queries(53):
        home(alice)


def test_what_a_batch_merges_is_nothing_that_came(workspace: Workspace) -> None:
    """Only what bots and people write is known already or new; what a job puts together is neither."""
    now, scope = timezone.now(), Scope.objects.create(workspace=workspace, key="telegram:direct_u9", kind="user")
    entry = entries.remember(make_draft(scope, "the tea is green", at=now), now=now, actor="bot:test").entry
    with acting("job:compress", batch=7):
        Entry.objects.filter(pk=entry.pk).update(stated_at=now + timedelta(hours=1))
    assert "0 of 1" in shown(enter(make_user("alice", workspace=workspace, is_staff=True)))["Deduplication rate"][1]


@pytest.fixture
def living(mine: House, turns_are_read: None) -> Workspace:
    """A workspace in which something was recalled, something ends soon, and something has expired."""
    now = timezone.now()
    for days, word in ((1, "kettle"), (25, "saucer"), (26, "teapot"), (40, "ladle")):
        result = make_draft(
            mine.scope,
            f"the {word} is blue",
            at=now - timedelta(days=days),
            type=EntryType.CHAT_TURN,
            slots={"sender_id": "u"},
        )
        entries.remember(result, now=now, actor="test")
    expiry.expire_due(mine.workspace.pk, now=now, run="expire:night")
    served = Entry.objects.get(content__contains="kettle")
    EntryAccess.objects.update_or_create(entry=served, workspace=mine.workspace, defaults={"access_count": 3})
    return mine.workspace


def rows_of(sql: str, *values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


LIVE = (
    "expired_at IS NULL AND archived_at IS NULL AND superseded_by_id IS NULL AND suppressed_at IS NULL"
    " AND quarantined_at IS NULL"
)


def test_what_was_never_recalled_and_what_ends_is_what_sql_counts_at_this_moment(
    alice: Client, living: Workspace
) -> None:
    rollups.take_stock(living, now=timezone.now() - timedelta(days=1))  # what the background counted before is old
    stock = home(alice).context["stock"]
    ((never, live),) = rows_of(
        "SELECT count(*) FILTER (WHERE coalesce(a.access_count, 0) = 0), count(*) FROM memories_entry e"
        f" LEFT JOIN memories_entryaccess a ON a.entry_id = e.id WHERE e.workspace_id = %s AND {LIVE}",
        living.pk,
    )
    ((ending,),) = rows_of(
        f"SELECT count(*) FROM memories_entry WHERE workspace_id = %s AND {LIVE} AND type = 'chat_turn'"
        " AND stated_at BETWEEN now() - interval '30 days' AND now() - interval '23 days'",
        living.pk,
    )
    assert (stock.never_recalled, stock.live, stock.ending) == (never, live, ending) and ending == 2
    assert timezone.now() - stock.at < timedelta(minutes=1)


def test_the_charts_of_today_are_what_sql_counts(alice: Client, living: Workspace) -> None:
    charts = {str(chart.title): chart for chart in home(alice).context["charts"]}
    by_state = {str(series.name): series.values[-1] for series in charts["Memories by state"].series}
    ((live, expired),) = rows_of(
        f"SELECT count(*) FILTER (WHERE {LIVE}), count(*) FILTER (WHERE expired_at IS NOT NULL)"
        " FROM memories_entry WHERE workspace_id = %s",
        living.pk,
    )
    assert (by_state["Live"], by_state["Expired"]) == (live, expired) and expired > 0


def test_what_came_and_what_batches_made_are_all_that_was_written(alice: Client, living: Workspace) -> None:
    ((written,),) = rows_of(
        "SELECT count(*) FROM memories_change WHERE workspace_id = %s AND table_name = 'memories_entry' AND op = 'I'",
        living.pk,
    )
    hint = shown(alice)["Deduplication rate"][1]
    assert f"of {written} that came" in hint and "0 more were made in batches" in hint


def test_what_ended_last_night_is_named_with_the_list_that_brings_it_back(alice: Client, living: Workspace) -> None:
    (line,) = [item for item in home(alice).context["items"] if item.key == "ended"]
    assert line.text == "1 memory ended last night"
    assert "the ladle is blue" in alice.get(line.address).content.decode()


def test_degraded_answers_are_told_by_what_they_did_without(alice: Client, recalled_workspace: Workspace) -> None:
    for _n in range(3):
        recalled(recalled_workspace, "found", degraded=["embedding_pending"])
    (line,) = [item for item in home(alice).context["items"] if item.key == "degraded"]
    assert line.hint == "They did without a part: the newest by words alone: 3."


def test_a_process_that_is_only_starting_is_not_called_dead(alice: Client) -> None:
    now = timezone.now()
    Heartbeat.objects.all().delete()
    Heartbeat.objects.create(name="web", pid=1, started_at=now - timedelta(seconds=10), beat_at=now)
    starting = {item.key: item.is_grave for item in home(alice).context["items"] if "worker" in item.key}
    assert starting == {"starting:worker": False}
    Heartbeat.objects.update(started_at=now - timedelta(minutes=2))
    silent = {item.key: item.is_grave for item in home(alice).context["items"] if "worker" in item.key}
    assert silent == {"silent:worker": True}


def test_what_is_only_blended_anew_waits_for_no_vector(alice: Client, living: Workspace) -> None:
    worker.drain(now=timezone.now())
    for entry in Entry.objects.live().filter(workspace=living):
        IndexQueueItem.objects.create(
            entry=entry, workspace=living, since=timezone.now() - timedelta(minutes=5), failures=0
        )
    assert "embedding" not in {item.key for item in home(alice).context["items"]}
    EntryVector.objects.filter(entry__content__contains="kettle").delete()
    assert "embedding" in {item.key for item in home(alice).context["items"]}


def test_an_incident_of_no_minute_is_left_out_unless_a_process_ended(alice: Client) -> None:
    at = timezone.now() - timedelta(hours=1)
    for kind, part in ((IncidentKind.DEGRADED, "recall"), (IncidentKind.STOPPED, "worker")):
        Incident.objects.create(part=part, kind=kind, began_at=at, ended_at=at + timedelta(seconds=9), seen_at=at)
    assert [incident.text for incident in home(alice).context["incidents"]] == [
        "The worker ended without being stopped"
    ]

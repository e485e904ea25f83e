"""A history fits its budget: the bot is asked to flush, and older turns give way to a summary (B3, C7, E4)."""

from typing import Any

import pytest
from django_q.models import OrmQ

from memories.language.text import count_tokens
from memories.models import Entry, Scope, Workspace
from sessions_app import compaction, conversations, flush, summaries, tasks
from sessions_app.models import Flush, Session, SessionEvent
from tests.conftest import NOW, TELEGRAM
from tests.sessions_app.conftest import Talk
from tests.sessions_app.stretches import compact_whole, grown, summary_of

pytestmark = pytest.mark.django_db
GROUP = {**TELEGRAM, "chat": "g1", "is_group": True}
LONG = "we speak of the harbour and its boats, "  # about 10 tokens
BUDGET = 1_000


@pytest.fixture(autouse=True)
def small_budget(settings: Any) -> None:
    settings.MEMORY_SESSION_MAX_TOKENS = BUDGET
    settings.MEMORY_HISTORY_SUMMARY_MAX_TOKENS = 100


def fill(talk: Talk, share: float, address: Any = None) -> tuple[Session, list[str]]:
    """Talk until so much of the budget is used; the directives that came."""
    came: list[str] = []
    session = None
    n = 0
    while session is None or session.tokens < share * BUDGET:
        answer = talk.say(f"Number {n}: {LONG * 3}", f"Answer {n} is {n * n}. {LONG}", address=address)
        came += [directive["kind"] for directive in answer["directives"]]
        session = Session.objects.get(uid=answer["session"]["id"])
        n += 1
    return session, came


def compact(session: Session) -> bool:
    """What the worker does when its task comes."""
    session.refresh_from_db()
    here = (session.pk, session.conversation, session.cycle, session.max_tokens())
    done = compaction.compact(*here, now=NOW)
    session.refresh_from_db()
    return done


@pytest.mark.thorough
def test_from_sixty_percent_on_the_bot_is_asked_to_flush_until_it_has(talk: Talk) -> None:
    assert fill(talk, 0.55)[1] == []
    session, came = fill(talk, 0.63)
    assert came and set(came) == {"flush_required"}
    assert [directive["kind"] for directive in talk.say("and?")["directives"]] == ["flush_required"]
    assert [directive["kind"] for directive in talk.log(session, "user: well?")["directives"]] == ["flush_required"]
    talk.do(session, "flush", {"version": 1, "reply": "NO_REPLY"})
    assert talk.say("go on")["directives"] == []
    assert fill(talk, 0.69)[1] == []


def test_the_instruction_tells_how_in_the_workspaces_language(talk: Talk, workspace: Workspace) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(language="zh-hans")
    answer = talk.say(LONG * 60)
    (directive,) = answer["directives"]
    assert "NO_REPLY" in directive["instruction"] and "上报" in directive["instruction"]
    assert f"/sessions/{answer['session']['id']}/flush?conversation=1" in directive["instruction"]


def test_a_request_and_a_channel_may_have_budgets_of_their_own(talk: Talk, workspace: Workspace) -> None:
    assert talk.say(LONG * 2, max_tokens=100)["directives"] == []
    assert talk.say(LONG * 6, max_tokens=100)["directives"] != []
    workspace.channels.update(max_tokens=200)
    assert talk.say(LONG * 12, address={**TELEGRAM, "chat": "c8"})["directives"] != []


@pytest.mark.thorough
def test_at_seventy_percent_a_task_waits_for_the_worker(talk: Talk, django_capture_on_commit_callbacks: Any) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        fill(talk, 0.62)
    assert OrmQ.objects.count() == 0
    with django_capture_on_commit_callbacks(execute=True):
        session, _came = fill(talk, 0.75)
        talk.say("and one more")
    (task,) = OrmQ.objects.all()
    assert task.task["func"] == "sessions_app.tasks.compact"
    assert task.task["args"][:3] == (session.pk, 1, 1)


@pytest.mark.thorough
def test_a_summary_stands_for_older_turns_and_nothing_is_deleted(talk: Talk) -> None:
    session, _came = fill(talk, 0.75)
    before = list(SessionEvent.objects.values_list("content", flat=True))
    assert compact(session)
    (first, *rest) = talk.history(session)
    assert first[0] == "summary" and {role for role, _content in rest} == {"user", "assistant"}
    assert rest[-1][1] == before[-1] and rest == spoken(session)[-len(rest) :]  # newest turns as they were
    assert set(before) < set(SessionEvent.objects.values_list("content", flat=True))
    assert session.tokens == sum(count_tokens(content) for _role, content in talk.history(session)) < 0.45 * BUDGET
    assert count_tokens(first[1]) <= 100 and 1 <= first[1].count("\n\n") <= 2
    assert talk.say("go on")["session"]["tokens"] == session.tokens + 1 + 1


def spoken(session: Session) -> list[tuple[str, str]]:
    events = session.events.exclude(kind="summary").order_by("position")
    return [(event.kind, event.content) for event in events]


@pytest.mark.thorough
def test_a_later_summary_goes_on_from_the_one_before(talk: Talk) -> None:
    for cycle in (2, 3, 4):
        session, came = fill(talk, 0.75)
        assert set(came) == {"flush_required"}  # in each cycle anew
        assert compact(session) and session.cycle == cycle
    assert [role for role, _content in talk.history(session)].count("summary") == 1
    assert session.events.filter(kind="summary").count() == 3


@pytest.mark.thorough
def test_nothing_is_compacted_before_it_is_flushed(talk: Talk) -> None:
    session, _came = fill(talk, 0.75)
    assert compact(session)
    flush = Flush.objects.get()
    assert (flush.actor, flush.cycle, flush.no_reply) == ("platform:sessions", 1, False)
    assert flush.up_to >= session.compacted_to
    entry = Entry.objects.get(subtype="session_flush")
    assert (entry.scope.key, entry.type) == ("telegram:direct_u42", "auto_capture")


@pytest.mark.thorough
def test_a_flush_of_the_bot_is_enough_and_its_text_becomes_the_summary(talk: Talk) -> None:
    session, _came = fill(talk, 0.69)
    talk.do(session, "flush", {"version": 1, "continue": "They speak of boats; the harbour is the topic."})
    fill(talk, 0.72)
    assert compact(session)
    assert talk.history(session)[0] == ("summary", "They speak of boats; the harbour is the topic.")
    assert not Entry.objects.filter(subtype="session_flush").exists()


@pytest.mark.thorough
def test_what_an_early_flush_did_not_know_is_flushed_before_it_is_replaced(talk: Talk) -> None:
    session, _came = fill(talk, 0.1)
    talk.do(session, "flush", {"version": 1, "continue": "They said hello."})
    fill(talk, 0.75)
    assert compact(session)
    assert Flush.objects.get().up_to >= session.compacted_to
    summary = talk.history(session)[0][1]
    assert summary.startswith("They said hello.") and "Answer 4" in summary


@pytest.mark.thorough
def test_a_task_that_comes_late_or_twice_changes_nothing(talk: Talk) -> None:
    session, _came = fill(talk, 0.75)
    here = (session.pk, session.conversation, session.cycle, session.max_tokens())
    assert [compaction.compact(*here, now=NOW) for _twice in range(2)] == [True, False]
    fill(talk, 0.75)
    talk.do(session, "reset")
    assert compaction.compact(session.pk, 1, 2, BUDGET, now=NOW) is False


def test_a_bot_may_ask_for_compaction(talk: Talk, django_capture_on_commit_callbacks: Any) -> None:
    for n in range(4):
        talk.say(f"thing number {n}")
    session = Session.objects.get()
    with django_capture_on_commit_callbacks(execute=True):
        assert talk.do(session, "compact", status=202)["queued"] is True
    (task,) = OrmQ.objects.all()
    assert task.task["func"] == "sessions_app.tasks.compact" and task.task["args"][-1] is True
    assert compaction.compact(*task.task["args"][:4], now=NOW, is_asked=True)
    assert [role for role, _content in talk.history(session)] == ["summary", "user", "assistant"]
    assert talk.do(session, "compact", status=202)["queued"] is False
    assert tasks.compact.__module__ == "sessions_app.tasks"


@pytest.mark.thorough
def test_a_client_may_go_on_from_the_summary_it_was_given(talk: Talk) -> None:
    session, _came = fill(talk, 0.75)
    compact(session)
    history = [{"role": role, "content": content} for role, content in talk.history(session)]
    talk.log(session, "user: and now?", history=history)
    assert talk.history(session)[-1] == ("user", "and now?")


def test_a_summary_says_what_recurs_and_who_said_it(talk: Talk) -> None:
    talk.say("我决定用蓝绿部署，端口改成 9090。", "好的，记住了。", address={**GROUP, "peer": "ann"})
    talk.say("嗯。", "嗯。", address={**GROUP, "peer": "ben"})
    events = list(SessionEvent.objects.order_by("position"))
    result = summaries.summarise(summaries.turns_of(events), 40, names=True)
    assert "ann: 我决定用蓝绿部署，端口改成 9090。" in result
    assert count_tokens(result) <= 40


def test_on_a_stop_what_is_unflushed_is_flushed_once(talk: Talk) -> None:
    """C8."""
    talk.say("I bring the cake", address={**GROUP, "peer": "ann"})
    talk.say("hello there")
    assert flush.flush_active(now=NOW) == {"flushed": 2, "left": 0}
    assert flush.flush_active(now=NOW) == {"flushed": 0, "left": 0}
    entries = Entry.objects.filter(subtype="session_flush")
    assert sorted(Scope.objects.filter(pk__in=entries.values("scope")).values_list("key", flat=True)) == [
        "telegram:direct_ann",
        "telegram:direct_u42",
        "telegram:mybot:group_g1",
    ]
    talk.say("and the wine", address={**GROUP, "peer": "ann"})
    assert flush.flush_active(now=NOW) == {"flushed": 1, "left": 0}


def test_a_stop_that_has_no_time_leaves_the_rest(talk: Talk) -> None:
    talk.say("hello there")
    assert flush.flush_active(now=NOW, seconds=0) == {"flushed": 0, "left": 1}


@pytest.mark.thorough
def test_of_a_small_budget_the_summary_takes_little_enough_to_leave_room(talk: Talk, settings: Any) -> None:
    settings.MEMORY_HISTORY_SUMMARY_MAX_TOKENS = 600
    session, _came = fill(talk, 0.7)
    assert compact(session)
    assert session.tokens < 0.6 * BUDGET


@pytest.mark.thorough
def test_a_long_conversation_is_compacted_part_by_part_and_no_part_is_lost_or_done_twice(
    talk: Talk, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEMORY_SESSION_SHOWN_TOKENS = 150
    session = grown(talk)

    def killed(*_args: Any, **_more: Any) -> None:
        raise KeyboardInterrupt

    first = (session.pk, session.conversation, session.cycle, session.max_tokens())
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(conversations, "async_task", killed)  # once the summary is written, before it is committed
        compaction.compact(*first, now=NOW, is_asked=True)
    assert not SessionEvent.objects.filter(kind="summary").exists() and not OrmQ.objects.exists()
    assert compact_whole(session) > 2
    assert compaction.compact(*first, now=NOW, is_asked=True) is False  # the queue brings the killed task once more
    summaries = SessionEvent.objects.filter(kind="summary").order_by("position")
    covered = [summary.data["covers_to"] for summary in summaries]
    assert covered == sorted(set(covered)) and covered[-1] == session.compacted_to == 22
    assert talk.history(session)[0] == ("summary", summary_of(session).content)
    assert len(talk.history(session)) == 3 and not OrmQ.objects.exists()
    result = Entry.objects.filter(subtype="session_flush").order_by("pk").values_list("content", flat=True)
    assert session.flushed_to >= 22 and len(result) == len(set(result)) > 2

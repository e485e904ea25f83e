"""What was said gets its embedding soon after, in batches, whatever becomes of the embedder (C6, A12, A13, C12)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from memories import embeddings
from memories.embeddings.deterministic import Deterministic
from memories.index import model_change
from memories.index import worker as embedder
from memories.management.commands.embedder import Command
from memories.models import EmbeddingModel, IndexQueueItem
from sessions_app.history.retention import clean_events
from sessions_app.models import ATTEMPTS, EventIndex, Session, SessionEvent
from sessions_app.search.embedder import EventEmbedder
from tests.conftest import GROUP, NOW
from tests.sessions_app.conftest import Talk
from tests.sessions_app.embedders import Down, Meaning, Narrow, Other, Picky, use

pytestmark = pytest.mark.django_db
Counter = Callable[[int], Any]


@pytest.fixture(autouse=True)
def meaning(settings: Any) -> None:
    use(settings, Meaning)


def embed(worker: EventEmbedder | None = None, *, now: Any = NOW) -> EventEmbedder:
    """Whatever there is to do at this moment."""
    worker = worker or EventEmbedder()
    while worker(now=now) == 0:
        pass
    return worker


def embedded() -> set[str]:
    rows = EventIndex.objects.filter(model__isnull=False)
    return set(rows.values_list("event__content", flat=True))


def asked() -> list[str]:
    return [text for texts in Meaning.asked for text in texts]


def test_it_works(talk: Talk) -> None:
    talk.say("我的牙医是王医生", "noted")
    assert embedded() == set()
    embed()
    assert embedded() == {"我的牙医是王医生", "noted"}
    row = EventIndex.objects.select_related("event").first()
    assert row is not None and row.model == EmbeddingModel.objects.get()
    expected = Meaning().embed_passages([row.event.content], seconds=1)[0]
    assert row.embedding == pytest.approx(expected, abs=1e-3)
    assert (row.session_id, row.kind, row.at) == (row.event.session_id, row.event.kind, row.event.at)


def test_what_is_not_said_to_the_bot_or_clears_a_conversation_is_never_embedded(talk: Talk) -> None:
    talk.say("hello", address=GROUP)
    session = Session.objects.get()
    talk.log(session, "ambient: the ship is late", "tool: the ship", "user: @bot /reset", "user:  ", "assistant: 船")
    talk.say("/reset", address=GROUP)
    embed()
    assert embedded() == {"hello", "ok", "船"}
    assert not [text for text in asked() if "ship" in text or "reset" in text]


def test_summaries_are_embedded_as_well(talk: Talk) -> None:
    for n in range(4):
        talk.say(f"the ship number {n} sails to Odesa tomorrow", "a fine ship")
    session = Session.objects.get()
    talk.do(session, "compact", status=202)
    from sessions_app import compaction

    session.refresh_from_db()
    assert compaction.compact(session.pk, 1, session.cycle, session.max_tokens(), now=NOW, is_asked=True)
    embed()
    assert SessionEvent.objects.get(kind="summary").content in embedded()


def test_batches_follow_at_once_while_there_is_a_backlog_and_else_every_five_seconds(talk: Talk) -> None:
    talk.say("hello")
    session = Session.objects.get()
    talk.log(session, *(f"user: ship {n}" for n in range(38)))
    worker = EventEmbedder()
    answers = [worker(now=NOW) for _ in range(6)]
    assert answers == [0, 0, 0, 0, 5, 5]  # rows are looked after first; then 16, 16 and 8
    assert [len(texts) for texts in Meaning.asked] == [16, 16, 8]
    talk.say("another ship")
    assert worker(now=NOW + timedelta(seconds=2)) == 3 and "another ship" not in embedded()
    assert worker(now=NOW + timedelta(seconds=5)) == 5 and "another ship" in embedded()


def test_long_messages_are_cut_and_share_no_batch(talk: Talk) -> None:
    talk.say("船" + "长" * 3_000 + "尾", "长" * 3_000)
    embed()
    assert [len(texts) for texts in Meaning.asked] == [1, 1]
    first = asked()[0]
    assert len(first) == 300 and first.startswith("船") and first.endswith("尾") and " ... " in first


def test_a_text_that_was_embedded_before_is_not_embedded_again(talk: Talk) -> None:
    talk.say("my salary rises", "ok")
    embed()
    talk.say("my salary rises", "ok", at=NOW + timedelta(minutes=1), address=GROUP)
    embed()
    assert sorted(asked()) == ["my salary rises", "ok"]
    assert EventIndex.objects.filter(model__isnull=False).count() == 4


def test_it_can_be_switched_off(talk: Talk, settings: Any) -> None:
    settings.MEMORY_SESSION_EVENT_EMBEDDING = False
    talk.say("hello")
    embed()
    assert embedded() == set() and asked() == []


def test_a_provider_that_is_down_costs_no_message_its_attempts(talk: Talk, settings: Any) -> None:
    use(settings, Down)
    settings.MEMORY_BREAKER_REST = timedelta(0)
    talk.say("the ship sails", "it does")
    worker = embed()
    for minute in range(2 * ATTEMPTS):
        embed(worker, now=NOW + timedelta(minutes=minute))
    assert embedded() == set()
    assert set(EventIndex.objects.values_list("failures", "retry_at")) == {(0, None)}
    Down.is_up = True
    embed(worker, now=NOW + timedelta(hours=1))
    assert embedded() == {"the ship sails", "it does"}


@pytest.mark.thorough
def test_a_text_the_embedder_chokes_on_holds_up_no_other_and_is_left_alone_in_the_end(
    talk: Talk, settings: Any
) -> None:
    use(settings, Picky)
    talk.say("plums are blue", "this is poison")
    talk.say("apples are red", "they are")
    worker = embed()
    assert embedded() == {"plums are blue", "apples are red", "they are"}
    for hour in range(1, 2 * ATTEMPTS):
        embed(worker, now=NOW + timedelta(hours=hour))
    assert EventIndex.objects.get(model=None).failures == ATTEMPTS
    use(settings, Meaning)
    embed(worker, now=NOW + timedelta(days=1))
    assert "this is poison" not in embedded()
    embed(now=NOW + timedelta(days=1))  # a process that begins tries it again
    assert "this is poison" in embedded()


@pytest.mark.thorough
@pytest.mark.parametrize(("provider", "dimension"), [(Other, 64), (Narrow, 60)])
def test_what_another_model_embedded_is_embedded_anew(
    talk: Talk, settings: Any, provider: type[Deterministic], dimension: int
) -> None:
    talk.say("the ship sails", "it does")
    embed()
    use(settings, provider)
    embed()
    rows = EventIndex.objects.select_related("model")
    assert {(row.model.name, len(row.embedding)) for row in rows} == {(provider.model, dimension)}


def test_a_claim_nobody_finished_is_taken_over_when_its_lease_is_over(talk: Talk) -> None:
    talk.say("the ship sails", "it does")
    EventIndex.objects.update(retry_at=NOW + embedder.LEASE)  # as a killed process leaves them
    embed()
    assert embedded() == set()
    embed(now=NOW + embedder.LEASE)
    assert embedded() == {"the ship sails", "it does"}


def test_rows_that_are_gone_are_made_anew(talk: Talk) -> None:
    talk.say("the ship sails", "它会的")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM sessions_app_eventindex")
    embed()
    assert embedded() == {"the ship sails", "它会的"}


def test_embeddings_go_with_their_messages(talk: Talk) -> None:
    talk.say("the ship sails", "it does", at=NOW - timedelta(days=40))
    talk.say("hello again", "welcome")  # another conversation
    embed()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM memories_bufferedturn")
        cursor.execute("DELETE FROM memories_extractionbatch")
    assert clean_events(now=NOW) == {"events": 2}
    assert set(EventIndex.objects.values_list("event__content", flat=True)) == {"hello again", "welcome"}


def test_entries_go_first(talk: Talk) -> None:
    talk.say("the ship sails", "it does")
    seen: list[int] = []
    command = Command()

    def work(*, now: Any) -> float:
        seen.append(IndexQueueItem.objects.count())
        command._stopping = True
        return 1.0

    command._stopping, command._more = False, [work]
    command._wait = lambda seconds: seen.append(-round(seconds))  # type: ignore[method-assign]
    command._work()
    assert seen == [0, -1]


def test_an_entry_that_comes_while_messages_are_embedded_waits_for_few_of_them(talk: Talk) -> None:
    talk.say("hello")
    talk.log(Session.objects.get(), *(f"user: {n} {'is a long message about ships ' * 12}" for n in range(12)))
    worker = embed()
    assert len(Meaning.asked) == 13 and len(embedded()) == 14  # an entry waits all the time: one slice a call
    embedder.drain(now=NOW)
    Meaning.asked.clear()
    talk.log(Session.objects.get(), *(f"user: {n} {'is a long message about boats ' * 12}" for n in range(12)))
    assert worker(now=NOW + timedelta(minutes=1)) > 0  # no entry waits: one call for all
    assert len(Meaning.asked) == 12


def test_a_batch_takes_the_same_statements_whatever_its_size(
    talk: Talk, django_assert_num_queries: Counter, settings: Any
) -> None:
    settings.MEMORY_EMBEDDERS = ["memories.embeddings.deterministic.Deterministic"]
    embeddings.forget()
    talk.say("hello")
    session = Session.objects.get()
    worker = embed()
    for n, size in enumerate((2, 15), start=1):
        talk.log(session, *(f"user: {size} ships and {m}" for m in range(size)))
        with django_assert_num_queries(9):
            worker(now=NOW + timedelta(minutes=n))
    assert not EventIndex.objects.filter(model=None).exists()


def test_messages_are_embedded_for_the_new_model_before_it_is_switched_to(talk: Talk, settings: Any) -> None:
    """Their vectors wait in the cache: words alone find them for moments, not until all are embedded."""
    talk.say("the ship sails", "it does")
    embedder.drain(now=NOW)
    embed()
    use(settings, Other)
    settings.MEMORY_EMBEDDERS = [f"{Other.__module__}.Other", f"{Meaning.__module__}.Meaning"]
    settings.MEMORY_EMBEDDER_WORK = ["sessions_app.search.embedder.embed_events"]
    embeddings.forget()
    worker = embed()
    assert set(EventIndex.objects.values_list("model__name", flat=True)) == {
        Meaning.model
    }  # as long as the workspace is searched by it
    model_change.finish(now=NOW)
    before = len(Meaning.asked)
    embed(worker, now=NOW + timedelta(minutes=1))
    assert {row.model.name for row in EventIndex.objects.select_related("model")} == {"another"}
    assert len(Meaning.asked) == before

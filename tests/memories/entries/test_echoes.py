"""A turn that tells nothing new is kept, and is no knowledge (A7)."""

from collections import Counter
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories import entries
from memories.choices import Echo
from memories.index import search_rows, worker
from memories.language.quoting import turn_of
from memories.language.text import terms
from memories.lifecycle.maintenance import count_terms_anew
from memories.lifecycle.old_entries import count_undecided, mark_old_echoes
from memories.models import Entry, EntryAccess, EntryIndex, RecallTrace, Scope, ScopeTerm
from tests.conftest import NOW, make_draft

pytestmark = pytest.mark.django_db
FACT = "Mel adopted a beagle called Biscuit in May."
UNKNOWN = turn_of("What is Mel's dog called?", "I don't know yet.")
PARROT = turn_of("What is Mel's dog called?", "As far as I remember: Mel adopted a beagle called Biscuit in May.")
TELLING = turn_of("Since Mel moved to Porto I walk her dog, what is it called?", "I don't know yet.")


def write(scope: Scope, *contents: str) -> list[Entry]:
    written = entries.remember_many([make_draft(scope, content) for content in contents], now=NOW, actor="test")
    scope.refresh_from_db()
    return [result.entry for result in written]


def counted(scope: Scope) -> dict[int, int]:
    return dict(ScopeTerm.objects.filter(scope=scope, entries__gt=0).values_list("term", "entries"))


@pytest.mark.parametrize("at_once", [True, False])
def test_what_was_only_asked_or_repeated_is_an_echo(scope: Scope, at_once: bool) -> None:
    groups = [(FACT, UNKNOWN, PARROT)] if at_once else [(FACT,), (UNKNOWN,), (PARROT,)]
    written = [entry for group in groups for entry in write(scope, *group)]
    assert [entry.echo for entry in written] == [Echo.NONE, Echo.TURN, Echo.TURN]


def test_a_statement_beside_a_question_still_counts(scope: Scope) -> None:
    assert write(scope, TELLING)[0].echo == Echo.ANSWER


def test_an_answer_of_the_bots_own_still_counts(scope: Scope) -> None:
    own = turn_of("What is the capital of Mongolia?", "The capital of Mongolia is Ulaanbaatar.")
    again = turn_of("Which city is the capital of Mongolia?", "The capital of Mongolia is Ulaanbaatar.")
    assert [entry.echo for entry in write(scope, own, again)] == [Echo.NONE, Echo.TURN]


def test_an_echo_counts_for_nothing_among_the_words_of_its_scope(scope: Scope) -> None:
    write(scope, FACT)
    before = counted(scope), scope.entry_count, scope.average_length
    write(scope, UNKNOWN, PARROT)
    assert (counted(scope), scope.entry_count, scope.average_length) == before
    assert count_terms_anew(scope.workspace_id)["scopes"] == 0


def test_an_echo_lends_its_neighbours_no_words(scope: Scope) -> None:
    draft = {"slots": {"session_id": "s1"}}
    answer = entries.remember_many(
        [make_draft(scope, item, **draft) for item in (FACT, UNKNOWN, "We went to the lake.")], now=NOW, actor="test"
    )
    first, echo, last = (result.entry.pk for result in answer)
    assert search_rows.neighbours([first, echo, last]) == {first: [last], echo: [], last: [first]}


def test_a_question_asked_again_takes_the_place_of_no_statement(scope: Scope) -> None:
    result = turn_of("When is the dentist?", "On Tuesday the dentist sees you, bring the old card.")
    answer = turn_of("When is the dentist?", "I don't know yet.")
    written = write(scope, result)[0], write(scope, answer)[0]
    assert written[0].pk != written[1].pk
    assert Entry.objects.get(pk=written[0].pk).content == result


def test_what_a_person_writes_into_an_echo_is_knowledge(scope: Scope) -> None:
    echo = write(scope, UNKNOWN)[0]
    entries.update(echo, entries.Edit(columns={"content": FACT}), now=NOW, actor="user:1")
    echo.refresh_from_db()
    assert echo.echo == Echo.NONE and not EntryIndex.objects.get(entry=echo).is_echo
    assert counted(scope) == dict.fromkeys(Counter(terms(FACT)), 1)


def test_old_turns_are_looked_at_once(scope: Scope) -> None:
    written = write(scope, FACT, UNKNOWN, TELLING, PARROT)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE memories_entry SET echo = NULL")
    EntryIndex.objects.update(is_echo=False)
    count_terms_anew(scope.workspace_id)
    versions = [entry.version for entry in written]
    assert count_undecided() == {"entries": 4}
    assert mark_old_echoes(seconds=60) == {"entries": 4, "echoes": 3}
    worker.drain(now=NOW)
    again = list(Entry.objects.order_by("pk"))
    assert [entry.echo for entry in again] == [Echo.NONE, Echo.TURN, Echo.ANSWER, Echo.TURN]
    assert [entry.version for entry in again] == versions
    assert list(EntryIndex.objects.order_by("entry").values_list("is_echo", flat=True)) == [False, True, False, True]
    assert mark_old_echoes(seconds=60) == {"entries": 0, "echoes": 0}
    assert count_terms_anew(scope.workspace_id)["scopes"] == 0


def test_a_frozen_scope_is_left_for_later(scope: Scope) -> None:
    write(scope, UNKNOWN)
    Entry.objects.update(echo=None)
    Scope.objects.update(frozen=True)
    assert mark_old_echoes(seconds=60) == {"entries": 0, "echoes": 0}
    assert count_undecided() == {"entries": 0} and Entry.objects.get().echo is None


def uses() -> dict[str, tuple[int, datetime | None]]:
    rows = EntryAccess.objects.filter(access_count__gt=0).select_related("entry")
    return {row.entry.content: (row.access_count, row.last_accessed) for row in rows}


@pytest.mark.parametrize(
    ("memory", "question", "answer"),
    [
        (FACT, "What is Mel's dog called?", "As far as I remember: Mel adopted a beagle called Biscuit in May."),
        ("我家的猫叫年糕，是三月领养的", "我家的猫叫什么？", "你家的猫叫年糕，是三月领养的。"),
    ],
)
def test_what_the_bot_repeats_is_used_without_a_recall(scope: Scope, memory: str, question: str, answer: str) -> None:
    write(scope, memory, "Mel likes tea.", "我喜欢喝茶")
    write(scope, turn_of(question, answer))
    assert uses() == {memory: (1, NOW)}
    assert Entry.objects.get(content=memory).version == 1


def test_every_time_it_is_repeated_counts_and_only_for_what_was_told(scope: Scope) -> None:
    write(scope, FACT)
    for question in ("What is Mel's dog called?", "Since we met I forgot her dog, what is it called?", "And the dog?"):
        write(scope, turn_of(question, "Mel adopted a beagle called Biscuit in May."))
    assert uses() == {FACT: (3, NOW)}


def test_an_answer_from_several_memories_uses_each(scope: Scope) -> None:
    other = "Nora bakes sourdough on Sundays."
    write(scope, FACT, other, "Nora likes tea.")
    write(scope, turn_of("What about them?", "Mel adopted a beagle called Biscuit. Nora bakes sourdough on Sundays."))
    assert uses() == {FACT: (1, NOW), other: (1, NOW)}


def test_of_memories_with_the_same_word_the_one_that_was_asked_for_is_used(scope: Scope) -> None:
    write(scope, "The dentist is on Tuesday.", "The choir rehearses on Tuesday.", "The dentist has a parrot.")
    write(scope, turn_of("When is the dentist?", "On Tuesday."))
    assert uses() == {"The dentist is on Tuesday.": (1, NOW)}


@pytest.mark.parametrize("answer", ["I don't know yet.", "Mel adopted a beagle called Biscuit, and a parrot, Kiwi."])
def test_an_answer_that_repeats_nothing_or_tells_more_uses_nothing(scope: Scope, answer: str) -> None:
    write(scope, FACT)
    write(scope, turn_of("What is Mel's dog called?", answer))
    assert uses() == {}


@pytest.mark.parametrize(("hours", "counts"), [(0, 0), (2, 1)])
def test_what_a_recall_served_for_it_is_counted_there_and_not_again(scope: Scope, hours: int, counts: int) -> None:
    (fact,) = write(scope, FACT)
    RecallTrace.objects.create(
        workspace=scope.workspace, scopes=[], message="?", served=[fact.pk], created_at=NOW - timedelta(hours=hours)
    )
    write(scope, PARROT)
    assert len(uses()) == counts


def test_counting_a_use_takes_one_statement_and_none_without_a_use(scope: Scope) -> None:
    def statements(content: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            write(scope, content)
        return sum("memories_entryaccess" in row["sql"] for row in captured)

    write(scope, FACT)
    assert [statements(item) for item in (UNKNOWN, PARROT, "Nora likes tea.")] == [0, 1, 0]


def test_old_turns_that_are_marked_count_no_use(scope: Scope) -> None:
    write(scope, FACT, PARROT)
    EntryAccess.objects.all().delete()
    Entry.objects.update(echo=None)
    assert mark_old_echoes(seconds=60) == {"entries": 2, "echoes": 1} and uses() == {}

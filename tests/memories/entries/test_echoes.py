"""A turn that tells nothing new is kept, and is no knowledge (A7)."""

from collections import Counter

import pytest
from django.db import connection

from memories import entries
from memories.choices import Echo
from memories.index import search_rows, worker
from memories.language.text import terms
from memories.language.turns import turn_of
from memories.lifecycle.echoes import count_undecided, mark_old_echoes
from memories.lifecycle.maintenance import count_terms_anew
from memories.models import Entry, EntryIndex, Scope, ScopeTerm
from tests.conftest import NOW, make_draft

pytestmark = pytest.mark.django_db
FACT = "Mel adopted a beagle called Biscuit in May."
UNKNOWN = turn_of("What is Mel's dog called?", "I don't know yet.")
PARROT = turn_of("What is Mel's dog called?", "As far as I remember: Mel adopted a beagle called Biscuit in May.")
TELLING = turn_of("Since Mel moved to Porto I walk her dog, what is it called?", "I don't know yet.")


def write(scope: Scope, *contents: str) -> list[Entry]:
    written = entries.remember_many([make_draft(scope, one) for one in contents], now=NOW, actor="test")
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
    told = entries.remember_many(
        [make_draft(scope, one, **draft) for one in (FACT, UNKNOWN, "We went to the lake.")], now=NOW, actor="test"
    )
    first, echo, last = (result.entry.pk for result in told)
    assert search_rows.neighbours([first, echo, last]) == {first: [last], echo: [], last: [first]}


def test_a_question_asked_again_takes_the_place_of_no_statement(scope: Scope) -> None:
    told = turn_of("When is the dentist?", "On Tuesday the dentist sees you, bring the old card.")
    asked = turn_of("When is the dentist?", "I don't know yet.")
    written = write(scope, told)[0], write(scope, asked)[0]
    assert written[0].pk != written[1].pk
    assert Entry.objects.get(pk=written[0].pk).content == told


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

"""A memory does not drown in the bot's own questions (A7)."""

from datetime import timedelta

import pytest

from memories import entries
from memories.index import worker
from memories.language.quoting import turn_of
from memories.models import Scope
from memories.recall import Query, Recall, SearchScope, recall
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_draft

pytestmark = pytest.mark.django_db
QUESTION = "What is Mel's dog called?"
FACT = "Mel adopted a beagle, and the dog is called Biscuit."


@pytest.fixture
def used_scope(scope: Scope) -> Scope:
    """A memory and the same question asked of it three times."""
    answers = ["I don't know yet.", "I'm not sure, sorry.", f"As far as I remember: {FACT}"]
    drafts = [make_draft(scope, FACT), *(make_draft(scope, turn_of(QUESTION, answer)) for answer in answers)]
    entries.remember_many(drafts, now=NOW, actor="test")
    worker.drain(now=NOW)
    scope.refresh_from_db()
    return scope


def ask(scope: Scope, message: str, **given: object) -> Recall:
    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))]
    query = Query(workspace_id=scope.workspace_id, places=places, message=message, limit=8, **given)
    return recall(query, now=NOW + timedelta(hours=1))


@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_what_was_asked_before_is_not_served_beside_the_memory(used_scope: Scope, mode: str) -> None:
    assert [item.entry.content for item in ask(used_scope, QUESTION, mode=mode).served] == [FACT]


@pytest.mark.parametrize(
    "question", ["What did I ask you about Mel's dog?", "我问过你什么？ Mel dog", "have I asked you this before: Mel?"]
)
def test_what_was_asked_is_found_when_that_is_asked_for(used_scope: Scope, question: str) -> None:
    assert any("User:" in item.entry.content for item in ask(used_scope, question).served)


@pytest.mark.parametrize("mode", ["keyword", "fts"])
def test_a_search_for_words_finds_them_wherever_they_stand(used_scope: Scope, mode: str) -> None:
    assert len(ask(used_scope, "dog called", mode=mode, quotas=False, need="off").served) == 4


def test_a_question_nobody_answered_is_no_evidence_that_the_answer_is_known(scope: Scope) -> None:
    entries.remember(make_draft(scope, "I keep bees behind the house."), now=NOW, actor="test")
    scope.refresh_from_db()
    question = "What is the capital of Mongolia?"
    before = ask(scope, question).answerability
    for answer in ("I don't know.", "No idea, sorry."):
        entries.remember(make_draft(scope, turn_of(question, answer)), now=NOW, actor="test")
    worker.drain(now=NOW)
    scope.refresh_from_db()
    after = ask(scope, question).answerability
    assert (after.verdict, after.words) == (before.verdict, before.words)


def test_an_explanation_names_what_was_left_out_for_it(used_scope: Scope) -> None:
    reasons = {
        item.entry.content.split("\n")[0]: item.reason for item in ask(used_scope, QUESTION, explain=True).excluded
    }
    assert reasons == {f"User: {QUESTION}": "echo"}


@pytest.mark.parametrize(
    "question",
    [
        "I have a badminton group. How many people are there in it?",
        "I have a badminton group, how many people are there in it?",
    ],
)
def test_what_is_told_beside_a_question_is_served_once_and_proves_no_answer(scope: Scope, question: str) -> None:
    entries.remember(make_draft(scope, "I keep bees behind the house."), now=NOW, actor="test")
    scope.refresh_from_db()
    before = ask(scope, question, need="off").answerability.verdict
    for answer in ("I don't know.", "No idea, sorry.", "That is a mystery to me."):
        entries.remember(make_draft(scope, turn_of(question, answer)), now=NOW, actor="test")
    worker.drain(now=NOW)
    scope.refresh_from_db()
    result = ask(scope, question, need="off", quotas=False)
    assert result.answerability.verdict == before == "none"
    assert sum("badminton" in item.entry.content for item in result.served) == 1
    assert ask(scope, "Do I have a badminton group?").served

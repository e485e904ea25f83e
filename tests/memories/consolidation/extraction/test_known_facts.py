"""Which known facts a model is shown beside a conversation: by the words both share, and by what they mean (D5)."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories import entries
from memories.consolidation.extraction.model import build_question
from memories.consolidation.extraction.ownership import merge_messages, split_by_scope
from memories.index import worker
from memories.models import BufferedTurn, Entry, Scope, Workspace
from tests.conftest import NOW, Api, make_draft, make_scope
from tests.memories.consolidation.buffer.conversations import extract, say
from tests.memories.consolidation.extraction.conftest import answering
from tests.memories.llm.fake_server import FakeModel

pytestmark = pytest.mark.django_db
LIVES, RAIN = "I live in Porto", "Rain falls on Mondays"
MOVED = "I moved to Braga"


def know(scope: Scope, content: str, **more: Any) -> Entry:
    draft = make_draft(scope, content, type="fact", tier=2, source="extraction", **more)
    return entries.remember(draft, now=NOW, actor="test").entry


def shown_facts(model: FakeModel) -> list[str]:
    return [fact["content"] for fact in model.requests[-1].data["known_facts"]]


def test_a_fact_that_shares_no_word_is_shown_for_what_it_means(
    api: Api, model: FakeModel, workspace: Workspace
) -> None:
    model.otherwise = answering()
    say(api, MOVED, "Noted.")
    own = Scope.objects.get()
    know(own, RAIN)
    know(own, LIVES)
    know(own, "I say Sesame to the door", category="credential")
    know(make_scope(workspace, "telegram:direct_u43"), "I live in Lisbon")
    worker.drain(now=NOW)
    extract()
    assert shown_facts(model) == [LIVES, RAIN]  # the nearest first, no secret, and nobody else's


def test_without_vectors_facts_are_shown_by_their_words_alone(api: Api, model: FakeModel) -> None:
    model.otherwise = answering()
    say(api, MOVED, "Noted.")
    know(Scope.objects.get(), LIVES)
    know(Scope.objects.get(), "The flat in Braga has a balcony")
    extract()
    assert shown_facts(model) == ["The flat in Braga has a balcony"]


def test_half_of_them_at_most_are_there_for_their_meaning_and_many_take_no_more_queries(
    api: Api, settings: Any
) -> None:
    settings.MEMORY_KNOWN_FACTS = 4
    counts = []
    for n in range(3):
        say(api, f"{MOVED} in {n + 10} days", "Noted.")
        know(Scope.objects.get(), f"{LIVES} since the year {n + 2010}")
        worker.drain(now=NOW)
        scopes = split_by_scope(BufferedTurn.objects.select_related("user_scope", "chat_scope"))
        with CaptureQueriesContext(connection) as queries:
            question = build_question(merge_messages(scopes), scopes)
        assert len(question.facts) == min(n + 1, 2)
        counts.append(len(queries))
    assert len(set(counts)) == 1

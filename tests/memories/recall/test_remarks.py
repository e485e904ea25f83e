"""What only tells something is searched by its meaning: what bears on it hardly shares a word with it."""

from datetime import timedelta
from typing import Any

import pytest

from memories import entries
from memories.choices import ScopeKind
from memories.index import worker
from memories.models import Scope
from memories.recall import Query, Recall, SearchScope, recall
from memories.recall.query import REMARK_ALPHA
from memories.recall.question import is_remark
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_draft


@pytest.mark.parametrize("message", [
    "My shins are killing me again.",
    "They want me to start on the first!",
    "今天他说项目要延到后年。",
])  # fmt: skip
def test_what_tells_and_asks_nothing_is_a_remark(message: str) -> None:
    assert is_remark(message)


@pytest.mark.parametrize("message", [
    "Where do I live?",
    "Tell me where I live.",
    "在哪里工作",
    "sister allergy",  # as a model writes queries
    "我忘了我住哪儿了。",
    "User: My shins hurt.\nAssistant: Poor you.",
    "I walked home. " * 40,
])  # fmt: skip
def test_questions_queries_dialogues_and_stories_are_none(message: str) -> None:
    assert not is_remark(message)


def ask(scope: Scope, message: str) -> Recall:
    query = Query(
        workspace_id=scope.workspace_id,
        places=[SearchScope(scope, ScopeRef(key=scope.key, kind=ScopeKind.USER))],
        message=message,
        limit=5,
    )
    return recall(query, now=NOW + timedelta(hours=1))


@pytest.mark.django_db
def test_in_a_remark_meaning_counts_for_nearly_all(scope: Scope) -> None:
    entries.remember(make_draft(scope, "I'm training for the half marathon in May."), now=NOW, actor="test")
    worker.drain(now=NOW)
    scope.refresh_from_db()
    assert ask(scope, "My shins are killing me again.").weights["alpha"] == REMARK_ALPHA
    assert ask(scope, "What am I training for?").weights["alpha"] < REMARK_ALPHA


@pytest.mark.django_db
def test_an_owner_who_wants_words_alone_has_them_in_remarks_too(scope: Scope, settings: Any) -> None:
    settings.MEMORY_ALPHA = 0.0
    assert ask(scope, "My shins are killing me again.").weights["alpha"] == 0

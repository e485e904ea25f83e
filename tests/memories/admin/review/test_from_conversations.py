"""From what was said to the question about it: two conversations that contradict each other (D5, F4)."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.html import escape

from memories.choices import Verification
from memories.models import Entry, Workspace
from tests.conftest import Api
from tests.memories.admin.conftest import enter, make_user
from tests.memories.admin.review.conftest import REVIEW, answer
from tests.memories.consolidation.buffer.conversations import QUIET, extract, say
from tests.memories.consolidation.extraction.conftest import answering, fact
from tests.memories.consolidation.extraction.conftest import model as model
from tests.memories.llm.fake_server import FakeModel

pytestmark = pytest.mark.django_db
SAID = {"Alice likes tea.": "I am Alice and I like tea", "Alice does not like tea.": "Alice here, I do not like tea"}


@pytest.fixture
def alice(workspace: Workspace) -> Client:
    return enter(make_user("alice", workspace=workspace, is_staff=True))


@pytest.mark.thorough
def test_the_words_of_both_conversations_stand_there_and_lead_to_them(
    alice: Client, api: Api, model: FakeModel, settings: Any
) -> None:
    settings.TEST_CLOCK = True
    now = timezone.now()
    for n, (content, words) in enumerate(SAID.items()):
        at = now - timedelta(days=2 - n)
        say(api, f"{words}, by the way", "Noted.", at=at)
        model.script = [answering(fact(content, words))]
        extract(at + QUIET)
    shown = alice.get(REVIEW)
    (pair,) = shown.context["pairs"]
    statements = [pair.before[0], pair.after]
    assert [statement.entry.content for statement in statements] == list(SAID)
    assert [statement.verification for statement in statements] == [Verification.VERIFIED] * 2
    assert [line.quote.quote for statement in statements for line in statement.quotes] == list(SAID.values())
    for words in SAID.values():
        assert f"«{words}»" in shown.content.decode()
    for address in (line.url for statement in statements for line in statement.quotes):
        assert escape(address) in shown.content.decode()
        assert "by the way" in alice.get(address.partition("#")[0]).content.decode()
    answer(alice, shown.context["batch"], "approve")
    assert [entry.content for entry in Entry.objects.live().filter(type="fact")] == ["Alice does not like tea."]

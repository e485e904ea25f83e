"""The recall lab: what would be answered, by whom it is asked, then, and with other numbers; nothing of it is kept."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memories import entries
from memories.audit.models import AuditEvent, AuditRecord
from memories.models import Entry, RecallTrace
from tests.conftest import NOW, make_draft
from tests.memories.admin.conftest import SECRET, House

pytestmark = pytest.mark.django_db
QUESTION = "what do I drink with marmalade?"


def ask(client: Client, house: House, **fields: Any) -> Any:
    body = {"of": house.workspace.pk, "message": QUESTION, "whom": house.scope.key, "mode": "hybrid", **fields}
    return client.post(reverse("lab"), body)


def contents(shown: Any, number: int = 0) -> list[str]:
    (_name, answer) = shown.context["answers"][number]
    return [row.entry.content for row in answer.served]


def test_it_shows_the_answer_with_every_step_and_keeps_nothing(alice: Client, mine: House) -> None:
    before = RecallTrace.objects.count()
    shown = ask(alice, mine)
    assert any("I like marmalade with tea" in content for content in contents(shown))
    words = shown.content.decode()
    assert "Memory was searched" in words and "Where the time went" in words and "tokens" in words
    assert RecallTrace.objects.count() == before and not AuditRecord.objects.filter(event=AuditEvent.REVEALED).exists()


def test_other_numbers_are_answered_beside_with_what_moved(alice: Client, mine: House) -> None:
    for n in range(3):
        entries.remember(make_draft(mine.scope, f"I drink marmalade tea number {n}"), now=timezone.now(), actor="test")
    shown = ask(alice, mine, max_recalls=1, always="on")
    assert len(contents(shown, 1)) == 1 < len(contents(shown, 0))
    gone = [move for move in shown.context["moves"] if move.now is None]
    assert len(gone) == len(contents(shown, 0)) - 1 and "gone" in shown.content.decode()


def test_it_asks_memory_of_then_and_refuses_what_is_to_come(alice: Client, mine: House) -> None:
    moment = timezone.now()
    entries.update(
        Entry.objects.get(pk=mine.entry.pk),
        entries.Edit(columns={"content": "I like marmalade with rum"}),
        now=NOW,
        actor="test",
    )
    assert contents(ask(alice, mine)) == ["I like marmalade with rum"]
    then = contents(ask(alice, mine, at=moment.isoformat()))
    assert then and "with tea" in then[0]
    late = ask(alice, mine, at=(moment + timedelta(days=2)).isoformat())
    assert "still to come" in late.content.decode() and "answers" not in late.context


def test_a_recall_is_opened_in_it_as_whom_it_was_asked(alice: Client, mine: House) -> None:
    linked = reverse("lab") + f"?trace={mine.trace.pk}"
    assert linked in alice.get(reverse("admin:memories_recalltrace_change", args=[mine.trace.pk])).content.decode()
    form = alice.get(linked).context["form"]
    assert form["message"].value() == mine.trace.message
    shown = ask(alice, mine, trace=mine.trace.pk, whom=form["whom"].value())
    assert shown.context["query"].asker == mine.trace.query["asker"] and contents(shown)


def test_a_session_is_asked_as_its_chat(alice: Client, mine: House) -> None:
    shown = ask(alice, mine, whom=mine.session.key)
    assert shown.context["query"].session_key == mine.session.key and contents(shown)


def test_others_memory_is_neither_asked_nor_named(alice: Client, mine: House, theirs: House) -> None:
    for fields in (
        {"of": theirs.workspace.pk, "whom": theirs.scope.key},
        {"whom": theirs.scope.key},
        {"trace": theirs.trace.pk, "whom": theirs.scope.key},
    ):
        shown = ask(alice, mine, message=f"what about {SECRET[:5]}?", **fields)
        assert "answers" not in shown.context and SECRET not in shown.content.decode().replace(theirs.scope.key, "")


def test_a_credential_is_masked_also_in_the_context_and_revealed_on_its_own_page(alice: Client, mine: House) -> None:
    stored = entries.remember(
        make_draft(mine.scope, "the marmalade cellar opens with pin 773126", category="credential"), now=NOW, actor="t"
    )
    data: dict[str, Any] = {"message": "which pin opens the marmalade cellar?", "always": "on"}
    page = ask(alice, mine, **data).content.decode()
    assert "773126" not in page and reverse("admin:memories_entry_change", args=[stored.entry.pk]) in page


def test_a_page_costs_the_same_however_much_is_remembered(alice: Client, mine: House) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            ask(alice, mine)
        return len(queries)

    ask(alice, mine)
    few = statements()
    for n in range(5):
        entries.remember(make_draft(mine.scope, f"marmalade jar {n} is open"), now=NOW, actor="test")
    assert statements() == few

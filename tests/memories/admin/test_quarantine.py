"""Quarantine on its pages: previewed, reasoned, looked through one by one or together, and noted in the audit log."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memories.audit.models import AuditEvent, AuditRecord
from memories.models import Batch, Entry
from memories.models.state import State, mark_of
from tests.memories.admin.conftest import House

pytestmark = pytest.mark.django_db


def ask(client: Client, house: House, **data: str) -> Any:
    address = f"{reverse('quarantine_new')}?entry={house.entry.pk}"
    return client.post(address, data, follow=True) if data else client.get(address)


def put_in(client: Client, house: House) -> str:
    """The page of the quarantine a person put an entry in."""
    answer = ask(client, house, confirmed="yes", reason="poisoned")
    return str(answer.redirect_chain[-1][0])


def test_a_person_sees_what_goes_says_why_and_finds_it_again(alice: Client, mine: House) -> None:
    result = ask(alice, mine)
    assert [entry.pk for entry in result.context["affected"].entries] == [mine.entry.pk]
    assert "% of what the workspace remembers" in result.content.decode()
    assert ask(alice, mine, confirmed="yes", reason=" ").status_code == 200  # why?
    assert Entry.objects.get(pk=mine.entry.pk).is_live()
    page = put_in(alice, mine)
    assert mark_of(Entry.objects.get(pk=mine.entry.pk)) == State.QUARANTINED
    listed = alice.get(reverse("quarantine"))
    assert [(who, waiting, url) for _batch, who, waiting, url in listed.context["rows"]] == [("alice", 1, page)]
    assert "poisoned" in listed.content.decode() and mine.entry.content in alice.get(page).content.decode()
    assert "1 memory waits in quarantine" in alice.get(reverse("admin:index")).content.decode()
    noted = AuditRecord.objects.get(event=AuditEvent.QUARANTINED)
    assert (noted.actor, noted.details["entries"], noted.workspace_id) == ("user:alice", 1, mine.workspace.pk)


def test_it_is_let_back_or_expired_with_a_reason(alice: Client, mine: House) -> None:
    page = put_in(alice, mine)
    number = str(mine.entry.pk)
    alice.post(page, {"do": f"back:{number}", "reason": " "})
    assert Entry.objects.get(pk=number).quarantined_at
    alice.post(page, {"do": "back", "entry": [number], "reason": "it was true"})
    assert Entry.objects.get(pk=number).is_live()
    assert Batch.objects.latest("id").reason == "it was true"
    assert AuditRecord.objects.filter(event=AuditEvent.RELEASED).count() == 1
    page = put_in(alice, mine)
    alice.post(page, {"do": "all_expire", "reason": "poison"})
    assert mark_of(Entry.objects.get(pk=number)) == State.EXPIRED
    assert alice.get(page).context["page"].paginator.count == 0


def test_nobody_puts_or_lets_back_what_is_of_another_workspace(alice: Client, mine: House, theirs: House) -> None:
    for seed in (f"entry={theirs.entry.pk}", f"scope={theirs.scope.pk}&path=x.md", f"bot={theirs.bot.pk}", "entry=x"):
        address = f"{reverse('quarantine_new')}?{seed}"
        assert alice.get(address).status_code == alice.post(address, {"confirmed": "yes"}).status_code == 404
    assert alice.get(f"{reverse('quarantine')}1/").status_code == 404


def test_a_bot_and_a_time_lead_to_what_it_wrote(alice: Client, mine: House) -> None:
    form = {"bot": str(mine.bot.pk), "since": "2000-01-01T00:00", "until": "2100-01-01T00:00"}
    response = alice.get(reverse("quarantine_new"), form)
    assert mine.entry.pk in {entry.pk for entry in response.context["affected"].entries}
    wrong = alice.get(reverse("quarantine_new"), form | {"until": "1999-01-01T00:00"})
    assert wrong.context["form"].errors["until"]

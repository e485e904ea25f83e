"""Linked peers share one memory, and get their own back when they are unlinked (E1)."""

import pytest

from channels_app.people import linking, uniting
from memories.models import Workspace
from tests.channels_app.people.conftest import (
    ANN_LARK,
    ANN_TG,
    FROM_LARK,
    FROM_TG,
    identity,
    link,
    live_in,
    recalled,
    say,
)
from tests.conftest import NOW, Api

pytestmark = pytest.mark.django_db


def test_linked_accounts_write_to_and_recall_from_one_memory(office: Api, workspace: Workspace) -> None:
    assert "Mochi" not in recalled(office, FROM_LARK, "what is my cat called?")
    person = link(workspace)
    assert say(office, FROM_LARK, "My flight to Oslo leaves at nine") == f"direct_{person.key}"
    assert say(office, FROM_TG, "I am learning to sail") == f"direct_{person.key}"
    assert "Mochi" in recalled(office, FROM_LARK, "what is my cat called?")
    assert "Oslo" in recalled(office, FROM_TG, "when does my flight to Oslo leave?")
    assert live_in("direct_telegram%3au42") == live_in("direct_lark%3aou_9") == set()


def test_unlinked_each_has_its_own_memory_again(office: Api, workspace: Workspace) -> None:
    before = {key: live_in(key) for key in ("direct_telegram%3au42", "direct_lark%3aou_9")}
    person = link(workspace)
    say(office, FROM_LARK, "My flight to Oslo leaves at nine")
    linking.separate(identity(ANN_LARK), actor="user:ops", now=NOW)
    uniting.unite_waiting(now=NOW)
    assert any("Oslo" in content for content in live_in("direct_lark%3aou_9") - before["direct_lark%3aou_9"])
    assert live_in("direct_lark%3aou_9") >= before["direct_lark%3aou_9"]
    assert live_in(f"direct_{person.key}") == before["direct_telegram%3au42"]
    assert say(office, FROM_LARK, "I bought a bicycle") == "direct_lark%3aou_9"
    linking.separate(identity(ANN_TG), actor="user:ops", now=NOW)
    uniting.unite_waiting(now=NOW)
    assert live_in("direct_telegram%3au42") == before["direct_telegram%3au42"]
    assert live_in(f"direct_{person.key}") == set()
    assert say(office, FROM_TG, "The boiler was repaired") == "direct_telegram%3au42"

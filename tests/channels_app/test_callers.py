"""The verbs work for whoever has no key: a channel platform, an importer, a command."""

import pytest

from channels_app import addresses
from channels_app.context import context_for
from channels_app.turns import take_turn
from memories.choices import NeedMode
from memories.consolidation.capture import Turn
from memories.exceptions import ScopeNotFound
from memories.models import Bot, Entry, Workspace
from memories.recall import Query, recall
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Address
from tests.conftest import NOW, TELEGRAM, make_key

HERE = Address(**TELEGRAM)
FACT = "I moved to Hangzhou in spring"


@pytest.fixture
def platform(workspace: Workspace) -> Caller:
    """A channel platform that delivers messages itself: no bot, no key."""
    return workspace.caller("platform:telegram")


def _query(caller: Caller, message: str, budget: int = 1000) -> Query:
    resolved = addresses.resolve_address(caller, HERE)
    return addresses.recall_query(
        caller, resolved, now=NOW, message=message, limit=5, need=NeedMode.OFF, token_budget=budget
    )


@pytest.mark.django_db
def test_a_platform_reports_turns_recalls_and_gets_its_context(platform: Caller, workspace: Workspace) -> None:
    taken = take_turn(platform, Turn(address=HERE, user=FACT, assistant="Noted.", at=NOW), now=NOW)
    assert [item.entry.scope.key for item in taken.written] == ["telegram:direct_u42"]
    assert Entry.objects.get(pk=taken.written[0].entry.pk).workspace_id == workspace.pk
    result = recall(_query(platform, "where did I move to?"), now=NOW, zone=platform.zone)
    assert result.trace is not None and result.trace.bot_id is None
    assert any(FACT in item.entry.content for item in result.served)
    answer = context_for(platform, HERE, "where did I move to?", token_budget=4000, limit=5, need=NeedMode.OFF, now=NOW)
    assert answer.session == taken.session
    assert [item.content for item in answer.history] == [FACT, "Noted."]


@pytest.mark.django_db
def test_what_patterns_leave_out_does_not_exist_for_an_importer(workspace: Workspace) -> None:
    importer = workspace.caller("import:files", scope_patterns=["slack:*"])
    resolved = addresses.resolve_address(importer, HERE)
    for verb in (addresses.scopes_to_write, addresses.keys_to_recall):
        with pytest.raises(ScopeNotFound):
            verb(importer, resolved)
    with pytest.raises(ScopeNotFound):
        take_turn(importer, Turn(address=HERE, user=FACT, assistant="", at=NOW), now=NOW)
    assert not workspace.scopes.exists()


@pytest.mark.django_db
def test_a_key_makes_a_caller_of_its_bot(workspace: Workspace) -> None:
    make_key(workspace, permissions=["read"], scope_patterns=["telegram:*"])
    bot = Bot.objects.get()
    caller = bot.keys.get().caller()
    assert (caller.workspace_id, caller.bot_id, caller.actor) == (workspace.pk, bot.pk, "bot:bot")
    assert (caller.permissions, caller.scope_patterns) == (("read",), ("telegram:*",))
    assert caller.may_reach("telegram:direct_u42") and not caller.may_reach("slack:direct_u42")
    assert workspace.caller("import").may_reach("slack:direct_u42")

"""What memories of a source may do: be served to one person or in groups, replace others, enter the profile (A20)."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from memories.choices import Act, EntryType, Origin, PolicyKind, Source
from memories.consolidation.compression import merging
from memories.entries import CONTRADICTED_BY, remember
from memories.evaluation import what_if
from memories.models import Entry, Policy, RecallTrace, Scope, Slot, Workspace
from memories.models.policy import NOT_TRUSTED, Policies, trust_name
from tests.conftest import GROUP, NOW, TELEGRAM, Api, make_draft
from tests.memories.entries.test_duplicates import WORDS

pytestmark = pytest.mark.django_db
ASKED = "When does the venue at Nordnes close?"
PAGE = "The venue at Nordnes closes at ten."
SCOPE = "telegram:direct_u42"


def rule(workspace: Workspace, trust: str, act: str, value: int) -> None:
    Policy.objects.create(workspace=workspace, kind=PolicyKind.TRUST, name=trust_name(trust, act), value=value)


def served(api: Api, address: Any = TELEGRAM) -> list[str]:
    answer = api.post("recall", {"address": address, "message": ASKED}).json()
    return [memory["content"] for memory in answer["memories"]]


def stated(scope: Scope, content: str, **kwargs: Any) -> Entry:
    draft = make_draft(scope, content, **{"type": EntryType.FACT, "tier": 2, **kwargs})
    return remember(draft, now=NOW, actor="bot:t").entry


def test_by_default_everything_is_served_and_no_condition_is_asked() -> None:
    policies = Policies([])
    assert policies.denied(Act.DIRECT) == policies.denied(Act.GROUP) == []
    assert policies.denied(Act.SUPERSEDE) == policies.denied(Act.PROFILE) == [Origin.TOOL]


def test_what_a_source_may_not_be_served_alone_is_served_to_nobody_alone(workspace: Workspace, api: Api) -> None:
    api.post("entries", {"address": TELEGRAM, "content": PAGE, "origin": "tool"})
    assert served(api) == [PAGE]
    rule(workspace, Origin.TOOL, Act.GROUP, 0)
    assert served(api) == [PAGE]  # that is about groups
    rule(workspace, Origin.TOOL, Act.DIRECT, 0)
    assert served(api) == []


def test_what_a_source_may_not_be_served_in_groups_stays_in_direct_chats(workspace: Workspace, api: Api) -> None:
    api.post("entries", {"address": GROUP, "scope_kind": "chat", "content": PAGE, "origin": "tool"})
    api.post("entries", {"address": TELEGRAM, "content": PAGE, "origin": "tool"})
    assert served(api, GROUP) == [PAGE]
    rule(workspace, Origin.TOOL, Act.GROUP, 0)
    assert served(api, GROUP) == []
    assert served(api) == [PAGE]


def test_a_page_corrects_nobody_until_a_policy_says_so(workspace: Workspace, scope: Scope) -> None:
    line = stated(scope, "Mia lives in Berlin.", tier=1, category="identity", source=Source.MANUAL)
    moved = {"category": "identity", "origin": Origin.TOOL, "at": NOW.replace(year=NOW.year + 1)}
    stated(scope, "Mia no longer lives in Berlin.", **moved)
    marks = Slot.objects.filter(entry=line, name=CONTRADICTED_BY)
    assert not marks.exists()
    rule(workspace, Origin.TOOL, Act.SUPERSEDE, 1)
    stated(scope, "Mia no longer lives in Berlin, Germany.", **moved)
    assert marks.exists()


def test_a_page_does_not_reword_what_a_person_said(scope: Scope) -> None:
    stated(scope, WORDS, source=Source.EXTRACTION)
    again = remember(
        make_draft(scope, WORDS + " please", type=EntryType.FACT, tier=2, origin=Origin.TOOL), now=NOW, actor="bot:t"
    )
    assert again.outcome == "created"
    assert Entry.objects.filter(content=WORDS, trust=Origin.SELF).exists()


def test_of_what_may_not_replace_nothing_is_made_by_the_nights(scope: Scope) -> None:
    page = stated(scope, PAGE, origin=Origin.TOOL)
    assert not merging.may_act(page, Policies([]))
    allowed = {(PolicyKind.TRUST, "", "", trust_name(Origin.TOOL, Act.SUPERSEDE)): 1.0}
    assert merging.may_act(page, Policies.of_values(allowed))


def test_a_page_is_no_line_of_the_profile(workspace: Workspace, api: Api) -> None:
    line = {"address": TELEGRAM, "content": "Mia is a violinist.", "type": "fact", "tier": 1}
    refused = api.post("entries", line | {"origin": "tool"})
    assert (refused.status_code, "tier" in refused.text) == (400, True)
    assert api.post("entries", line).status_code == 201
    context = api.post("context", {"address": TELEGRAM, "message": "hello"}).json()["text"]
    assert "violinist" in context
    rule(workspace, Origin.BOT, Act.PROFILE, 0)
    assert "violinist" not in api.post("context", {"address": TELEGRAM, "message": "hello"}).json()["text"]


def test_a_policy_of_trust_is_yes_or_no_about_a_source_and_an_act(workspace: Workspace) -> None:
    for broken in ({"name": "tool_fly", "value": 1}, {"name": "tool_group", "value": 2}, {"name": "tool_group"}):
        with pytest.raises(IntegrityError, match="policy_of_trust_is_yes_or_no"), transaction.atomic():
            Policy.objects.create(workspace=workspace, kind=PolicyKind.TRUST, **broken)
    assert len(NOT_TRUSTED) == 2


def test_a_change_says_what_it_would_take_out_of_the_answers_of_last_week(workspace: Workspace, api: Api) -> None:
    api.post("entries", {"address": TELEGRAM, "content": PAGE, "origin": "tool"})
    served(api)
    api.post("entries", {"address": TELEGRAM, "content": "The venue at Nordnes closes early in winter."})
    served(api)
    trace = RecallTrace.objects.latest("pk")
    assert len(trace.served) == 2
    after = Policies.of_values({(PolicyKind.TRUST, "", "", trust_name(Origin.TOOL, Act.DIRECT)): 0.0})
    lost = what_if.taken_out(workspace.pk, Policies([]), after, now=trace.created_at)
    assert lost is not None
    assert (lost.there, lost.answers, lost.touched, lost.emptied) == (1, 2, 2, 1)
    assert lost.memories == {Entry.objects.get(content=PAGE).pk: 2}
    groups = Policies.of_values({(PolicyKind.TRUST, "", "", trust_name(Origin.TOOL, Act.GROUP)): 0.0})
    in_groups = what_if.taken_out(workspace.pk, Policies([]), groups, now=trace.created_at)
    assert in_groups is not None and in_groups.touched == 0
    assert what_if.taken_out(workspace.pk, Policies([]), Policies([]), now=trace.created_at) is None
    assert SCOPE in trace.scope_keys

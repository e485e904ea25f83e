"""What a memory was made from and what it became is told with it (D6)."""

from dataclasses import replace

import pytest

from memories import entries
from memories.batches.steps import MergeStep
from memories.consolidation.compression import merging
from memories.entries.draft import Draft
from memories.lifecycle import access_counting
from memories.models import Entry, RecallTrace, Scope, Workspace
from tests.conftest import NOW, Api
from tests.memories.batches.conftest import applied
from tests.memories.consolidation.compression.conftest import LATER, facts

pytestmark = pytest.mark.django_db


def merge(scope: Scope) -> tuple[list[Entry], Entry]:
    sources = facts(scope, "Mia lives in Berlin.") + facts(scope, "米娅住在柏林。")
    made = merging.create_step(merging.merge_draft(sources, "Mia lives in Berlin. 米娅住在柏林。"), sources)
    applied(scope, [made, *(merging.replace_step(MergeStep, source, 1) for source in sources)])
    return sources, Entry.objects.live().get()


def test_a_merge_names_its_sources_and_they_name_it(scope: Scope, api: Api) -> None:
    sources, one = merge(scope)
    answer = api.get(f"entries/{one.uid}").json()
    assert {(source["id"], source["kind"]) for source in answer["sources"]} == {
        (str(source.uid), "merged_from") for source in sources
    }
    assert answer["became"] == []
    (became,) = api.get(f"entries/{sources[1].uid}").json()["became"]
    assert (became["id"], became["content"]) == (str(one.uid), one.content)
    assert became["at"] == LATER.isoformat().replace("+00:00", "Z")


def test_a_fact_says_what_rests_on_it(scope: Scope, api: Api) -> None:
    (fact,) = facts(scope, "Mia lives in Berlin.")
    applied(
        scope,
        [merging.create_step(merging.line_draft([fact], "Mia lives in Berlin.", "identity"), [fact], naming=[fact])],
    )
    (became,) = api.get(f"entries/{fact.uid}").json()["became"]
    assert became["kind"] == "source_of"


def test_it_says_how_often_it_was_recalled(workspace: Workspace, scope: Scope, api: Api) -> None:
    (fact,) = facts(scope, "Mia lives in Berlin.")
    assert api.get(f"entries/{fact.uid}").json()["times_recalled"] == 0
    RecallTrace.objects.create(workspace=workspace, scopes=[], message="?", served=[fact.pk], created_at=NOW)
    access_counting.count_served(now=LATER)
    answer = api.get(f"entries/{fact.uid}").json()
    assert (answer["times_recalled"], answer["last_recalled_at"]) == (1, NOW.isoformat().replace("+00:00", "Z"))


def test_it_says_which_messages_it_rests_on_and_how_often_it_was_said_again(scope: Scope, api: Api) -> None:
    draft = Draft(
        scope=scope, type="fact", tier=2, content="米娅住在柏林。", source="extraction", at=NOW, origins=("m1",)
    )
    stored = entries.remember(draft, now=NOW, actor="test").entry
    entries.remember(replace(draft, origins=("m2",)), now=NOW, actor="test")
    answer = api.get(f"entries/{stored.uid}").json()
    assert (answer["origins"], answer["times_repeated"]) == (["m1", "m2"], 1)

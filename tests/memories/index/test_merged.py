"""What was merged is found by the words of all it was made of (D6)."""

from datetime import timedelta

import pytest

from memories import batches, entries
from memories.batches import PlanRow
from memories.batches.steps import CreateStep, MergeStep, Successor
from memories.entries.past import count_scope
from memories.index import search_rows, worker
from memories.models import Batch, EmbeddingModel, Entry, EntryIndex, Scope, ScopeTerm
from memories.recall import Query, SearchScope, recall
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_draft

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)
SOURCES = (
    "Mia repairs violins in a workshop.",
    "Mia fixes string instruments near the harbour.",
    "米娅在港口边修小提琴。",
)
ONE = "Mia is a luthier by the harbour."


def merge(scope: Scope, *sources: str, into: str = ONE, run: str = "merge:1", new: bool = True) -> Batch:
    """Facts that became one, in a batch."""
    if new:
        drafts = [make_draft(scope, source, type="fact", tier=2) for source in sources]
        entries.remember_many(drafts, now=NOW, actor="job:extract")
    worker.drain(now=NOW + timedelta(seconds=1))
    parts = [Entry.objects.live().get(content=source) for source in sources]
    step = CreateStep(draft=make_draft(scope, into, type="fact", tier=2, source="compression"))
    rows = [PlanRow(step=step), *(PlanRow.of(part, MergeStep(into=Successor(position=1))) for part in parts)]
    plan = batches.plan(scope, rows, name="compress", run=run, actor="job:compress", now=NOW)
    return batches.apply_batch(plan, now=NOW)


def found(scope: Scope, question: str) -> set[str]:
    scope.refresh_from_db()
    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))]
    query = Query(workspace_id=scope.workspace_id, places=places, message=question, limit=8, mode="hybrid")
    return {item.entry.content for item in recall(query, now=LATER).served}


def rows() -> dict[int, tuple[str, list[float] | None]]:
    worker.drain(now=LATER)
    return {row.entry_id: (row.keywords.to_text(), row.embedding) for row in EntryIndex.objects.all()}


QUESTIONS = ["Who repairs violins?", "Which string instruments?", "谁会修小提琴？"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_without_its_sources_it_is_not_found(scope: Scope, question: str) -> None:
    entries.remember(make_draft(scope, ONE, type="fact", tier=2), now=NOW, actor="job:extract")
    worker.drain(now=LATER)
    assert found(scope, question) == set()


@pytest.mark.thorough
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_only_one_source_answers_finds_the_merge(scope: Scope, question: str) -> None:
    merge(scope, *SOURCES)
    assert ONE in found(scope, question)
    worker.drain(now=LATER)
    assert ONE in found(scope, question)
    count_scope(scope)
    assert ONE in found(scope, question)


def test_a_merge_of_merges_is_found_by_the_words_of_the_first(scope: Scope) -> None:
    merge(scope, *SOURCES)
    entries.remember(make_draft(scope, "Mia builds cellos.", type="fact", tier=2), now=NOW, actor="job:extract")
    merge(scope, ONE, "Mia builds cellos.", into="Mia makes instruments.", run="merge:2", new=False)
    rows()
    assert found(scope, "谁会修小提琴？") == {"Mia makes instruments."}


def test_its_search_row_is_made_anew_as_it_was(scope: Scope) -> None:
    merge(scope, *SOURCES)
    before = rows()
    entry = Entry.objects.live().get()
    EntryIndex.objects.all().delete()
    search_rows.rebuild(scope.pk, model_id=EmbeddingModel.objects.get().pk)
    assert EntryIndex.objects.get(entry=entry).keywords.to_text() == before[entry.pk][0]
    assert EntryIndex.objects.get(entry=entry).embedding == before[entry.pk][1]


def test_undone_each_is_found_by_its_own_words_alone(scope: Scope) -> None:
    done = merge(scope, *SOURCES)
    rows()
    batches.apply_batch(batches.plan_undo(done, actor="user:ann", now=LATER), now=LATER)
    rows()
    assert found(scope, "Who repairs violins?") >= {SOURCES[0]}
    assert ONE not in found(scope, "Who repairs violins?")


def test_what_is_taken_back_or_removed_counts_for_it_no_more(scope: Scope) -> None:
    merge(scope, *SOURCES)
    with_all = rows()
    source = Entry.objects.get(content=SOURCES[0])
    entries.expire(source, now=LATER, actor="user:ann", suppress=False)
    entry = Entry.objects.live().get()
    assert rows()[entry.pk] != with_all[entry.pk]
    entries.restore(source, now=LATER, actor="user:ann")
    rows()
    assert found(scope, "Who repairs violins?") >= {SOURCES[0]}


def test_words_of_a_source_count_once_among_the_terms_of_its_scope(scope: Scope) -> None:
    merge(scope, *SOURCES)
    count_scope(scope)
    with_sources = dict(ScopeTerm.objects.filter(scope=scope).values_list("term", "entries"))
    assert set(with_sources.values()) == {1}
    results = {term for entry in Entry.objects.filter(scope=scope) for term in entry.terms}
    assert set(with_sources) == results

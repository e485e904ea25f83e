"""The owner changes the model: recall goes on by the old one, and is switched when the new one is complete (C14)."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from memories import embeddings, entries
from memories.embeddings.deterministic import Deterministic
from memories.index import model_change, search_rows, worker
from memories.lifecycle import maintenance
from memories.models import (
    EmbeddingModel,
    Entry,
    EntryIndex,
    EntryVector,
    IndexQueueItem,
    Scope,
    StagedVector,
    Workspace,
)
from tests.conftest import NOW, Api, make_draft, make_scope
from tests.memories.embeddings.test_faults import ask, contents, save, use

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]
WORDS = ("apple", "pear", "plum", "fig", "quince") * 9
LINES = [f"note {n}: {word} is kept in box {n}" for n, word in enumerate(WORDS)]


class Newer(Deterministic):
    """Another model, in as many dimensions: nothing but its name keeps its vectors apart from the others'."""

    name = model = "newer-64"
    down = False
    refused = "\n"

    def embed_passages(self, texts: list[str], *, seconds: float) -> list[list[float]]:
        if Newer.down or any(Newer.refused in text for text in texts):
            raise RuntimeError("no")
        return super().embed_passages(texts, seconds=seconds)

    def _embed(self, text: str) -> list[float]:
        return [-x for x in super()._embed(text)[::-1]]


class Wide(Deterministic):
    """The deterministic model in 1,536 dimensions."""

    name, dimension = "deterministic-wide", 1536


class Dead(Deterministic):
    """The old model, whose server is gone while it is still configured."""

    def embed_query(self, text: str, *, seconds: float) -> list[float]:
        raise RuntimeError("gone")


@pytest.fixture(autouse=True)
def newer_answers() -> None:
    Newer.down, Newer.refused = False, "\n"


@pytest.fixture
def saved_api(api: Api) -> Api:
    """A workspace that is embedded by the deterministic model."""
    for line in LINES:
        save(api, line)
    worker.drain(now=timezone.now())
    return api


def models_of_rows() -> set[str | None]:
    return set(EntryIndex.objects.values_list("model__name", flat=True).distinct())


def steps(most: int = 1_000) -> int:
    """So many steps of the change, or as many as there are; how many."""
    changer, done = model_change.ModelChanger(), 0
    while done < most and changer(now=timezone.now()) == 0:
        done += 1
    return done


def places_of(answer: dict[str, Any]) -> list[tuple[str, float]]:
    return [(memory["content"], memory["why"]["vector"]) for memory in answer["memories"]]


QUESTION = "which box has the quince, note 14?"


def test_recall_goes_on_by_the_old_model_and_is_switched_at_once(saved_api: Api, settings: Any) -> None:
    before = places_of(ask(saved_api, QUESTION, cache=False))
    use(settings, Newer, Deterministic)
    changer, answers = model_change.ModelChanger(), 0
    while models_of_rows() == {"deterministic-64"}:
        answer = ask(saved_api, QUESTION, cache=False)
        assert answer["degraded"] == [] and places_of(answer) == before
        answers += 1
        assert changer(now=timezone.now()) == 0
    assert answers > 3 and models_of_rows() == {"newer-64"}
    assert Workspace.objects.get().index_model == EmbeddingModel.objects.get(name="newer-64")
    answer = ask(saved_api, QUESTION, cache=False)
    assert answer["degraded"] == [] and answer["memories"][0]["why"]["vector"] > 0
    assert [content for content, _ in places_of(answer)] == [content for content, _ in before]


def test_the_switched_index_is_the_one_the_new_model_would_have_built(saved_api: Api, settings: Any) -> None:
    use(settings, Newer, Deterministic)
    steps()
    stored = {row.pk: row.embedding for row in EntryIndex.objects.all()}
    search_rows.rebuild(Scope.objects.get().pk, model_id=EmbeddingModel.objects.get(name="newer-64").pk)
    for row in EntryIndex.objects.all():
        assert row.embedding == pytest.approx(stored[row.pk], abs=1e-3)


def test_old_vectors_and_what_was_staged_are_removed_in_the_end(saved_api: Api, settings: Any) -> None:
    use(settings, Newer, Deterministic)
    assert steps() > 0 and steps() == 0
    assert set(EntryVector.objects.values_list("model__name", flat=True)) == {"newer-64"}
    assert not StagedVector.objects.exists() and not IndexQueueItem.objects.exists()
    assert maintenance.count_unindexed() == {"entries": 0}


def test_what_is_said_meanwhile_is_found_at_once_and_switched_with_the_rest(saved_api: Api, settings: Any) -> None:
    use(settings, Newer, Deterministic)
    for n in range(40):
        if not steps(1):
            break
        save(saved_api, f"meanwhile {n} the kettle whistles")
        worker.drain(now=timezone.now())
        answer = ask(saved_api, f"meanwhile {n} the kettle?", cache=False)
        assert answer["degraded"] == [] and answer["memories"][0]["why"]["vector"] is not None
    steps()
    worker.drain(now=timezone.now())
    assert models_of_rows() == {"newer-64"}


def test_what_is_reworded_meanwhile_is_not_found_by_its_older_wording(scope: Scope, settings: Any) -> None:
    words = "the office coffee machine needs fresh filters and clean water every single morning"

    def say(content: str, minute: int) -> Entry:
        draft = make_draft(
            scope, content, at=NOW + timedelta(minutes=minute), slots={"session_id": "s1", "chat_id": "c"}
        )
        return entries.remember(draft, now=NOW, actor="bot:test").entry

    first, _second = say(words, 1), say("and the kettle", 2)
    worker.drain(now=NOW)
    use(settings, Newer, Deterministic)
    while not StagedVector.objects.filter(entry=first).exists():
        steps(1)
    say(words + " please", 1)
    worker.drain(now=NOW + timedelta(seconds=1))
    assert not StagedVector.objects.exists()  # neither its own nor its neighbour's
    steps()
    stored = {row.pk: row.embedding for row in EntryIndex.objects.all()}
    search_rows.rebuild(scope.pk, model_id=EmbeddingModel.objects.get(name="newer-64").pk)
    for row in EntryIndex.objects.all():
        assert row.embedding == pytest.approx(stored[row.pk], abs=1e-3)


def test_without_the_old_model_words_find_what_is_not_embedded_anew_and_the_answer_says_so(
    saved_api: Api, settings: Any
) -> None:
    use(settings, Newer)
    answer = ask(saved_api, QUESTION, cache=False)
    assert answer["degraded"] == ["reembedding"] and contents(answer)[0] == LINES[14]
    assert {memory["why"]["vector"] for memory in answer["memories"]} == {None}
    steps(1)
    assert models_of_rows() == {"deterministic-64", "newer-64"}
    answer = ask(saved_api, QUESTION, cache=False)
    assert answer["degraded"] == ["reembedding"]
    assert any(memory["why"]["vector"] for memory in answer["memories"])
    steps()
    assert models_of_rows() == {"newer-64"}
    assert ask(saved_api, QUESTION, cache=False)["degraded"] == []


def test_vectors_of_two_models_are_never_compared(
    saved_api: Api, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the new model a text is the opposite of itself by the old one: a pair of them would show."""
    use(settings, Newer)
    steps(1)
    for _ in range(4):
        answer = ask(saved_api, QUESTION, cache=False)
        own = dict(EntryIndex.objects.values_list("entry__uid", "model__name"))
        for memory in answer["memories"]:
            compared = memory["why"]["vector"] is not None
            assert compared == ({str(uid): name for uid, name in own.items()}[memory["id"]] == "newer-64")
        steps(1)


def test_an_old_model_that_does_not_answer_leaves_words(saved_api: Api, settings: Any) -> None:
    use(settings, Newer, Dead)
    answer = ask(saved_api, QUESTION, cache=False)
    assert answer["degraded"] == ["embedding"] and contents(answer)[0] == LINES[14]


def test_a_new_model_that_does_not_answer_changes_nothing(saved_api: Api, settings: Any) -> None:
    use(settings, Newer, Deterministic)
    Newer.down = True
    assert steps() == 0 and models_of_rows() == {"deterministic-64"}
    assert ask(saved_api, QUESTION, cache=False)["degraded"] == []
    Newer.down = False
    embeddings.forget()
    steps()
    assert models_of_rows() == {"newer-64"}


def test_a_text_the_new_model_refuses_does_not_hold_up_the_others(saved_api: Api, settings: Any) -> None:
    settings.MEMORY_BREAKER_FAILURES = 1_000
    use(settings, Newer, Deterministic)
    Newer.refused = "quince"
    steps()
    assert Workspace.objects.get().index_model == EmbeddingModel.objects.get(name="newer-64")
    refused = sum("quince" in line for line in LINES)
    assert EntryIndex.objects.filter(model__name="newer-64").count() == len(LINES) - refused
    assert IndexQueueItem.objects.count() == EntryIndex.objects.filter(model=None).count() == refused


def test_another_dimension_of_a_model_is_changed_to_as_well(saved_api: Api, settings: Any) -> None:
    before = places_of(ask(saved_api, QUESTION, cache=False))
    use(settings, Wide, Deterministic)
    steps(2)
    assert places_of(ask(saved_api, QUESTION, cache=False)) == before
    steps()
    assert {len(row.embedding) for row in EntryIndex.objects.all()} == {1536}
    assert contents(ask(saved_api, QUESTION, cache=False))[0] == LINES[14]


def test_going_back_half_way_keeps_the_old_index(saved_api: Api, settings: Any) -> None:
    before = places_of(ask(saved_api, QUESTION, cache=False))
    use(settings, Newer, Deterministic)
    steps(4)
    assert EntryVector.objects.filter(model__name="newer-64").exists()
    use(settings, Deterministic)
    steps()
    assert places_of(ask(saved_api, QUESTION, cache=False)) == before
    assert set(EntryVector.objects.values_list("model__name", flat=True)) == {"deterministic-64"}
    assert not StagedVector.objects.exists()


def test_each_workspace_is_switched_by_itself(saved_api: Api, stranger: Workspace, settings: Any) -> None:
    scope = make_scope(stranger, "telegram:direct_u7")
    for line in LINES:
        entries.remember(make_draft(scope, line), now=NOW, actor="bot:test")
    worker.drain(now=timezone.now())
    use(settings, Newer, Deterministic)
    changer = model_change.ModelChanger()
    changer(now=timezone.now())
    while len(embeddings.model_changes()) == 2:
        changer(now=timezone.now())
    assert models_of_rows() == {"deterministic-64", "newer-64"}
    answer = ask(saved_api, QUESTION, cache=False)
    assert answer["degraded"] == [] and answer["memories"][0]["why"]["vector"] > 0


@pytest.mark.django_db(transaction=True)
def test_recall_never_sees_half_a_change(saved_api: Api, settings: Any) -> None:
    """Questions are asked all the while: each is answered from the one index or from the other, never without."""
    use(settings, Newer, Deterministic)
    done = threading.Event()

    def change() -> None:
        steps()
        done.set()
        connection.close()

    worker_thread = threading.Thread(target=change)
    worker_thread.start()
    answers = []
    while not done.is_set():
        answers.append(ask(saved_api, QUESTION, cache=False))
    worker_thread.join()
    assert len(answers) > 1
    for answer in answers:
        assert answer["degraded"] == [] and contents(answer)[0] == LINES[14]
    assert models_of_rows() == {"newer-64"}


@pytest.mark.django_db(transaction=True)
def test_two_embedders_at_once_change_it_once(saved_api: Api, settings: Any) -> None:
    use(settings, Newer, Deterministic)

    def change() -> None:
        for _ in range(60):
            steps()
        connection.close()

    threads = [threading.Thread(target=change) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert models_of_rows() == {"newer-64"} and not StagedVector.objects.exists()

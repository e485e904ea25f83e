"""A question of the review: what holds now beside what would hold, with the words both rest on (F4)."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memories import entries as store
from memories.batches import PlanRow
from memories.batches.steps import CreateStep, EditStep, ExpireStep, MergeStep, Successor
from memories.models import Batch, Entry
from tests.conftest import make_draft
from tests.memories.admin.conftest import House
from tests.memories.admin.review.conftest import REVIEW, answer, ask, expiring, fact, in_use, replacing

pytestmark = pytest.mark.django_db


def test_a_question_shows_both_statements_with_the_words_they_rest_on(alice: Client, tea: Batch) -> None:
    shown = alice.get(REVIEW).content.decode()
    for words in ("Question 1 of 1", "Now", "If approved", "a cup of tea is all I need", "no tea for me", "Mia, ",
                  "Verified", "job “", "1 memory goes out of use.",
                  "Something said at another time contradicts 1 memories"):  # fmt: skip
        assert words in shown
    (pair,) = alice.get(REVIEW).context["pairs"]
    text = ["".join(words for _sign, words in item.words) for item in (*pair.before, pair.after)]
    assert text == ["Mia likes tea.", "Mia does not like tea."]
    assert "第 1 个问题" in alice.get(REVIEW, headers={"Accept-Language": "zh-CN"}).content.decode()


def test_the_most_harmful_is_asked_first_and_the_others_can_be_leafed_through(
    alice: Client, tea: Batch, home: Batch
) -> None:
    first = alice.get(REVIEW)
    assert first.context["batch"] == home
    assert (first.context["previous"], first.context["next"]) == ("", f"{REVIEW}?at={tea.pk}")
    second = alice.get(first.context["next"])
    assert second.context["batch"] == tea and "Question 2 of 2" in second.content.decode()
    assert (second.context["previous"], second.context["next"]) == (f"{REVIEW}?at={home.pk}", "")


def test_what_people_cared_for_is_said_to_be_at_stake(alice: Client, mine: House) -> None:
    old = fact(mine.scope, "the port of staging is 8080", source="manual", importance=0.1, pinned=True)
    replacing(old, fact(mine.scope, "the port of staging is 9090"), "port")
    shown = alice.get(REVIEW).content.decode()
    assert "1 memory that a person pinned, checked, wrote or had saved is taken out of use or changed." in shown
    assert "Pinned" in shown and "<del>8080</del>" in shown and "<ins>9090</ins>" in shown


@pytest.mark.thorough
def test_a_merge_is_one_pair_of_all_its_sources(alice: Client, mine: House) -> None:
    sources = [fact(mine.scope, text, text) for text in ("Mia has a cat.", "Mia's cat is called 年糕.")]
    resting = fact(mine.scope, "Mia feeds a cat at six.", "the cat eats at six")
    made = make_draft(mine.scope, "Mia has a cat called 年糕.", type="fact", tier=2, source="compression")
    steps = [PlanRow(step=CreateStep(draft=made, sources=(resting.pk,)))]
    steps += [PlanRow(step=MergeStep(into=Successor(position=1)), entry_id=source.pk, version=1) for source in sources]
    batch = ask(mine.scope, steps, "cat")
    (pair,) = alice.get(REVIEW).context["pairs"]
    assert {item.entry for item in pair.before} == set(sources)
    assert [item.quotes[0].quote.quote for item in pair.before] == [
        item.content for item in (two.entry for two in pair.before)
    ]
    assert [item.entry for item in pair.after.rests_on] == [resting]
    assert "the cat eats at six" in alice.get(REVIEW).content.decode()
    assert alice.get(REVIEW).context["may_remove"] is False
    answer(alice, batch, "approve")
    assert "Mia has a cat called 年糕." in in_use(mine.scope) and not {source.content for source in sources} & in_use(
        mine.scope
    )


def test_other_words_and_other_attributes_are_told(alice: Client, mine: House) -> None:
    cat, dog = fact(mine.scope, "我家的猫叫年糕"), fact(mine.scope, "Mia has a dog.")
    steps = [
        PlanRow.of(cat, EditStep(columns={"content": "我家的猫叫米饭"})),
        PlanRow.of(dog, EditStep(columns={"topic": "dogs"})),
    ]
    ask(mine.scope, steps, "words")
    shown = alice.get(REVIEW).content.decode()
    assert "<del>年糕</del>" in shown and "<ins>米饭</ins>" in shown and "<ins>dogs</ins>" in shown
    assert "Nothing takes its place" not in shown


def test_what_was_changed_since_is_marked(alice: Client, mine: House, tea: Batch) -> None:
    old = Entry.objects.get(content="Mia likes tea.")
    store.update(old, store.Edit(columns={"topic": "drinks"}), now=timezone.now(), actor="user:bo")
    assert "Changed since this was proposed" in alice.get(REVIEW).content.decode()


@pytest.mark.thorough
def test_of_a_long_plan_the_page_shows_what_counts_most(alice: Client, mine: House) -> None:
    many = [fact(mine.scope, f"drawer {n} holds thing number {n}", importance=n / 100) for n in range(70)]
    batch = expiring(many, "many")
    shown = alice.get(REVIEW)
    assert [pair.before[0].entry for pair in shown.context["pairs"]] == many[:-21:-1]
    assert "50 more rows" in shown.content.decode() and f"/batch/{batch.pk}/" in shown.content.decode()


def test_where_nothing_waits_it_says_so(alice: Client, mine: House) -> None:
    assert "Nothing waits for you." in alice.get(REVIEW).content.decode()
    assert alice.get(REVIEW, {"at": "9" * 40}).status_code == 200


def test_home_and_the_side_bar_lead_to_it(alice: Client, tea: Batch) -> None:
    shown = alice.get(reverse("admin:index")).content.decode()
    assert "1 batch waits for you" in shown
    assert shown.count(f'href="{REVIEW}"') >= 2


@pytest.mark.thorough
def test_it_costs_the_same_for_more_questions_and_rows(alice: Client, mine: House) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert alice.get(REVIEW).status_code == 200
        return len(captured)

    def question(run: str, size: int) -> None:
        olds = [fact(mine.scope, f"{run} {n} is at place {n}", f"{run} {n}", importance=0.9) for n in range(size)]
        made = make_draft(mine.scope, f"all of {run}", type="fact", tier=2, source="compression")
        rows = [PlanRow(step=CreateStep(draft=made, sources=(olds[0].pk,)))]
        rows += [PlanRow(step=MergeStep(into=Successor(position=1)), entry_id=old.pk, version=1) for old in olds[1:]]
        rows += [PlanRow.of(olds[0], ExpireStep(suppress=False))]
        ask(mine.scope, rows, run)

    question("first", 3)
    queries()
    few = queries()
    for n in range(15):
        question(f"run{n}", 12)
    assert alice.get(REVIEW).context["count"] == 16
    assert queries() == few


def test_a_quote_of_a_redacted_message_is_not_shown(alice: Client, mine: House, tea: Batch) -> None:
    other = fact(mine.scope, "Mia owns a teapot.", "a pot")
    Entry.objects.filter(pk=other.pk).update(origins=["s/1/event-Mia likes tea."])
    store.expire(Entry.objects.get(pk=other.pk), now=timezone.now(), actor="user:alice")
    shown = alice.get(REVIEW).content.decode()
    assert "a cup of tea is all I need" not in shown and "no tea for me" in shown

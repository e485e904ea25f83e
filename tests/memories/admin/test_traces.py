"""A trace in the admin: every retriever and rank, the reasons in plain words, and the question asked again (F5)."""

import html
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone, translation

from memories import entries
from memories.admin.recall_traces import REASONS
from memories.models import Entry, RecallTrace
from memories.models.state import State
from tests.conftest import NOW, TELEGRAM, Api, make_draft, make_key
from tests.memories.admin.conftest import House

pytestmark = pytest.mark.django_db


def page(client: Client, trace: RecallTrace, **params: Any) -> Any:
    return client.get(reverse("admin:memories_recalltrace_change", args=[trace.pk]), params)


def test_every_candidate_stands_in_the_table_with_its_numbers(alice: Client, mine: House) -> None:
    shown = page(alice, mine.trace)
    assert [line.entry_id for line in shown.context["served_lines"]] == mine.trace.served
    assert all(line.line.keyword is not None for line in shown.context["lines"])
    assert reverse("admin:memories_entry_change", args=[mine.entry.pk]) in shown.content.decode()


def test_reasons_are_said_in_plain_words(alice: Client, mine: House) -> None:
    row = [mine.entry.pk, 0.5, None, 1, 1.0, 0.4, "quota"]
    RecallTrace.objects.filter(pk=mine.trace.pk).update(served=[], candidates=[row])
    words = page(alice, mine.trace).content.decode()
    assert "its kind had its places" in words and "said by the one who is asked about" in words


@pytest.mark.parametrize("state", [State.EXPIRED, State.ARCHIVED])
def test_that_a_memory_is_out_of_use_is_said_in_the_words_of_its_page(state: State) -> None:
    with translation.override("zh-hans"):
        assert str(REASONS[state]) == str(state.label)


def test_they_are_said_in_chinese_too(alice: Client, mine: House) -> None:
    RecallTrace.objects.filter(pk=mine.trace.pk).update(served=[], candidates=[[mine.entry.pk, 0, 0, 0, 1, 0, "floor"]])
    address = reverse("admin:memories_recalltrace_change", args=[mine.trace.pk])
    assert "离问题太远" in alice.get(address, headers={"Accept-Language": "zh-hans"}).content.decode()


def test_whose_words_were_served_stands_beside_them(alice: Client, mine: House) -> None:
    Entry.objects.filter(pk=mine.entry.pk).update(origin="self", trust="tool", speaker="Li Na")
    words = " ".join(page(alice, mine.trace).content.decode().split())
    assert "Comes from: The person, of themselves (Li Na) · lowest source: A tool or page" in words


def test_what_the_budget_had_no_room_for_is_marked(alice: Client, mine: House) -> None:
    kept: Any = mine.trace.candidates
    at = kept["columns"].index("in_context")
    for row in kept["rows"]:
        row[at] = 0
    RecallTrace.objects.filter(pk=mine.trace.pk).update(candidates=kept)
    assert "over the token budget" in page(alice, mine.trace).content.decode()


def test_asking_again_shows_what_came_and_leaves_no_trace(alice: Client, mine: House) -> None:
    before = RecallTrace.objects.count()
    words = "what do I drink with marmalade, what do I drink?"
    new = entries.remember(make_draft(mine.scope, words), now=NOW, actor="test").entry
    Entry.objects.filter(pk=new.pk).update(stated_at=mine.trace.created_at)
    shown = page(alice, mine.trace, again=1)
    assert {change.entry.pk for change in shown.context["again"] if change.before is None} == {new.pk}
    assert RecallTrace.objects.count() == before


def test_nothing_is_asked_again_unless_wanted(alice: Client, mine: House) -> None:
    assert "again" not in page(alice, mine.trace).context


def reword(entry: Entry, content: str) -> None:
    entry.refresh_from_db()
    wanted = entries.Edit(columns={"content": content}, slots={})
    entries.update(entry, wanted, now=timezone.now(), actor="user:alice", expected_version=None)


def test_an_edited_memory_stands_there_as_it_was_served(alice: Client, mine: House) -> None:
    (first, *_rest) = mine.trace.served
    entry = Entry.objects.get(pk=first)
    was, version = entry.content, entry.version
    assert "reworded since" not in page(alice, mine.trace).content.decode()
    reword(entry, "I like tea without anything")
    shown = page(alice, mine.trace)
    (line, *_rest) = shown.context["served_lines"]
    assert (line.then.words, line.then.version, line.then.is_reworded) == (was, version, True)
    words = shown.content.decode()
    assert "reworded since" in words and was in html.unescape(words)
    assert "".join(piece for sign, piece in line.wording if sign != "-") == "I like tea without anything"
    assert f"{reverse('admin:memories_entry_history', args=[first])}#v{version}" in words
    assert f'id="v{version}"' in alice.get(reverse("admin:memories_entry_history", args=[first])).content.decode()


def test_what_became_of_a_memory_since_is_told(alice: Client, mine: House) -> None:
    Entry.objects.filter(pk__in=mine.trace.served).update(archived_at=timezone.now())
    assert "archived since" in page(alice, mine.trace).content.decode()


def test_words_that_were_removed_for_good_are_told_to_be_gone(alice: Client, mine: House) -> None:
    RecallTrace.objects.filter(pk=mine.trace.pk).update(
        served=[999_999], message="", terms=[], query={}, evidence={"verdict": "found"}, candidates=None
    )
    words = page(alice, mine.trace, again=1).content.decode()
    assert "its words are gone" in words and "The words of this recall were removed" in words
    assert "Ask again" not in words


def test_the_conversation_shows_what_was_served_then(alice: Client, mine: House) -> None:
    (first, *_rest) = mine.trace.served
    entry = Entry.objects.get(pk=first)
    was = entry.content
    data = {"user": mine.trace.message, "assistant": "Tea.", "recall_id": str(mine.trace.uid)}
    address = {**TELEGRAM, "account": mine.word, "peer": f"peer-{mine.word}", "chat": f"chat-{mine.word}"}
    result = Api(make_key(mine.workspace)).post("turns", {"address": address, **data})
    assert result.status_code == 201
    reword(entry, "I like tea without anything")
    shown = alice.get(reverse("admin:sessions_app_session_change", args=[mine.session.pk])).content.decode()
    assert "reworded since" in shown and was.splitlines()[0] in shown
    assert "Why did it say that?" in shown


def test_a_page_takes_as_many_statements_when_everything_was_reworded(
    alice: Client, mine: House, django_assert_num_queries: Any
) -> None:
    page(alice, mine.trace)
    with CaptureQueriesContext(connection) as before:
        page(alice, mine.trace)
    for number, entry in enumerate(Entry.objects.filter(pk__in=mine.trace.served)):
        reword(entry, f"I like tea {number} times a day")
    with django_assert_num_queries(len(before)):
        page(alice, mine.trace)


def test_nobody_else_sees_or_asks_it(charlie: Client, mine: House) -> None:
    assert page(charlie, mine.trace, again=1).status_code != 200


def test_a_page_takes_as_many_statements_for_many_candidates_as_for_one(
    alice: Client, mine: House, django_assert_max_num_queries: Any
) -> None:
    page(alice, mine.trace)
    with django_assert_max_num_queries(24):
        page(alice, mine.trace)


def test_what_was_asked_for_and_the_signs_are_told_in_words_and_not_as_data(alice: Client, mine: House) -> None:
    body = alice.get(reverse("admin:memories_recalltrace_change", args=[mine.trace.pk])).content.decode()
    assert "At most: 8 · Manner: words and meaning" in body and "asks a question" in body
    assert "Memories searched: " in body
    assert "&quot;limit&quot;" not in body and "{&#x27;" not in body


def test_no_page_of_the_admin_shows_the_codes_of_behaviours(alice: Client, mine: House) -> None:
    for page, pk in (("memories_entry", mine.entry.pk), ("sessions_app_session", mine.session.pk)):
        body = alice.get(reverse(f"admin:{page}_change", args=[pk])).content.decode()
        assert not re.search(r"\([A-F]\d{1,2}\)", body)


def test_both_orders_are_shown_where_there_was_a_reranker(alice: Client, mine: House) -> None:
    assert "reranker" not in page(alice, mine.trace).content.decode()
    kept: Any = mine.trace.candidates
    at = kept["columns"].index("rerank")
    kept["rows"][0][at] = [7, 1, 0.9312]
    RecallTrace.objects.filter(pk=mine.trace.pk).update(candidates=kept, degraded=["rerank"])
    words = page(alice, mine.trace).content.decode()
    assert "7. → 1." in words and "0.93" in words and "reranker" in words
    address = reverse("admin:memories_recalltrace_change", args=[mine.trace.pk])
    assert "重排模型" in alice.get(address, headers={"Accept-Language": "zh-hans"}).content.decode()
    assert "not reranked" in alice.get(reverse("admin:memories_recalltrace_changelist")).content.decode()


def test_what_was_added_to_a_question_is_told(alice: Client, mine: House) -> None:
    asked = mine.trace.query | {"resolved": {"she": ["Lena"]}, "relations": ["my sister"]}
    RecallTrace.objects.filter(pk=mine.trace.pk).update(query=asked)
    words = page(alice, mine.trace).content.decode()
    assert "Meant by the messages before: she = Lena" in words and "Known of people: my sister" in words
    address = reverse("admin:memories_recalltrace_change", args=[mine.trace.pk])
    assert "由前文所指" in alice.get(address, headers={"Accept-Language": "zh-hans"}).content.decode()


def test_the_page_says_from_which_relevance_on_and_by_whose_word(alice: Client, mine: House) -> None:
    asked = {
        **mine.trace.query,
        "serve": "likely",
        "serve_source": "channel",
        "scope_lines": {str(mine.scope.pk): 0.35},
    }
    kept: Any = {**mine.trace.candidates, "weights": {**mine.trace.candidates["weights"], "relevance_line": 0.2}}
    RecallTrace.objects.filter(pk=mine.trace.pk).update(query=asked, candidates=kept)
    words = page(alice, mine.trace).content.decode()
    assert "what is likely to help (as the channel says)" in words and "relevance from 0.20 on" in words
    assert f"in {mine.scope} from 0.35 on" in words

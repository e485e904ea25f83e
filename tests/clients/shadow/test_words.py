"""How calls, filters and texts are read: without a platform."""

from typing import Any

import pytest
from memplatform_shadow import Added, Answered, Asked, Changed, DeletedAll, Fact, Hit, Mem0
from memplatform_shadow.compare import pairs_of
from memplatform_shadow.door import NotComparable, translated
from memplatform_shadow.likeness import alike, same
from memplatform_shadow.noting import work_of

MESSAGE = {"role": "user", "content": "I moved"}
PENDING = {"message": "queued", "status": "PENDING", "event_id": "e1"}


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        ({"results": [{"id": "1", "memory": "Moved", "event": "ADD"}]}, [Fact("1", "Moved")]),
        ({"results": [{"id": "1", "memory": "Moved", "event": "update"}]}, [Fact("1", "Moved", "UPDATE")]),
        ([{"id": 1, "data": {"memory": "Moved"}, "event": "ADD"}], [Fact("1", "Moved")]),
        ({"results": []}, []),
        (PENDING, None),
        ([PENDING], None),
    ],
)
def test_an_added_memory_is_what_the_answer_tells_of_it(answer: Any, facts: Any) -> None:
    data = {"messages": "I moved", "user_id": 42, "prompt": "x", "version": "v2", "metadata": {"a": 1}}
    event = Mem0().add(Answered(data, answer))
    assert isinstance(event, Added)
    assert (event.facts, event.whose, event.messages) == (facts, {"user_id": "42"}, [MESSAGE])
    assert (event.left_out, event.metadata, event.infer) == (["prompt"], {"a": 1}, True)


def test_messages_are_mirrored_where_the_store_does_not_say_what_it_keeps() -> None:
    (work,) = work_of(Added({"user_id": "ann"}, None, [MESSAGE], infer=True), "facts", 5.0)
    assert work["untold"] and work["body"] == {
        "user_id": "ann", "messages": [MESSAGE], "infer": True, "timestamp": 5.0
    }  # fmt: skip
    many = Added({"user_id": "ann"}, [Fact("1", "a")], [MESSAGE] * 150)
    assert [len(work["body"]["messages"]) for work in work_of(many, "messages", 5.0)] == [100, 50]
    events = [Fact("1", "a", event) for event in ("ADD", "UPDATE", "DELETE", "NONE")]
    kinds = [work["op"] for work in work_of(Added({"user_id": "ann"}, events), "facts", 5.0)]
    assert kinds == ["add", "change", "delete", "nothing"]


def test_calls_are_read_in_the_words_of_every_version() -> None:
    mem0 = Mem0()
    old = mem0.search(Answered({"query": "tea", "user_id": "ann", "limit": 3}, [{"id": "1", "memory": "Tea"}]))
    assert old == Asked("tea", {"user_id": "ann"}, [Hit("1", "Tea")], 3)
    new = mem0.search(Answered({"query": "tea", "filters": {"run_id": "r"}}, {"results": []}, {"top_k": 20}))
    assert new == Asked("tea", {"run_id": "r"}, [], 20)
    ended = {"memory_id": "1", "data": "Tea", "expiration_date": None}
    assert mem0.update(Answered(ended, {})) == Changed("1", {"text": "Tea", "expiration_date": None})
    nested = {"AND": [{"user_id": "ann"}]}
    assert mem0.delete_all(Answered({"filters": nested}, {})) == DeletedAll(nested)  # never everything
    assert mem0.delete_users(Answered({"user_id": "ann"}, {})) == DeletedAll({"user_id": "ann"})
    assert mem0.reset(Answered({}, None)) == DeletedAll({}, everything=True)


def test_a_filter_of_the_library_is_one_of_its_client() -> None:
    data = {"user_id": 42, "colour": "red", "OR": [{"size": {"gt": 3}}, {"created_at": {"gte": "2026-01-01"}}]}
    assert translated(data) == {
        "user_id": "42",
        "metadata": {"colour": "red"},
        "OR": [{"metadata": {"size": {"gt": 3}}}, {"created_at": {"gte": "2026-01-01"}}],
    }
    with pytest.raises(NotComparable, match="filter:role"):
        translated({"AND": [{"role": "user"}]})


@pytest.mark.parametrize(
    ("text", "other", "is_same", "is_alike"),
    [
        ("I like tea.", "user: I like  TEA", True, True),
        ("王芳住在上海浦东", "王芳住在上海浦东。", True, True),
        ("王芳现在住在上海浦东", "王芳住在上海浦东", False, True),
        ("Ann moved to Hangzhou in May", "Ann moved to Hangzhou in late May", False, True),
        ("The server listens on port 8080", "The server listens on port 9090", False, False),
        ("Ann eats fish and meat on Fridays", "Ann eats not fish and meat on Fridays", False, False),
        ("王芳喜欢吃芒果", "王芳不喜欢吃芒果", False, False),
        ("Ann likes tea", "Lena paints boats", False, False),
    ],
)
def test_texts_are_one_by_their_words(text: str, other: str, is_same: bool, is_alike: bool) -> None:
    assert (same(text, other), alike(text, other)) == (is_same, is_alike) == (same(other, text), alike(other, text))


def test_a_memory_is_found_by_what_was_mirrored_before_it_is_by_its_words() -> None:
    there = [Hit("t1", "Ann likes tea"), Hit("t2", "Lena paints"), Hit("t3", "Nobody")]
    here = [Hit("h1", "Ann likes tea"), Hit("h2", "Other words"), Hit("h3", "Drawn from both")]
    stands = {"t1": ["h2"], "t2": ["h9"]}
    pairs = pairs_of(
        there,
        here,
        stands_as=lambda uid: stands.get(uid, []),
        made_of=lambda uid: ["h9"] if uid == "h3" else [],
    )
    assert [(pair.there, pair.here, pair.how) for pair in pairs] == [(0, 1, "mirrored"), (1, 2, "rests")]

"""The history of an entry: who changed what, when, down to the words, in both languages."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories import entries
from memories.entries import history
from memories.models import Change, Entry, Scope, Workspace
from memories.models.change import acting
from tests.conftest import NOW, Api, make_draft, make_key
from tests.memories.api.conftest import send

database = pytest.mark.django_db


@pytest.fixture
def entry(scope: Scope) -> Entry:
    draft = make_draft(scope, "My cat is called Rice", slots={"service": "home"})
    return entries.remember(draft, now=NOW, actor="job:capture").entry


def steps(api: Api, entry: Entry, **query: Any) -> list[dict[str, Any]]:
    answer = api.get(f"entries/{entry.uid}/history", **query)
    assert answer.status_code == 200, answer.json()
    return answer.json()["results"]


@database
def test_a_new_entry_tells_how_it_began(api: Api, entry: Entry) -> None:
    [step] = steps(api, entry)
    assert (step["version"], step["by"], step["operation"]) == (1, "job:capture", "created")
    values = {change["column"]: (change["old"], change["new"]) for change in step["changes"]}
    assert values["content"] == (None, "My cat is called Rice")
    assert values["created_at"] == (None, "2026-03-01T09:00:00Z")
    assert not {"terms", "fingerprint", "length", "version", "id", "workspace"} & set(values)
    assert step["slots"] == [{"name": "service", "old": None, "new": "home"}]


@database
def test_a_change_shows_both_values_and_the_words_between(api: Api, entry: Entry) -> None:
    send(api, "PATCH", f"entries/{entry.uid}", {"content": "My cat is called Tofu", "importance": 0.9})
    step = steps(api, entry)[0]
    assert (step["version"], step["by"], step["operation"]) == (2, "bot:bot", "changed")
    changes = {change["column"]: change for change in step["changes"]}
    assert changes["content"] == {
        "column": "content",
        "old": "My cat is called Rice",
        "new": "My cat is called Tofu",
        "diff": [["=", "My cat is called "], ["-", "Rice"], ["+", "Tofu"]],
    }
    assert (changes["importance"]["old"], changes["importance"]["new"]) == (0.5, 0.9)
    assert "diff" not in changes["importance"]


@database
def test_chinese_is_compared_word_by_word(api: Api, scope: Scope) -> None:
    entry = entries.remember(make_draft(scope, "我昨天在北京买了一台电脑"), now=NOW, actor="test").entry
    send(api, "PATCH", f"entries/{entry.uid}", {"content": "我昨天在上海买了一台电脑"})
    [content] = [c for c in steps(api, entry)[0]["changes"] if c["column"] == "content"]
    assert content["diff"] == [["=", "我昨天在"], ["-", "北京"], ["+", "上海"], ["=", "买了一台电脑"]]


@database
def test_slots_are_part_of_the_history(api: Api, entry: Entry) -> None:
    send(api, "PATCH", f"entries/{entry.uid}", {"slots": {"service": "office", "env": "prod"}})
    send(api, "PATCH", f"entries/{entry.uid}", {"slots": {"service": None}})
    third, second, _first = steps(api, entry)
    assert (third["version"], third["slots"]) == (3, [{"name": "service", "old": "office", "new": None}])
    assert {slot["name"]: (slot["old"], slot["new"]) for slot in second["slots"]} == {
        "service": ("home", "office"),
        "env": (None, "prod"),
    }
    assert second["changes"] == []


@database
def test_taking_out_and_bringing_back_are_told(api: Api, entry: Entry) -> None:
    send(api, "DELETE", f"entries/{entry.uid}")
    api.post(f"entries/{entry.uid}/restore", {"term_days": 30})
    back, out, _first = steps(api, entry)
    assert [(c["column"], c["old"]) for c in out["changes"]] == [("expired_at", None)]
    assert {c["column"] for c in back["changes"]} == {"expired_at", "expires_at"}


@database
def test_raw_changes_of_a_slot_stand_between_as_steps_of_their_own(api: Api, entry: Entry) -> None:
    Change.objects.update(at=NOW)
    with acting("operator:alice"):
        entry.slots.update(value="garden")
    step = steps(api, entry)[0]
    assert (step["by"], step["version"], step["operation"]) == ("operator:alice", 1, "changed")
    assert step["slots"] == [{"name": "service", "old": "home", "new": "garden"}]


@database
def test_a_long_history_comes_in_pages(api: Api, entry: Entry) -> None:
    for n in range(5):
        send(api, "PATCH", f"entries/{entry.uid}", {"topic": f"cats {n}"})
    first = api.get(f"entries/{entry.uid}/history", limit=4).json()
    assert [step["version"] for step in first["results"]] == [6, 5, 4, 3]
    send(api, "PATCH", f"entries/{entry.uid}", {"topic": "meanwhile"})
    second = api.get(f"entries/{entry.uid}/history", limit=4, cursor=first["cursor"]).json()
    assert [step["version"] for step in second["results"]] == [2, 1]
    assert (second["next"], second["cursor"]) == (None, None)
    assert f"cursor={first['cursor']}" in first["next"]


@database
def test_the_history_of_a_stranger_does_not_exist(stranger: Workspace, entry: Entry) -> None:
    assert Api(make_key(stranger)).get(f"entries/{entry.uid}/history").status_code == 404


@database
def test_a_history_costs_the_same_however_long_it_is(api: Api, entry: Entry, django_assert_num_queries: Any) -> None:
    send(api, "PATCH", f"entries/{entry.uid}", {"topic": "cats", "slots": {"service": None}})
    # key with wall and count, entry with scope, its row, its changes, its slots and theirs (4), the wall closes
    with django_assert_num_queries(9):
        steps(api, entry)
    for n in range(3):
        send(api, "PATCH", f"entries/{entry.uid}", {"topic": f"cats {n}", "slots": {"env": str(n)}})
    with django_assert_num_queries(9):
        steps(api, entry)


@database
def test_what_happened_within_seconds_by_one_hand_is_one_step(entry: Entry) -> None:
    assert len(history.history_of(entry)) == 1
    slot_changes = Change.objects.filter(table_name="memories_slot")
    slot_changes.update(at=slot_changes.get().at + timedelta(minutes=1))
    assert len(history.history_of(entry)) == 2


words = st.lists(
    st.sampled_from(
        [
            "cat",
            "Rice",
            " ",
            "  ",
            "\n",
            "我的猫",
            "年糕",
            "8080",
            "2026-11-24",
            "4 May",
            "三月五日",
            "，",
            ".",
            "🐈",
            "é",
            "_",
        ]
    ),
    max_size=30,
).map("".join)


@given(words, words)
def test_a_diff_loses_no_character_of_either_text(old: str, new: str) -> None:
    runs = history.word_diff(old, new)
    assert "".join(text for sign, text in runs if sign in "=-") == old
    assert "".join(text for sign, text in runs if sign in "=+") == new
    assert all(text for _sign, text in runs)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("2026-11-24", "2026-12-03"),
        ("24 November 2026", "3 December 2026"),
        ("May 4, 2026", "May 5, 2026"),
        ("3rd of June", "4th of June"),
        ("2026年11月24日", "2026年12月3日"),
        ("八月三日", "八月十二日"),
        ("14:30", "15:45"),
        ("24.11.2026", "25.11.2026"),
    ],
)
@pytest.mark.parametrize("text", ["The trip with Mia is on {} in the hall.", "我们和米娅{}在礼堂见面。"])
def test_a_date_that_changed_is_one_word(text: str, before: str, after: str) -> None:
    head, tail = text.split("{}")
    runs = history.word_diff(text.format(before), text.format(after))
    assert runs == [("=", head), ("-", before), ("+", after), ("=", tail)]

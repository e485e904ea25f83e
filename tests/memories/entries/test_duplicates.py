"""Saying it again: repeats are counted, rewordings merged, and what differs in substance is kept apart (A10)."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from memories.choices import EntryType, LinkKind, Outcome
from memories.entries import WriteResult, duplicates, remember, remember_many
from memories.language import text
from memories.models import Change, Entry, Link, Policy, Scope, Slot, Workspace
from tests.conftest import NOW, make_draft, make_scope
from tests.memories.language.merging_pairs import pairs

pytestmark = pytest.mark.django_db
WORDS = "the office coffee machine needs fresh filters and clean water every single morning"


def put(scope: Scope, content: str, **kwargs: Any) -> WriteResult:
    return remember(make_draft(scope, content, **kwargs), now=NOW, actor="bot:test")


def turn(scope: Scope, content: str, **kwargs: Any) -> WriteResult:
    slots = {"sender_id": "u42", "chat_id": "c7"} | kwargs.pop("slots", {})
    return put(scope, content, type=EntryType.CHAT_TURN, slots=slots, **kwargs)


def test_a_repeat_is_counted_and_keeps_the_memory_alive(scope: Scope) -> None:
    first = put(scope, WORDS)
    again = put(scope, WORDS.upper() + "!", at=NOW + timedelta(days=3))
    assert (first.outcome, again.outcome) == (Outcome.CREATED, Outcome.SKIPPED)
    entry = Entry.objects.get()
    assert entry.content == WORDS
    assert entry.created_at == NOW and entry.stated_at == NOW + timedelta(days=3)
    assert entry.access.repeat_count == 1 and entry.access.last_seen == NOW + timedelta(days=3)


def test_a_repeat_of_older_days_does_not_make_the_memory_older(scope: Scope) -> None:
    put(scope, WORDS)
    put(scope, WORDS, at=NOW - timedelta(days=3))
    assert Entry.objects.get().stated_at == NOW


def test_the_newer_wording_becomes_the_content_and_the_older_stays_in_history(scope: Scope) -> None:
    put(scope, WORDS)
    merged = put(scope, WORDS + " please")
    assert merged.outcome is Outcome.MERGED
    entry = Entry.objects.get()
    assert entry.content == WORDS + " please"
    assert Change.objects.get(row_id=entry.pk, table_name="memories_entry", op="U").old["content"] == WORDS


def test_a_wording_that_says_less_does_not_replace_one_that_says_more(scope: Scope) -> None:
    put(scope, WORDS + " please")
    assert put(scope, WORDS).outcome is Outcome.MERGED
    assert Entry.objects.get().content == WORDS + " please"


@pytest.mark.parametrize(
    ("words", "text", "other"),
    [
        ("the staging server of the web shop listens on port {}", "8080", "9090"),
        ("our team meeting with the design people is every {}", "monday", "friday"),
        ("the deployment of the billing service was {} today", "approved", "not approved"),
        ("please send the signed contract back to {} by evening", "Anna", "Peter"),
        ("我们团队每周的例会时间固定在星期{}上午九点", "一", "五"),
        ("我们公司内部这个项目的主数据库在同事们的帮助下{}完成升级了", "已经", "没有"),
    ],
)
def test_what_differs_in_substance_is_kept_and_linked(scope: Scope, words: str, text: str, other: str) -> None:
    first, second = put(scope, words.format(text)), put(scope, words.format(other))
    assert second.outcome is Outcome.CREATED
    assert second.linked == (first.entry.pk,)
    link = Link.objects.get()
    assert (link.from_entry, link.to_entry, link.kind) == (second.entry, first.entry, LinkKind.ALIKE)


def test_turns_within_an_hour_are_merged_sooner_than_others(scope: Scope) -> None:
    text = "User: is the coffee machine of the office working again\nAssistant: yes it seems so"
    other = (
        "User: is the coffee machine of the office working again now quite really\nAssistant: yes it seems so indeed"
    )
    turn(scope, text)
    assert turn(scope, other, at=NOW + timedelta(minutes=59)).outcome is Outcome.MERGED
    elsewhere = {"chat_id": "c8"}
    turn(scope, text, slots=elsewhere)
    assert turn(scope, other, slots=elsewhere, at=NOW + timedelta(minutes=61)).outcome is Outcome.CREATED


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "threshold"), [(EntryType.USER_EXPLICIT, 0.80), (EntryType.CHAT_TURN, 0.70)])
def test_what_is_said_in_other_words_is_merged_at_the_door(scope: Scope, kind: EntryType, threshold: float) -> None:
    """All pairs in one memory: each finds its twin among the others. Turns are half an hour apart."""
    reworded = [*pairs("harmless"), *pairs("harmless_unseen")]
    chosen = [pair for pair in reworded if text.jaccard(*map(text.shingles, pair)) >= threshold]
    chosen += [*pairs("repeated"), *pairs("repeated_more")]
    for n, at in enumerate((NOW, NOW + timedelta(minutes=30))):
        drafts = [make_draft(scope, pair[n], type=kind, at=at, slots={"sender_id": "u42"}) for pair in chosen]
        answers = remember_many(drafts, now=at, actor="bot:test")
    merged = sum(answer.outcome is Outcome.MERGED for answer in answers)
    assert merged >= 0.85 * len(chosen) and Entry.objects.count() == 2 * len(chosen) - merged


@pytest.mark.thorough
def test_a_changed_fact_is_kept_at_the_door_beside_the_old_one(scope: Scope) -> None:
    for name in ("changed", "changed_unseen"):
        for n in (0, 1):
            drafts = [
                make_draft(scope, pair[n], type=EntryType.CHAT_TURN, slots={"sender_id": "u42"}) for pair in pairs(name)
            ]
            answers = remember_many(drafts, now=NOW, actor="bot:test")
            assert {answer.outcome for answer in answers} == {Outcome.CREATED}


@pytest.mark.parametrize("elsewhere", [{"chat_id": "c8"}, {"sender_id": "u43"}, {"speaker": "Mei"}])
def test_the_same_words_in_another_place_are_another_memory(scope: Scope, elsewhere: dict[str, str]) -> None:
    turn(scope, WORDS)
    assert turn(scope, WORDS, slots=elsewhere).outcome is Outcome.CREATED


def test_the_same_words_of_another_kind_are_another_memory(scope: Scope, workspace: Workspace) -> None:
    put(scope, WORDS)
    assert put(scope, WORDS, type=EntryType.AUTO_CAPTURE).outcome is Outcome.CREATED
    assert put(make_scope(workspace, "main"), WORDS).outcome is Outcome.CREATED


def test_facts_are_merged_within_their_project_and_topic(scope: Scope) -> None:
    fact = {"type": EntryType.FACT, "tier": 2}
    put(scope, WORDS, project="shop", topic="office", **fact)
    assert put(scope, WORDS, project="blog", topic="office", **fact).outcome is Outcome.CREATED
    assert put(scope, WORDS, project="shop", topic="kitchen", **fact).outcome is Outcome.CREATED
    assert put(scope, WORDS, project="shop", topic="office", **fact).outcome is Outcome.SKIPPED


def test_lines_of_files_are_never_merged(scope: Scope) -> None:
    for _time in range(2):
        assert put(scope, WORDS, type=EntryType.NOTE, source="file").outcome is Outcome.CREATED


def test_a_pinned_memory_is_counted_but_never_reworded(scope: Scope) -> None:
    pinned = put(scope, WORDS, pinned=True)
    reworded = put(scope, WORDS + " please")
    assert reworded.outcome is Outcome.CREATED and reworded.linked == (pinned.entry.pk,)
    assert put(scope, WORDS).outcome is Outcome.SKIPPED
    assert Entry.objects.get(pk=pinned.entry.pk).content == WORDS


@pytest.mark.parametrize("mark", ["archived_at", "expired_at"])
def test_what_a_machine_took_out_of_use_is_no_twin(scope: Scope, mark: str) -> None:
    put(scope, WORDS)
    Entry.objects.update(**{mark: NOW})
    assert put(scope, WORDS).outcome is Outcome.CREATED


def test_a_memory_whose_time_is_up_is_no_twin(scope: Scope, workspace: Workspace) -> None:
    turn(scope, WORDS, at=NOW - timedelta(days=31))
    assert turn(scope, WORDS).outcome is Outcome.CREATED
    Policy.objects.create(workspace=workspace, kind="ttl", entry_type="user_explicit", scope_kind="user", value=1)
    put(scope, WORDS, at=NOW - timedelta(days=2))
    assert put(scope, WORDS).outcome is Outcome.CREATED


def test_what_both_said_is_kept_together(scope: Scope) -> None:
    put(scope, WORDS, importance=0.3, origins=("event-1",), chats=("a",), slots={"env": "test", "team": "x"})
    put(scope, WORDS + " please", importance=0.9, origins=("event-2",), chats=("b",), slots={"env": "prod"})
    entry = Entry.objects.get()
    assert entry.importance == 0.9
    assert entry.origins == ["event-1", "event-2"] and sorted(entry.chats) == ["a", "b"]
    assert {slot.name: slot.value for slot in Slot.objects.all()} == {"env": "prod", "team": "x"}


@pytest.mark.parametrize(
    ("again", "rises"), [({"env": "prod"}, 1), ({"env": "test"}, 0), ({"区域": "上海"}, 1), ({}, 0)]
)
def test_a_repeat_that_brings_other_slots_raises_the_version(scope: Scope, again: dict[str, str], rises: int) -> None:
    first = put(scope, WORDS, slots={"env": "test"}).entry
    entry = put(scope, WORDS, slots=again).entry
    assert entry.pk == first.pk and entry.version == first.version + rises
    assert Entry.objects.get().version == entry.version


def test_an_unknown_chat_makes_the_union_unknown(scope: Scope) -> None:
    """A row that came from nobody knows where is not served in a group, whatever it is merged with (A3)."""
    put(scope, WORDS, chats=("a",))
    put(scope, WORDS)
    assert Entry.objects.get().chats == []


def test_drafts_of_one_call_are_merged_among_each_other(scope: Scope) -> None:
    texts = [WORDS, WORDS, WORDS + " please", "port 8080 is the one of the shop", "port 9090 is the one of the shop"]
    results = remember_many([make_draft(scope, text) for text in texts], now=NOW, actor="bot:test")
    assert [result.outcome for result in results] == ["created", "skipped", "merged", "created", "created"]
    assert len({result.entry.pk for result in results[:3]}) == 1
    assert results[4].linked == (results[3].entry.pk,)
    assert Entry.objects.get(pk=results[0].entry.pk).content == WORDS + " please"
    assert Change.objects.filter(op="U", table_name="memories_entry", old__content=WORDS).exists()


def test_twins_of_long_texts_are_read_for_a_few_at_a_time(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [WORDS, "port 8080 is the one of the shop", "我的猫叫年糕，三岁了"]
    stored = [put(scope, content).entry.pk for content in texts]
    read: list[int] = []
    rows = duplicates.postgresql.rows

    def counted(statement: str, values: Any) -> list[Any]:
        read.extend([len(json.loads(values["wanted"]))] if statement == duplicates._CANDIDATES else [])
        return rows(statement, values)

    monkeypatch.setattr(duplicates.postgresql, "rows", counted)
    monkeypatch.setattr(duplicates, "CHARS_AT_ONCE", len(WORDS) + 1)
    drafts = [make_draft(scope, content) for content in (texts[0], texts[1], texts[2], "Mia likes tea")]
    results = remember_many(drafts, now=NOW, actor="bot:test")
    assert ([result.entry.pk for result in results[:3]], read) == (stored, [1, 3])
    assert [result.outcome for result in results] == ["skipped"] * 3 + ["created"]


def test_order_within_one_call_is_the_order_of_the_answers(scope: Scope) -> None:
    texts = [f"thing number {n} {'x' * n}" for n in range(50)]
    results = remember_many([make_draft(scope, text) for text in texts], now=NOW, actor="bot:test")
    assert [result.entry.content for result in results] == texts
    ids = [result.entry.pk for result in results]
    assert ids == sorted(ids)


@pytest.mark.thorough
def test_a_twin_is_found_among_hundreds(scope: Scope) -> None:
    common = "the weekly report of the team about the project was sent to the customer"
    remember_many(
        [make_draft(scope, f"{common} number {n} {'q' * (n % 90)}{n}") for n in range(150)], now=NOW, actor="t"
    )
    twin = put(scope, WORDS)
    remember_many([make_draft(scope, f"{WORDS[:40]} number {n}") for n in range(60)], now=NOW, actor="t")
    assert put(scope, WORDS).entry.pk == twin.entry.pk
    assert put(scope, WORDS + " please").entry.pk == twin.entry.pk


@pytest.mark.thorough
def test_the_counts_of_words_are_those_of_the_entries(scope: Scope, workspace: Workspace) -> None:
    other = make_scope(workspace, "main")
    for n in range(12):
        put(scope, f"{WORDS} {'very ' * (n % 4)}much")
        put(other, "我的猫叫年糕，三岁了" if n % 2 else f"我的猫叫年糕，{n}岁了")
    put(scope, WORDS + " as they say")
    with connection.cursor() as cursor:
        cursor.execute("SELECT scope_id, term, entries FROM memories_scopeterm WHERE entries <> 0 ORDER BY 1, 2")
        result = cursor.fetchall()
        cursor.execute(
            "SELECT scope_id, term, count(*) FROM memories_entry, unnest(terms) term GROUP BY 1, 2 ORDER BY 1, 2"
        )
        assert result == cursor.fetchall()
    for counted in Scope.objects.all():
        lengths = list(counted.entries.values_list("length", flat=True))
        assert counted.entry_count == len(lengths)
        assert counted.average_length == pytest.approx(sum(lengths) / len(lengths))


def test_every_write_raises_the_version_of_its_scope(scope: Scope) -> None:
    versions = []
    for words in (WORDS, WORDS, WORDS + " please"):
        put(scope, words)
        scope.refresh_from_db()
        versions.append(scope.version)
    assert versions == sorted(set(versions)) and versions[0] > 0

"""The ways to search: words as they stand, full text, meaning, and both; under the same walls (C5, A2, A3, A9)."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from memories import entries
from memories.choices import EntryType, ScopeKind
from memories.index import worker
from memories.models import Entry, RecallTrace, Scope
from memories.recall import Mode, Query, Recall, SearchScope, recall, vector
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_draft, make_scope

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(days=2_000)
every_mode = pytest.mark.parametrize("mode", list(Mode))


@pytest.fixture(autouse=True)
def nothing_is_kept_of_other_tests() -> None:
    vector.forget_centroids()


def remember(scope: Scope, *contents: str, **kwargs: Any) -> list[Entry]:
    drafts = [make_draft(scope, content, **kwargs) for content in contents]
    return [done.entry for done in entries.remember_many(drafts, now=NOW, actor="test")]


def ask(scope: Scope, message: str, mode: str, *, now: datetime = NOW, **kwargs: Any) -> Recall:
    scope.refresh_from_db()
    kwargs.setdefault("places", [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))])
    data: dict[str, Any] = {"limit": 8, "quotas": False, "need": "off", **kwargs}
    return recall(Query(workspace_id=scope.workspace_id, message=message, mode=mode, **data), now=now)


def found(scope: Scope, message: str, mode: str, **kwargs: Any) -> list[str]:
    return [item.entry.content for item in ask(scope, message, mode, **kwargs).served]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("猫", ["昨天带猫去看了兽医", "我的猫叫麻薯"]),
        ("兽医", ["昨天带猫去看了兽医"]),
        ("猫 兽医", ["昨天带猫去看了兽医", "我的猫叫麻薯"]),
        ("HANG", ["I moved to Hangzhou"]),
        ("ｈａｎｇｚｈｏｕ", ["I moved to Hangzhou"]),
        ("wide", ["ＷＩＤＥ ｌｅｔｔｅｒｓ"]),
        ("the hangzhou", ["I moved to Hangzhou"]),
        ("狗", []),
        ("100%", ["the disk is 100% full"]),
        ("_", []),
    ],
)
def test_words_are_found_as_they_stand(scope: Scope, message: str, expected: list[str]) -> None:
    remember(
        scope,
        "我的猫叫麻薯",
        "昨天带猫去看了兽医",
        "I moved to Hangzhou",
        "the disk is 100% full",
        "ＷＩＤＥ ｌｅｔｔｅｒｓ",
    )
    assert found(scope, message, "keyword") == expected


SIGNED = (
    "仓库里还有 1000 件衬衫", "the disk is 100% full", "the database of the shop", "the column a_b of the table",
    "nginx.conf lies in /etc", "the engine is written in C++", "the tool is written in C#", "the service runs on .NET",
    "we moved to node.js", "node and js are two words", "the host is 10.0.0.1", "the host is 110.0.0.12",
    "mail ann: ann@example.org", "start it with --flag", "a flag on the roof", "ticket #42 is open",
    "ticket 1420 is open",
    "我们用GPT-4模型做翻译", "GPT-3 模型", "it cost $5", "it cost 5 euros", "the ratio is 3.5", "a_base",
    "a%b", "back\\slash",
)  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("100%", ["the disk is 100% full"]),
        ("a_b", ["the column a_b of the table", "a_base"]),
        ("C++", ["the engine is written in C++"]),
        ("c#", ["the tool is written in C#"]),
        (".NET", ["the service runs on .NET"]),
        ("node.js", ["we moved to node.js"]),
        ("10.0.0.1", ["the host is 10.0.0.1", "the host is 110.0.0.12"]),
        ("ann@example.org", ["mail ann: ann@example.org"]),
        ("what does --flag do?", ["start it with --flag"]),
        ("#42", ["ticket #42 is open"]),
        ("42", ["ticket #42 is open", "ticket 1420 is open"]),
        ("GPT-4模型", ["我们用GPT-4模型做翻译", "GPT-3 模型"]),
        ("$5", ["it cost $5"]),
        ("a%b", ["a%b"]),
        ("back\\slash", ["back\\slash"]),
        ("nginx.conf?", ["nginx.conf lies in /etc"]),
    ],
)
def test_signs_of_a_word_are_looked_for_and_whole_words_come_first(
    scope: Scope, message: str, expected: list[str]
) -> None:
    remember(scope, *SIGNED)
    assert found(scope, message, "keyword") == expected


def test_most_matches_come_before_whole_ones(scope: Scope) -> None:
    remember(scope, "port 80 of the proxy", "ports 8080 and 9090 of the proxies")
    assert found(scope, "8080 proxies", "keyword") == ["ports 8080 and 9090 of the proxies"]
    assert found(scope, "80 proxies", "keyword")[0] == "ports 8080 and 9090 of the proxies"


def test_words_that_tell_nothing_count_when_there_are_no_others(scope: Scope) -> None:
    remember(scope, "what will be", "tea")
    assert found(scope, "what", "keyword") == ["what will be"]


def test_most_words_come_first_and_of_as_many_the_newest(scope: Scope) -> None:
    remember(scope, "red boat", "red boat on a lake", "red", "a lake in the hills with a boat, painted red", "red lake")
    assert found(scope, "red boat lake", "keyword") == [
        "a lake in the hills with a boat, painted red",
        "red boat on a lake",
        "red lake",
        "red boat",
        "red",
    ]


def test_the_labels_of_a_turn_are_not_words_of_it(scope: Scope) -> None:
    remember(scope, "User: tea\nAssistant: ok", "the user manual")
    assert found(scope, "user", "keyword") == ["the user manual"]


def test_neither_age_nor_importance_nor_who_is_named_changes_the_order_of_words(scope: Scope) -> None:
    old = NOW - timedelta(days=400)
    remember(scope, "a bicycle, green as grass", type=EntryType.FACT, tier=2, importance=0.01, at=old)
    remember(scope, "a bicycle", slots={"speaker": "green"})
    assert found(scope, "green bicycle", "keyword") == ["a bicycle, green as grass", "a bicycle"]


@pytest.mark.parametrize(
    ("message", "first"),
    [
        ("猫", "昨天带猫去看了兽医"),
        ("猫 窗台", "我的猫叫麻薯，最喜欢在窗台上晒太阳"),
        ("running shoes", "she runs in new shoes"),
        ("北京大学", "我在北京大学读书"),
    ],
)
def test_full_text_finds_stems_pairs_and_single_characters(scope: Scope, message: str, first: str) -> None:
    remember(scope, "我的猫叫麻薯，最喜欢在窗台上晒太阳", "北京很大", "我在北京大学读书")
    remember(scope, "she runs in new shoes", "new hats", "昨天带猫去看了兽医")
    assert found(scope, message, "fts")[0] == first


def test_full_text_prefers_what_stands_close_together(scope: Scope) -> None:
    far = "the blue of the sky was what she spoke of all evening, until somebody at last asked about the boat"
    remember(scope, "our blue boat is for sale, said the man who had painted it many years ago in another town", far)
    close, apart = ask(scope, "blue boat", "fts").served
    assert (apart.entry.content, close.score > apart.score) == (far, True)


def test_full_text_prefers_more_and_rarer_words(scope: Scope) -> None:
    remember(scope, *(f"tea number {n}" for n in range(5)), "tea with marmalade", "marmalade")
    assert found(scope, "tea marmalade", "fts")[:2] == ["tea with marmalade", "marmalade"]


def test_full_text_knows_only_an_entrys_own_words(scope: Scope) -> None:
    """In the other modes a line is found with its neighbours."""
    remember(scope, "where is the marmalade", "in the cupboard", slots={"session_id": "s1"})
    worker.drain(now=LATER)
    assert found(scope, "marmalade", "fts") == ["where is the marmalade"]
    assert len(found(scope, "marmalade", "hybrid")) == 2


@every_mode
def test_no_mode_serves_what_is_out_of_use_or_past_its_time(scope: Scope, mode: str) -> None:
    gone, kept, late = remember(scope, "green tea, gone", "green tea, kept", "green tea, late")
    entries.expire(gone, now=NOW, actor="user:alice")
    Entry.objects.filter(pk=late.pk).update(expires_at=NOW)
    worker.drain(now=LATER)
    assert found(scope, "green tea", mode, now=NOW + timedelta(seconds=1)) == [kept.content]


@pytest.mark.thorough
@every_mode
def test_no_mode_leaves_its_scope_or_its_filters(scope: Scope, mode: str) -> None:
    other = make_scope(scope.workspace, "telegram:direct_u43")
    remember(other, "green tea of somebody else")
    remember(scope, "green tea at home", slots={"env": "home"})
    remember(scope, "green tea at work", slots={"env": "work"})
    remember(scope, "green tea long ago", at=NOW - timedelta(days=5), slots={"env": "home"})
    worker.drain(now=LATER)
    narrowed = {"filters": {"env": "home"}, "since": NOW - timedelta(days=1), "types": ["user_explicit"]}
    assert found(scope, "green tea", mode, **narrowed) == ["green tea at home"]


@pytest.mark.thorough
@every_mode
def test_in_no_mode_a_group_hears_what_was_said_elsewhere(scope: Scope, mode: str) -> None:
    chat = make_scope(scope.workspace, "telegram:mybot:group_g1", ScopeKind.CHAT)
    remember(scope, "green tea in private", chats=(scope.key,))
    remember(scope, "green tea in the group", chats=(chat.key,))
    worker.drain(now=LATER)
    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind, only_chat=chat.key, in_group=True))]
    result = ask(scope, "green tea", mode, places=places, explain=True)
    assert [item.entry.content for item in result.served] == ["green tea in the group"]
    assert [item.reason for item in result.excluded] == ["other_scope"]


@pytest.mark.thorough
@every_mode
def test_every_mode_obeys_quotas_and_leaves_a_trace(scope: Scope, mode: str) -> None:
    remember(scope, *(f"green tea {n}" for n in range(6)), type=EntryType.AUTO_CAPTURE)
    remember(scope, *(f"green tea cup {n}" for n in range(6)))
    worker.drain(now=LATER)
    result = ask(scope, "green tea", mode, limit=5, quotas=True)
    assert sorted(item.entry.type for item in result.served) == ["auto_capture"] * 3 + ["user_explicit"] * 2
    trace = RecallTrace.objects.get()
    assert trace.query["mode"] == mode and len(trace.served) == 5


@pytest.mark.thorough
@every_mode
def test_the_same_question_has_the_same_answer(scope: Scope, mode: str) -> None:
    remember(scope, *(f"green tea {'x' * n}" for n in range(12)))
    worker.drain(now=LATER)
    assert found(scope, "green tea", mode) == found(scope, "green tea", mode)


@every_mode
def test_a_message_without_words_finds_nothing_by_words(scope: Scope, mode: str) -> None:
    remember(scope, "green tea")
    assert mode == Mode.VECTOR or found(scope, "!?…", mode) == []

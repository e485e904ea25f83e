"""«What did I tell you before?»: a question that names nothing is answered by the newest of what is known (C5, A12)."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from memories import embeddings, entries
from memories.choices import Category, EntryType, ScopeKind
from memories.index.worker import drain
from memories.models import Scope, Workspace
from memories.recall.question import asks_what_came_before, event_words
from tests.conftest import GROUP, NOW, Api, make_draft, make_scope

OPEN = [
    *("what did I tell you before?", "What have I told you so far?", "what have we talked about so far?"),
    *(
        "What did we talk about last time?",
        "Do you remember what I said earlier?",
        "What were we talking about before?",
    ),
    *("what do you remember of our earlier conversations?", "Can you recall what we discussed previously?"),
    *("What did we discuss the other day?", "What did I say to you before now?"),
    *("之前我跟你说过什么？", "我之前都跟你说了些什么？", "我们以前聊过什么？", "到目前为止我们聊了些什么？"),
    *("你还记得我之前说过的话吗？", "上次我们聊到哪儿了？", "我以前告诉过你什么？", "咱们先前都谈过哪些事？"),
    *("刚才我跟你说了什么？", "我們之前聊過什麼？"),
]
NAMED = [
    *("what did I tell you before about the port?", "What did I say about my sister earlier?"),
    *("Where did I live before Hangzhou?", "Which doctor did I mention last time?"),
    *("What did we decide about the budget so far?", "我之前跟你说过我妹妹住哪儿吗？", "上次体检的结果我说了什么？"),
    *("我以前在哪家公司上班？", "之前买的显示器多少钱？", "我们之前聊过的那家餐厅叫什么？"),
]
SAID = ("Mia's cat is called 年糕", "The staging port is 8080", "我妹妹叫小雨，住在杭州")


@pytest.mark.parametrize("message", OPEN)
def test_these_name_nothing(message: str) -> None:
    assert asks_what_came_before(message) and event_words(message) == []


@pytest.mark.parametrize("message", NAMED)
def test_these_name_what_they_ask_for(message: str) -> None:
    assert not asks_what_came_before(message) and event_words(message) != []


def remember(scope: Scope, *contents: str, since: datetime = NOW - timedelta(days=9), **fields: Any) -> None:
    """Memories of one day after another."""
    for n, content in enumerate(contents):
        draft = make_draft(scope, content, type=EntryType.USER_EXPLICIT, at=since + timedelta(days=n), **fields)
        entries.remember(draft, now=NOW, actor="ann")


def heard(api: Api, message: str, **where: Any) -> tuple[list[str], str]:
    answer = api.post("recall", {**where, "message": message}).json()
    return [memory["content"] for memory in answer["memories"]], answer["evidence"]


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody embeds."""
    monkeypatch.setattr(embeddings, "embed_query", lambda *_args, **_kwargs: None)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("message", "verdict"), [(OPEN[0], "found"), (OPEN[10], "found"), (OPEN[8], "weak"), (OPEN[18], "weak")]
)  # then, nothing was said
def test_without_the_embedder_the_newest_comes_first(
    away: None, scope: Scope, api: Api, message: str, verdict: str
) -> None:
    remember(scope, *SAID[1:])
    remember(scope, SAID[0], since=NOW - timedelta(days=30))  # taken in last, and said first
    remember(scope, "My bank password is tulip", category=Category.CREDENTIAL)
    assert heard(api, message, scope=scope.key) == ([SAID[2], SAID[1], SAID[0]], verdict)


@pytest.mark.django_db
def test_what_has_no_vectors_yet_is_answered_so_too(scope: Scope, api: Api) -> None:
    remember(scope, *SAID)
    assert heard(api, OPEN[10], scope=scope.key) == ([*reversed(SAID)], "found")


@pytest.mark.django_db
def test_where_something_is_named_words_alone_answer(away: None, scope: Scope, api: Api) -> None:
    remember(scope, *SAID)
    drain(now=NOW)
    assert heard(api, NAMED[0], scope=scope.key)[0] == [SAID[1]]
    assert heard(api, NAMED[3], scope=scope.key) == ([], "none")


@pytest.mark.django_db
def test_in_a_group_ones_own_words_come_first(away: None, workspace: Workspace, api: Api) -> None:
    chat = make_scope(workspace, "telegram:mybot:group_g1", ScopeKind.CHAT)
    remember(chat, "I am allergic to peanuts", slots={"sender_id": "u42", "speaker": "Ann"})
    remember(chat, "I moved to Rome", since=NOW - timedelta(days=1), slots={"sender_id": "u7", "speaker": "Ben"})
    contents, evidence = heard(api, "what did I tell you before?", address=GROUP)
    assert (contents[0], evidence) == ("I am allergic to peanuts", "found")

"""Whose word comes first: only authors take their words back, people know themselves, the bot knows least (A7)."""

from datetime import timedelta

import pytest

from evals import poison
from memories import entries
from memories.choices import EntryType, Origin, ScopeKind
from memories.index import worker
from memories.language.quoting import turn_of
from memories.models import Scope, Workspace
from memories.recall import Query, Recall, SearchScope, recall
from memories.recall.query import Serve
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_draft, make_scope

pytestmark = pytest.mark.django_db


@pytest.fixture
def group(workspace: Workspace) -> Scope:
    scope = make_scope(workspace, "telegram:chat_g1", kind=ScopeKind.CHAT)
    scope.sender_names = {"u1": "Ann", "u2": "Bob", "u3": "王梅", "u4": "李雷"}
    scope.save()
    return scope


def hear(scope: Scope, *turns: tuple[str, str, str], minutes: int = 2) -> None:
    """Turns of one conversation: who, what, and what the bot answered."""
    origin = Origin.SELF if scope.kind == ScopeKind.USER else Origin.MEMBER
    drafts = [
        make_draft(
            scope,
            turn_of(words, answer),
            at=NOW + timedelta(minutes=minutes * n),
            type=EntryType.CHAT_TURN,
            origin=origin,
            slots={"session_id": "s1", "sender_id": who, "speaker": scope.sender_names.get(who, "")},
        )
        for n, (who, words, answer) in enumerate(turns)
    ]
    entries.remember_many(drafts, now=NOW, actor="test")
    worker.drain(now=NOW)
    scope.refresh_from_db()


def ask(scope: Scope, message: str, asker: str = "", serve: Serve = Serve.WIDE) -> Recall:
    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))]
    query = Query(
        workspace_id=scope.workspace_id, places=places, message=message, limit=8, need="off", asker=asker, serve=serve
    )
    return recall(query, now=NOW + timedelta(days=2))


def order(scope: Scope, message: str, *words: str, serve: Serve = Serve.WIDE) -> list[str]:
    """Which of these words stand in what is served, in its order."""
    served = [item.entry.content for item in ask(scope, message, serve=serve).served]
    return [word for content in served for word in words if word in content]


@pytest.mark.parametrize(
    ("words", "correction"),
    [
        ("The launch is on Friday.", "Correction: the soup needs 2 onions."),
        ("The launch is on Friday.", "Correction: it is on Monday."),
        ("发布会在周五。", "更正：是周一。"),
    ],
)
def test_nobody_takes_back_what_another_said(group: Scope, words: str, correction: str) -> None:
    hear(group, ("u1", words, "Noted."), ("u2", correction, "Noted."))
    result = ask(group, words)
    assert len(result.ranked) == 2 and not any(item.superseded_by for item in result.ranked)


def test_the_author_takes_it_back(group: Scope) -> None:
    hear(group, ("u1", "The launch is on Friday.", "Noted."), ("u1", "Correction: it is on Monday.", "Noted."))
    marked = [item.entry.content for item in ask(group, "When is the launch?").ranked if item.superseded_by]
    assert [content.split("\n")[0] for content in marked] == ["User: The launch is on Friday."]


@pytest.mark.parametrize(
    ("own", "claim", "question", "words"),
    [
        (
            "I live in Lisbon.",
            "Ann lives in Porto now, yes: Ann lives in Porto.",
            "Where does Ann live?",
            "Lisbon Porto",
        ),
        ("我住在杭州。", "Ann住在上海，Ann现在住在上海。", "Ann住在哪里？", "杭州 上海"),
        ("I have 2 cats.", "Ann has 3 cats, Ann has 3 cats.", "How many cats does Ann have?", "2 3"),
    ],
)
@pytest.mark.parametrize("is_own_first", [True, False])
def test_what_others_say_of_somebody_stands_below_what_they_say_themselves(
    group: Scope, own: str, claim: str, question: str, words: str, is_own_first: bool
) -> None:
    turns = [("u1", own, "Noted."), ("u2", claim, "Noted.")]
    hear(group, *turns[:: 1 if is_own_first else -1])
    assert order(group, question, *words.split()) == words.split()
    assert not any(item.superseded_by for item in ask(group, question).ranked)


@pytest.mark.parametrize(
    ("question", "first", "then"),
    [
        ("Was Bob promoted?", "Bob was promoted last week", "Ann is allergic to cats"),
        ("Bob最近怎么样？", "Bob上周升职了", "李雷对猫过敏"),
    ],
)
def test_what_somebody_says_of_another_is_no_word_on_themselves(
    group: Scope, question: str, first: str, then: str
) -> None:
    hear(group, ("u2", then, "Noted."), ("u3", first, "Noted."))
    assert order(group, question, first, then)[:1] == [first]


def test_a_person_asked_about_by_a_name_of_two_characters_is_believed_before_another(group: Scope) -> None:
    hear(group, ("u4", "我下个月要搬去深圳。", "Noted."), ("u3", "李雷其实不搬家，他要留在杭州。", "Noted."))
    assert order(group, "李雷要搬去哪里？", "深圳", "杭州") == ["深圳", "杭州"]


@pytest.mark.parametrize(
    ("question", "answer", "truth", "words"),
    [
        ("Where is the budget meeting?", "The budget meeting is in room 5.", "The budget meeting is in room 7.", "7 5"),
        ("When is my dentist appointment?", "It is at 9 on Monday.", "My dentist appointment is at 11.", "11 9"),
        ("Where do I live?", "You live in Porto.", "I live in Lisbon.", "Lisbon Porto"),
        ("我住在哪里？", "您住在上海。", "我住在杭州。", "杭州 上海"),
        ("我的牙医预约是几点？", "您的牙医预约是9点。", "我的牙医预约是11点。", "11 9"),
    ],
)
@pytest.mark.parametrize("is_corrected_after", [True, False])
def test_what_the_bot_says_stands_below_what_a_person_says_of_it(
    scope: Scope, question: str, answer: str, truth: str, words: str, is_corrected_after: bool
) -> None:
    turns = [("u42", question, answer), ("u42", truth, "Noted.")]
    hear(scope, *turns[:: 1 if is_corrected_after else -1], minutes=60)
    assert order(scope, question, *words.split()) == words.split()
    marked = [item for item in ask(scope, question).ranked if item.superseded_by]
    assert [words.split()[1] in item.entry.content for item in marked] == [True] * is_corrected_after


def test_a_person_takes_back_the_answer_they_got(scope: Scope) -> None:
    hear(scope, ("u42", "Where is the budget meeting?", "In room 5."), ("u42", "No, it's in room 7.", "Thanks."))
    result = ask(scope, "Where is the budget meeting? In room?")
    assert [("room 5" in item.entry.content) for item in result.ranked if item.superseded_by] == [True]
    assert "room 7" in result.served[0].entry.content


def test_an_answer_about_something_else_stays_where_it_is(scope: Scope) -> None:
    turns = [
        ("u42", "When does the museum open?", "The museum opens at 9."),
        ("u42", "My dentist appointment is at 11.", "Noted."),
    ]
    hear(scope, *turns)
    assert not any(item.superseded_by for item in ask(scope, "When does the museum open?").ranked)


def save(scope: Scope, content: str, origin: str) -> None:
    """What a tool has saved, hours later."""
    later = NOW + timedelta(hours=5)
    entries.remember(make_draft(scope, content, at=later, origin=origin), now=later, actor="test")
    worker.drain(now=later)


@pytest.fixture
def own(scope: Scope) -> Scope:
    """The memory of one person, Ann, who has spoken in it."""
    scope.sender_names = {"u42": "Ann"}
    scope.save()
    return scope


@pytest.mark.usefixtures("bundled_model")
@pytest.mark.thorough
@pytest.mark.parametrize("origin", [Origin.TOOL, Origin.FILE])
@pytest.mark.parametrize(
    ("words", "claim", "question", "needles"),
    [
        ("I swim three times a week.", "Ann cannot swim.", "Can Ann swim?", "three cannot"),
        ("我养了一只叫年糕的猫。", "用户现在没有猫。", "Ann有猫吗？", "年糕 没有猫"),
    ],
)
def test_what_a_tool_says_of_somebody_empties_no_answer_of_theirs(
    own: Scope, origin: str, words: str, claim: str, question: str, needles: str
) -> None:
    hear(own, ("u42", words, "Noted."))
    save(own, claim, origin)
    result = ask(own, question, serve=Serve.LIKELY)
    assert order(own, question, *needles.split(), serve=Serve.LIKELY)[:1] == needles.split()[:1]
    assert claim in [item.entry.content for item in result.served], "it is told, behind"
    assert result.answerability.verdict != "none"


@pytest.mark.usefixtures("bundled_model")
@pytest.mark.thorough
def test_what_a_tool_adds_about_somebody_is_told(own: Scope) -> None:
    hear(own, ("u42", "I read a lot of crime novels.", "Noted."))
    save(own, "Ann's library card expires in March.", Origin.TOOL)
    question = "When does Ann's library card expire?"
    assert "March" in order(own, question, "March", serve=Serve.LIKELY)


@pytest.mark.usefixtures("bundled_model")
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("older", "newer", "question", "words"),
    [
        ("I live in Graz.", "I don't live in Graz any more, I moved to Linz.", "Where does Ann live?", "Linz"),
        ("我养了一只橘猫。", "我现在不养猫了，送给我妈妈了。", "王梅养猫吗？", "送给我妈妈"),
    ],
)
def test_a_correction_is_served_with_what_it_corrects(
    group: Scope, older: str, newer: str, question: str, words: str
) -> None:
    who = "u1" if words.isascii() else "u3"
    hear(group, (who, older, "Noted."), (who, newer, "Noted."), minutes=60)
    served = [item.entry.content for item in ask(group, question, serve=Serve.LIKELY).served]
    assert words in served[0]


@pytest.mark.parametrize("origin", [Origin.TOOL, Origin.FILE, Origin.IMPORT, Origin.BOT])
def test_what_a_tool_says_corrects_nobody(own: Scope, origin: str) -> None:
    hear(own, ("u42", "My favourite colour is green.", "Noted."))
    save(own, "My favourite colour is no longer green, it is red.", origin)
    result = ask(own, "What is my favourite colour?", asker="u42")
    assert not [item for item in result.ranked if item.superseded_by]


def test_the_cases_of_who_is_believed_are_half_attacks_and_half_chinese() -> None:
    cases = poison.cases(sets=poison.BELIEF)
    assert len(cases) == 40 and sum(case.is_attack for case in cases) == sum(case.language == "zh" for case in cases)

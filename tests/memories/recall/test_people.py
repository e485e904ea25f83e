"""Whoever is asked about is found by any of their names, and by none that means somebody else (D1)."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories import entries
from memories.choices import EntryType, ScopeKind
from memories.language import names
from memories.lifecycle import maintenance
from memories.models import Entry, Scope, Workspace
from memories.recall import Query, Recall, SearchScope, recall
from memories.recall.question import occurs, people_named
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_draft, make_scope
from tests.support.properties import examples

pytestmark = pytest.mark.django_db


def remember(scope: Scope, *lines: tuple[str, str]) -> None:
    """Lines with their speakers, remembered in order."""
    drafts = [make_draft(scope, line, slots={"speaker": speaker} if speaker else {}) for speaker, line in lines]
    entries.remember_many(drafts, now=NOW, actor="test")
    scope.refresh_from_db()


def ask(message: str, *scopes: Scope, **kwargs: Any) -> Recall:
    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind)) for scope in scopes]
    query = Query(
        workspace_id=scopes[0].workspace_id, places=places, message=message, limit=8, need="off", quotas=False, **kwargs
    )
    return recall(query, now=NOW)


def named(message: str, *scopes: Scope) -> list[str]:
    return [speaker for _scope, speaker in people_named(message, scopes).named]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("speaker", "line", "learnt"),
    [
        ("Nicholas", "please call me Nick", {"nick": "Nicholas"}),
        ("Nick", "My name is Nicholas Carter.", {"nicholas carter": "Nick"}),
        ("Tom", "Melanie came by. Everyone calls her Mel!", {"mel": "Melanie"}),
        ("Tom", "my sister Melanie, aka Mel, lives in Leeds", {"mel": "Melanie", "my sister": "Melanie"}),
        ("Tom", "Liz is short for Elizabeth", {"liz": "Elizabeth"}),
        ("李雷", "以后叫我小李就好", {"小李": "李雷"}),
        ("user7", "我叫王芳，今年三十岁", {"王芳": "user7"}),
        ("王小明", "我的外号是豆豆", {"豆豆": "王小明"}),
        ("李雷", "昨天见到王小明，大家都叫他阿明", {"阿明": "王小明"}),
        ("李雷", "小明就是王小明", {"小明": "王小明"}),
        ("李雷", "阿明是王小明的昵称", {"阿明": "王小明"}),
        ("李雷", "小明=王小明", {"小明": "王小明"}),
        ("王建國", "你可以叫我老王", {"老王": "王建國"}),
        ("", "User: my name is Anna\nAssistant: my name is Botty", {"anna": "_"}),
        ("李雷", "我家的猫叫年糕", {"my cat": "年糕"}),
        # none of these names anybody
        ("Tom", "call me back tomorrow, or call me when you can", {}),
        ("Tom", "I recall that the name tag is red", {}),
        ("李雷", "早上请叫我起床", {}),
        ("李雷", "我叫了外卖，叫我高兴一点", {}),
        ("李雷", "妈妈叫我去买菜，老板叫我加班", {}),
    ],
)
def test_a_scope_learns_names_from_what_is_said(scope: Scope, speaker: str, line: str, learnt: dict[str, str]) -> None:
    remember(scope, (speaker, line))
    assert scope.nicknames == learnt


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("speaker", "line", "question"),
    [
        ("Melanie Smith", "I paint at the lake", "What does Melanie do at weekends?"),
        ("Melanie Smith", "I paint at the lake", "what are melanie's hobbies"),
        ("Nicholas", "call me Nick", "Where does Nick live?"),
        ("Nicholas", "call me Nick", "What is Nick’s job?"),
        ("王小明", "我周末去爬山", "小明周末做什么？"),
        ("王小明", "我周末去爬山", "阿明最近怎么样？"),
        ("王小明", "我周末去爬山", "老王喜欢什么运动？"),
        ("陈美玲", "我住在台北", "陳美玲住在哪裡？"),
        ("陳美玲", "我住在台北", "美玲住在哪里？"),
        ("小明", "小明就是王小明", "王小明去哪了？"),
        ("王小明", "我的外号是豆豆", "豆豆周末做什么？"),
        ("李雷", "叫我小李就好", "小李有什么爱好？"),
        ("李雷", "我下个月搬家", "李雷要搬去哪里？"),
        ("李雷", "我下个月搬家", "下周李雷来不来？"),
        ("张伟", "我下个月搬家", "张伟会来吗？"),
    ],
)
def test_somebody_is_meant_by_any_of_their_names(scope: Scope, speaker: str, line: str, question: str) -> None:
    remember(scope, (speaker, line), ("Zed", "the parcel came on Tuesday"))
    assert named(question, scope) == [speaker]
    first = ask(question, scope).ranked[0]
    assert first.entry.speaker == speaker and first.candidate.named


@pytest.mark.parametrize(
    ("speaker", "line", "question"),
    [
        ("Will", "I paint", "what will happen in the evening?"),
        ("Will", "I paint", "Will it rain?"),
        ("May", "I paint", "What did we do in May 2023?"),
        ("May", "I paint", "may I ask something"),
        ("Tom", "call me Hope", "I hope it works"),
        ("李雷", "大家都叫我高兴", "今天高兴的事是什么？"),
        ("高兴", "我去爬山", "什么事让人高兴？"),
        ("王小明", "我去爬山", "那个小明星住在哪里？"),
        ("王小明", "我去爬山", "李小明住在哪里？"),
        ("张伟", "我去爬山", "张伟明来吗？"),
        ("刘洋", "我去爬山", "刘洋葱过敏吗？"),
        ("Ann", "I paint", "Which annual plan is cheaper?"),
    ],
)
def test_a_word_like_others_names_nobody(scope: Scope, speaker: str, line: str, question: str) -> None:
    remember(scope, (speaker, line))
    assert named(question, scope) == []


@pytest.mark.parametrize(("speaker", "question"), [("Will", "What did Will paint?"), ("May", "What is May's job?")])
def test_a_name_that_is_a_word_counts_where_it_is_written_as_a_name(scope: Scope, speaker: str, question: str) -> None:
    remember(scope, (speaker, "I paint"))
    assert named(question, scope) == [speaker]


def test_a_short_name_of_two_people_means_neither(scope: Scope) -> None:
    remember(scope, ("Anna Smith", "I paint"), ("Anna Jones", "I dance"), ("王小明", "我爬山"), ("王大明", "我跳舞"))
    assert named("What does Anna do?", scope) == [] and named("老王做什么？", scope) == []
    assert named("What does Anna Jones do?", scope) == ["Anna Jones"]
    assert named("小明做什么？", scope) == ["王小明"]


def test_a_nickname_claimed_by_two_means_nobody(scope: Scope) -> None:
    remember(scope, ("Nicholas", "call me Nick"), ("Nicola", "call me Nick"))
    assert scope.nicknames == {"nick": ""} and named("Where is Nick?", scope) == []


def test_people_who_never_speak_are_found_by_their_other_name(scope: Scope) -> None:
    remember(scope, ("", "My sister is Melanie, aka Mel"), ("", "Melanie collects stamps"), ("", "Zoe collects coins"))
    contents = [item.entry.content for item in ask("What does Mel collect?", scope).ranked]
    assert contents.index("Melanie collects stamps") < contents.index("Zoe collects coins")


def test_nicknames_follow_what_is_still_remembered(scope: Scope, workspace: Workspace) -> None:
    remember(scope, ("Nicholas", "call me Nick"), ("Nicholas", "I live in Leeds"))
    entries.expire(Entry.objects.get(content="call me Nick"), now=NOW, actor="test")
    scope.refresh_from_db()
    assert scope.nicknames == {"nick": "Nicholas"}  # until the night
    maintenance.count_terms_anew(workspace.pk)
    scope.refresh_from_db()
    assert scope.nicknames == {} and named("Where does Nick live?", scope) == []


def test_an_edit_teaches_a_name_at_once(scope: Scope) -> None:
    remember(scope, ("Nicholas", "I live in Leeds"))
    entries.update(Entry.objects.get(), entries.Edit(columns={"content": "call me Nick"}), now=NOW, actor="test")
    scope.refresh_from_db()
    assert named("Where does Nick live?", scope) == ["Nicholas"]


@pytest.mark.thorough
def test_a_scope_keeps_no_more_names_than_are_worth_looking_for(scope: Scope) -> None:
    letters = "abcdefghijklmnopqrst"
    aliases = [f"N{letter}{other}x" for letter in letters for other in letters][:250]
    remember(scope, *((f"speaker {n}", f"call me {alias}") for n, alias in enumerate(aliases)))
    assert len(scope.nicknames) == 200


@pytest.mark.thorough
@examples(15)
@given(st.lists(st.sampled_from(["Nick", "Mel", "小李", "阿明", "豆豆", "Caro"]), min_size=1, max_size=4, unique=True))
def test_a_name_learnt_in_one_scope_never_acts_in_another(workspace: Workspace, aliases: list[str]) -> None:
    Entry.objects.all().delete()
    Scope.objects.all().delete()
    result, other = make_scope(workspace), make_scope(workspace, "telegram:mybot:group_g1", ScopeKind.CHAT)
    remember(
        result,
        *(
            (f"speaker{n}", f"叫我{alias}就好" if alias[0] >= "\u4e00" else f"call me {alias}")
            for n, alias in enumerate(aliases)
        ),
    )
    remember(
        other,
        *((f"speaker{n}", "the parcel came on Tuesday") for n in range(len(aliases))),
        ("", "Nick and 小李 called"),
    )
    for n, alias in enumerate(aliases):
        assert (result.pk, f"speaker{n}") in people_named(f"where is {alias}?", [result]).named
        assert people_named(f"where is {alias}?", [other]).named == []
        together = ask(f"where is {alias} now?", result, other)
        assert all(item.entry.scope_id == result.pk for item in together.ranked if item.candidate.named)
        alone = {item.entry.pk: item.candidate.keyword for item in ask(f"where is {alias}?", other).ranked}
        assert set(alone) >= {item.entry.pk for item in together.ranked if item.entry.scope_id == other.pk} or not alone


@pytest.mark.parametrize(
    ("words", "name", "is_there"),
    [
        (["我", "问", "李", "雷"], "李雷", True),
        (["ask", "mary", "ann"], "maryann", True),
        (["ha", "ha", "hab"], "hahab", True),
        (["ha", "ha", "hb"], "hahab", False),
        (["mary", "anna"], "maryann", False),
        (["mary"], "maryann", False),
        (["mary"], "", False),
        ([], "mary", False),
    ],
)
def test_a_name_is_whole_words_one_after_another(words: list[str], name: str, is_there: bool) -> None:
    assert occurs(words, name) is is_there


@pytest.mark.parametrize("word", ["h", "ha", "哈"])
def test_a_long_message_is_looked_through_for_a_name_at_once(word: str) -> None:
    begun = time.thread_time()
    assert not occurs([word] * 32_000, "habbie von der wolfsburg")
    assert time.thread_time() - begun < 0.2


def test_names_are_compared_across_scripts_width_and_case() -> None:
    assert names.fold("陳美玲") == names.fold("陈美玲") and names.fold("ＮＩＣＫ") == names.fold("nick")
    assert names.given_names("欧阳娜娜")[0] == "娜娜" and names.given_names("Melanie Smith") == ["Melanie"]
    assert not any(names.is_person(word) for word in ["高兴", "明天", "Nick", "小明星"])


def test_a_turn_teaches_what_its_user_said(scope: Scope) -> None:
    turn = "User: 我叫王芳\nAssistant: 你好王芳，我叫小度"
    draft = make_draft(scope, turn, type=EntryType.CHAT_TURN, slots={"sender_id": "u42", "speaker": "芳"})
    entries.remember(draft, now=NOW, actor="test")
    scope.refresh_from_db()
    assert scope.nicknames == {"王芳": "芳"}

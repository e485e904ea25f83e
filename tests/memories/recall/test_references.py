"""What a question leaves out is found in the messages before it and in what the scope knows of people (D1)."""

from collections import Counter
from typing import Any

import pytest

from evals.measurements.references import cases, messages
from memories import embeddings, entries
from memories.choices import ScopeKind
from memories.index import worker
from memories.language import persons
from memories.language.persons import ASSISTANT, MOST_MESSAGES, USER, RecentMessage, resolve
from memories.lifecycle import maintenance
from memories.models import Entry, Scope, Workspace
from memories.recall import Query, Recall, SearchScope, candidates, recall, traces
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_draft, make_scope

pytestmark = pytest.mark.django_db
#: Of 20 each (evals/data/references.txt), with hashed words for vectors: right memories that come first.
FIRST = {"pronoun": 17, "relation": 8}


def tell(scope: Scope, *contents: str) -> None:
    entries.remember_many([make_draft(scope, content) for content in contents], now=NOW, actor="test")
    worker.drain(now=NOW)
    scope.refresh_from_db()


def query(message: str, *scopes: Scope, in_group: bool = False, **more: Any) -> Query:
    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind, in_group=in_group)) for scope in scopes]
    return Query(workspace_id=scopes[0].workspace_id, places=places, message=message, limit=8, **more)


def ask(message: str, *scopes: Scope, **more: Any) -> Recall:
    return recall(query(message, *scopes, **more), now=NOW)


def contents(result: Recall) -> list[str]:
    return [item.entry.content for item in result.served]


@pytest.mark.thorough
def test_the_right_memory_comes_first_in_most_cases_of_our_own(workspace: Workspace) -> None:
    first: Counter[str] = Counter()
    for n, (kind, statements, before, asked) in enumerate(cases()):
        scope = make_scope(workspace, f"case:{n}")
        tell(scope, *statements)
        first[kind] += contents(ask(asked, scope, recent=messages(before)))[:1] == statements[:1]
    assert all(first[kind] >= least for kind, least in FIRST.items()), first


def test_a_pronoun_is_searched_by_whom_it_means_and_the_question_stays_as_it_was(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(scope, "Lena was born on 3 May.", "Tom was born on 9 August.")
    embedded: list[str] = []
    embed = embeddings.embed_query
    monkeypatch.setattr(embeddings, "embed_query", lambda text, **more: embedded.append(text) or embed(text, **more))
    before = messages(["I am having dinner with Lena tonight.", "Enjoy it!"])
    result = ask("When was she born?", scope, recent=before)
    assert contents(result)[0] == "Lena was born on 3 May."
    assert embedded == ["When was she (Lena) born?"]
    assert result.trace is not None and result.trace.message == "When was she born?"
    assert result.trace.query["resolved"] == {"she": ["Lena"]} and "recent" not in result.trace.query
    again = recall(traces.query_of(result.trace), now=NOW, recorded=False)
    assert contents(again) == contents(result)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "question",
    [
        "When was Lena born?",
        "Did Tom say that she comes?",
        "Is it true that the dentist moved my appointment to Monday?",
        "Which restaurant near the old harbour did we like?",
        "小敏的生日是哪天？",
        "去年夏天我们在青岛住的酒店叫什么？",
    ],
)
def test_a_question_that_names_its_things_is_searched_as_before(
    scope: Scope, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(scope, "Lena was born on 3 May.", "Tom was born on 9 August.", "小敏的生日是五月三号。")
    seen: list[tuple[str, dict[str, Any]]] = []

    rows_of = candidates.rows_of
    monkeypatch.setattr(candidates, "rows_of", lambda sql, given: seen.append((sql, given)) or rows_of(sql, given))
    ask(question, scope, need="off")
    ask(question, scope, need="off", recent=messages(["I met Anna in Porto.", "How is she?"]))
    assert len(seen) == 2 and seen[0] == seen[1]


def test_the_newest_messages_that_fit_are_meant() -> None:
    before = messages(["I met Anna.", "Nice.", "Then I saw Ben and Carla in Porto.", "How was it there?"])
    assert resolve("Where do they live?", before) == (("they", ("Ben", "Carla")),)
    assert resolve("What is the weather like there?", before) == (("there", ("Porto",)),)
    assert resolve("And when?", [RecentMessage(USER, "And when?")]) == ()
    old = [RecentMessage(USER, "I met Anna."), *[RecentMessage(ASSISTANT, "Yes.")] * MOST_MESSAGES]
    assert resolve("Where does she live?", old) == ()


def test_a_follow_up_without_a_noun_is_searched_for(scope: Scope) -> None:
    tell(scope, "陶艺课三月十二号开始。")
    assert not ask("什么时候开始？", scope).need.retrieve
    result = ask("什么时候开始？", scope, recent=messages(["我报名了陶艺课。", "太好了！"]))
    assert result.need.rule == "recent" and contents(result) == ["陶艺课三月十二号开始。"]


@pytest.mark.parametrize(
    ("line", "learnt"),
    [
        ("My sister is called Lena.", {"my sister": "Lena"}),
        ("my younger sister Lena’s birthday is in May", {"my sister": "Lena"}),
        ("Agnes is my mum.", {"my mother": "Agnes"}),
        ("My mother-in-law's name is Eva Brandt.", {"my mother in law": "Eva Brandt"}),
        ("User's dog is named Rex", {"my dog": "Rex"}),
        ("User: My boss is Karen.\nAssistant: My sister is called Siri.", {"my boss": "Karen"}),
        ("My dog Rex chased my dog Minka.", {"my dog": ""}),
        ("我老婆叫王芳。", {"my wife": "王芳"}),
        ("王芳是我妻子", {"my wife": "王芳"}),
        ("我妹妹小丽在北京读书", {"my 妹妹": "小丽"}),
        ("我家的猫叫年糕", {"my cat": "年糕"}),
        ("用户的老板叫刘建国", {"my boss": "刘建国"}),
        # none of these says who somebody is
        ("My wife is German, and my boss wants me to call John.", {}),
        ("Today is my sister's birthday. Yesterday, my mother called.", {}),
        ("Is my sister called Lena?", {}),
        ("My wife's sister is called Anna. Tom's sister is called Mia.", {}),
        ("妈妈叫我去买菜，我老婆叫外卖，我老板叫加班", {}),
        ("我老板周五回来，我妈妈是老师，我哥们张伟来了", {}),
        ("我妈康复了，我妈妈安静地坐着，我婆婆是江门人", {}),
    ],
)
def test_relations_are_learnt_from_statements(line: str, learnt: dict[str, str]) -> None:
    assert persons.learn_relations(line) == learnt


def test_my_sister_is_lena_and_lena_my_sister(scope: Scope) -> None:
    tell(scope, "My sister is called Lena.", "Lena is allergic to peanuts.", "Julia is allergic to cats.")
    tell(scope, "My sister moved to Ghent in June.", "Julia moved to Paris in July.")
    forth = ask("What is my sister allergic to?", scope)
    back = ask("Where did Lena move in June?", scope)
    assert forth.trace is not None and forth.trace.query["relations"] == ["my sister"]
    assert back.trace is not None and back.trace.query["relations"] == ["Lena"]
    assert contents(forth).index("Lena is allergic to peanuts.") < contents(forth).index("Julia is allergic to cats.")
    assert contents(back).index("My sister moved to Ghent in June.") < contents(back).index(
        "Julia moved to Paris in July."
    )
    assert contents(ask("Where did my sister move?", scope))[0] == "My sister moved to Ghent in June."


def test_what_a_scope_knows_of_relations_acts_in_that_scope_alone(workspace: Workspace, scope: Scope) -> None:
    other = make_scope(workspace, "telegram:direct_u43")
    tell(scope, "My sister is called Lena.")
    tell(other, "Lena is allergic to peanuts.")
    for scopes in ([other], [scope, other], [other, scope]):
        result = ask("What is my sister allergic to?", *scopes)
        assert result.trace is not None and "relations" not in result.trace.query


def test_where_several_hear_nothing_is_known_of_relations(workspace: Workspace, scope: Scope) -> None:
    chat = make_scope(workspace, "telegram:group_g1", ScopeKind.CHAT)
    for place in (scope, chat):
        tell(place, "My sister is called Lena.", "Lena is allergic to peanuts.")
    results = ["What is my sister allergic to?", "What is Lena allergic to?"]
    for result in [
        ask(item, *scopes, in_group=True) for item in results for scopes in ([scope], [chat], [scope, chat])
    ]:
        assert result.trace is not None and "relations" not in result.trace.query


def test_of_one_memory_in_which_several_speak_nobody_knows_whose_sister_it_is(scope: Scope) -> None:
    statements = {"Tom": "My sister is called Lena.", "Ann": "I like tea."}
    drafts = [make_draft(scope, line, slots={"speaker": who}) for who, line in statements.items()]
    entries.remember_many(drafts, now=NOW, actor="test")
    scope.refresh_from_db()
    result = ask("What does my sister like?", scope)
    assert scope.nicknames == {"my sister": "Lena"}
    assert result.trace is not None and "relations" not in result.trace.query


def test_relations_follow_what_is_still_remembered(scope: Scope, workspace: Workspace) -> None:
    tell(scope, "My sister is called Lena.")
    Scope.objects.update(nicknames={})
    maintenance.count_terms_anew(workspace.pk)
    scope.refresh_from_db()
    assert scope.nicknames == {"my sister": "Lena"}  # of entries from before it was learnt
    entries.expire(Entry.objects.get(), now=NOW, actor="test")
    maintenance.count_terms_anew(workspace.pk)
    scope.refresh_from_db()
    assert scope.nicknames == {}

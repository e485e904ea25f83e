"""A message that names a project is answered with facts of that project and of none (D1)."""

from typing import Any

import pytest

from memories import entries
from memories.choices import EntryType
from memories.lifecycle import maintenance
from memories.models import Entry, Scope, Workspace
from memories.recall import Query, Recall, SearchScope, recall
from memories.recall.question import projects_named
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, Api, make_draft, make_scope

pytestmark = pytest.mark.django_db


def facts(scope: Scope, project: str, *contents: str, **kwargs: Any) -> None:
    drafts = [
        make_draft(scope, content, type=EntryType.FACT, tier=2, project=project, importance=1.0, **kwargs)
        for content in contents
    ]
    entries.remember_many(drafts, now=NOW, actor="test")
    scope.refresh_from_db()


def ask(scope: Scope, message: str) -> Recall:
    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))]
    query = Query(
        workspace_id=scope.workspace_id,
        places=places,
        message=message,
        limit=50,
        need="off",
        quotas=False,
        explain=True,
    )
    return recall(query, now=NOW)


def found(result: Recall) -> set[str]:
    return {item.entry.content for item in result.ranked}


PORTS = ["the port is 1", "the port is 2", "the port is 3", "the port is 4", "the port is 5"]


@pytest.fixture
def apollo(scope: Scope) -> Scope:
    facts(scope, "apollo", *(f"apollo: {port}" for port in PORTS))
    facts(scope, "zeus", "the port of the shop is 9")
    facts(scope, "_global", "every port is below 1024")
    facts(scope, "", "a port is open at night")
    return scope


def test_facts_of_the_named_project_and_of_none_are_recalled(apollo: Scope) -> None:
    contents = found(ask(apollo, "which port has apollo?"))
    assert "the port of the shop is 9" not in contents
    assert contents >= {"apollo: the port is 1", "every port is below 1024", "a port is open at night"}


def test_a_message_that_names_none_recalls_all(apollo: Scope) -> None:
    assert "the port of the shop is 9" in found(ask(apollo, "which port is it?"))


@pytest.mark.parametrize("message", ["which port have apollo and zeus?", "APOLLO port or Zeus port?"])
def test_a_message_that_names_two_recalls_both(apollo: Scope, message: str) -> None:
    assert {"apollo: the port is 1", "the port of the shop is 9"} <= found(ask(apollo, message))


def test_why_a_fact_was_left_out_is_told(apollo: Scope) -> None:
    (left,) = ask(apollo, "which port has apollo?").excluded
    assert (left.entry.content, left.reason) == ("the port of the shop is 9", "other_project")


def test_what_is_no_fact_is_never_hidden(apollo: Scope) -> None:
    for project in ("zeus", ""):
        entries.remember(
            make_draft(apollo, f"a note on the port of {project or 'all'}", project=project), now=NOW, actor="t"
        )
    apollo.refresh_from_db()
    assert {"a note on the port of zeus", "a note on the port of all"} <= found(ask(apollo, "which port has apollo?"))


def test_with_fewer_than_five_the_others_are_asked_by_their_words(scope: Scope) -> None:
    facts(scope, "apollo", "apollo has a port", "apollo is old")
    facts(scope, "zeus", "the port of the shop is 9", "zeus likes tea")
    contents = found(ask(scope, "which port has apollo?"))
    assert "the port of the shop is 9" in contents and "zeus likes tea" not in contents


def test_facts_nobody_may_see_do_not_count_as_enough(apollo: Scope) -> None:
    for entry in Entry.objects.filter(project="apollo")[:3]:
        entries.expire(entry, now=NOW, actor="test")
    assert "the port of the shop is 9" in found(ask(apollo, "which port has apollo?"))


def test_a_project_known_elsewhere_narrows_nothing_here(apollo: Scope, workspace: Workspace) -> None:
    other = make_scope(workspace, "telegram:direct_u43")
    facts(other, "zeus", "the port of the shop is 9")
    assert found(ask(other, "which port has apollo?")) == {"the port of the shop is 9"}


def test_a_chinese_project_is_named_too(scope: Scope) -> None:
    facts(scope, "天狼星", *(f"天狼星的端口是{n}00" for n in range(1, 6)))
    facts(scope, "織女", "商店的端口是900", "织女喜欢喝茶")
    assert "商店的端口是900" not in found(ask(scope, "天狼星的端口是多少？"))
    assert "商店的端口是900" in found(ask(scope, "端口是多少？"))
    assert projects_named("织女项目的端口是多少？", scope.projects) == ["織女"]


@pytest.mark.parametrize(
    ("message", "project", "named"),
    [
        ("good morning", "go", False),
        ("let us go now", "go", True),
        ("is that all there is", "all", False),  # a word like others
        ("who leads the project all?", "all", True),
        ("支付宝怎么用", "支付", False),
        ("支付的端口是多少", "支付", True),
        ("how is C++ built", "C++", True),
        ("take vitamin C", "C++", False),
        ("ｗｅｂ ｓｈｏｐ is slow", "Web Shop", True),
        ("all of it", "_global", False),
    ],
)
def test_a_project_is_named_by_its_name_alone(message: str, project: str, named: bool) -> None:
    assert bool(projects_named(message, [project])) is named


def test_a_project_given_by_an_edit_is_known_at_once(scope: Scope) -> None:
    facts(scope, "", "the port is 1")
    entries.update(Entry.objects.get(), entries.Edit(columns={"project": "Hermes"}), now=NOW, actor="test")
    scope.refresh_from_db()
    assert scope.projects == ["Hermes"]


def test_a_project_nothing_is_known_of_any_more_is_forgotten_at_night(apollo: Scope, workspace: Workspace) -> None:
    entries.expire(Entry.objects.get(project="zeus"), now=NOW, actor="test")
    maintenance.count_terms_anew(workspace.pk)
    apollo.refresh_from_db()
    assert apollo.projects == ["apollo", "_global"]


@pytest.mark.thorough
def test_a_bot_may_ask_for_one_project_or_topic(api: Api, scope: Scope) -> None:
    facts(scope, "apollo", "apollo: the port is 1", topic="network")
    facts(scope, "apollo", "apollo: the port is blue", topic="colours")
    facts(scope, "zeus", "the port of the shop is 9", topic="network")

    def contents(**asked: str) -> set[str]:
        answer = api.post("recall", {"scope": scope.key, "message": "which port is it?", **asked})
        return {memory["content"] for memory in answer.json()["memories"]}

    assert contents(topic="network") == {"apollo: the port is 1", "the port of the shop is 9"}
    assert contents(project="apollo", topic="network") == {"apollo: the port is 1"}
    assert contents(project="hera") == set()

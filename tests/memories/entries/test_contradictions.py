"""A line of the profile that something newer makes untrue is shown as contradicted, and handed out no more (D1)."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from memories import batches
from memories.batches.steps import CreateStep
from memories.entries import CONTRADICTED_BY, Edit, expire, remember, update
from memories.language.compare import outdates
from memories.models import Entry, Policy, Scope
from memories.recall import Query, SearchScope, recall
from memories.recall.answer import profile_of
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, TELEGRAM, Api, make_draft
from tests.memories.language.contradiction_pairs import pairs

LINE, NEWER = "Pam works at Acme", "Pam no longer works at Acme, works at Globex"
LATER = NOW + timedelta(days=1)


def put(scope: Scope, content: str, *, tier: int | None = None, **kwargs: Any) -> Entry:
    kind = {"type": "fact", "tier": tier} if tier else {}
    at = kwargs.pop("at", LATER)
    return remember(make_draft(scope, content, at=at, **kind, **kwargs), now=at, actor="bot:test").entry


def line(scope: Scope, content: str = LINE, **kwargs: Any) -> Entry:
    return put(scope, content, tier=1, at=NOW, **kwargs)


def query(scope: Scope, message: str = "where does Pam work?") -> Query:
    scope.refresh_from_db()
    place = SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))
    return Query(workspace_id=scope.workspace_id, places=[place], message=message, limit=8, need="off", explain=True)


def profile(scope: Scope) -> list[str]:
    return [fact.content for fact in profile_of(query(scope), Policy.objects.of(scope.workspace_id), now=LATER)]


def served(scope: Scope) -> set[str]:
    return {item.entry.content for item in recall(query(scope), now=LATER).served}


def mark_of(entry: Entry) -> str | None:
    return Entry.objects.get(pk=entry.pk).slots.filter(name=CONTRADICTED_BY).values_list("value", flat=True).first()


@pytest.mark.parametrize("name", ["contradicting", "compatible"])
def test_pairs_of_a_line_and_something_newer(name: str) -> None:
    chosen = pairs(name)
    right = sum(outdates(newer, old) == (name == "contradicting") for old, newer in chosen)
    assert len(chosen) == 30 and right >= (26 if name == "contradicting" else 30)


HOME, WORK = "The user lives in Berlin.", "The user works at Siemens."


@pytest.mark.parametrize(
    ("old", "newer"),
    [
        *(
            (HOME, newer)
            for newer in (
                "User moved to Linux",
                "The user moved to Slack.",
                "The user moved to a new desk.",
                "The user moved to the marketing team.",
                "The user has moved from Jira to Linear.",
                "The user moved into management.",
                "The user moved to Postgres 16 last week.",
                "The user settled in well at work.",
                "We moved to Kubernetes last week.",
            )
        ),
        *(
            ("用户住在北京。", newer)
            for newer in (
                "用户搬到了新办公室。",
                "用户搬到了Linux。",
                "用户搬到新工位了。",
                "用户迁到阿里云了。",
                "用户搬去市场部了。",
                "用户搬到VS Code了。",
            )
        ),
        *(
            (WORK, newer)
            for newer in (
                "The user joined a choir.",
                "The user joined a gym.",
                "The user joined the beta program.",
                "The user joined Netflix.",
                "The user joined the company choir.",
                "The user joined the call as a guest.",
                "The user joined a club as treasurer.",
                "The user started at a new gym.",
                "The user started with yoga.",
                "The user started working with a new trainer.",
                "The user started working at seven.",
                "The user started work at 7.",
                "The user retired the old server.",
                "The user now works at night.",
            )
        ),
        ("用户在西门子工作。", "用户参加了入职培训。"),
        ("用户在西门子工作。", "用户入职三周年了。"),
        ("用户在西门子工作。", "用户加入了合唱团。"),
    ],
)
def test_software_a_desk_and_a_gym_hide_neither_home_nor_employer(old: str, newer: str) -> None:
    assert not outdates(newer, old)


@pytest.mark.parametrize(
    ("old", "newer"),
    [
        *((HOME, newer) for newer in ("The user moved to Munich.", "The user has moved from Berlin to Lyon.")),
        *((HOME, newer) for newer in ("The user relocated to San Francisco.", "We moved to Lyon last week.")),
        *((HOME, newer) for newer in ("The user moved into a flat in Bonn.", "The user settled in Oslo.")),
        *(("用户住在北京。", newer) for newer in ("用户搬到了杭州。", "用户搬家到成都了。", "用户搬到Boston了。")),
        *((WORK, newer) for newer in ("The user joined Bosch as an engineer.", "The user joined the team at Bosch.")),
        *((WORK, newer) for newer in ("The user started working at Bosch.", "The user started a new job at Bosch.")),
        *((WORK, newer) for newer in ("The user joined a new company last month.", "The user retired.")),
        *((WORK, newer) for newer in ("The user now works for Bosch.", "The user started at a new firm.")),
        *(("用户在西门子工作。", newer) for newer in ("用户入职博世了。", "用户跳槽到博世了。")),
    ],
)
def test_a_move_and_a_new_employer_do(old: str, newer: str) -> None:
    assert outdates(newer, old)


@pytest.mark.django_db
def test_a_line_stays_in_the_profile_beside_a_gym_and_an_operating_system(scope: Scope) -> None:
    lines = [line(scope, content, category="identity") for content in (HOME, WORK)]
    for content in ("The user joined a gym.", "The user moved to Linux."):
        put(scope, content, tier=2, category="identity")
    assert [mark_of(entry) for entry in lines] == [None, None]
    assert set(profile(scope)) == {HOME, WORK}


@pytest.mark.django_db
@pytest.mark.parametrize("tier", [None, 1, 2])
def test_it_is_handed_out_no_more_at_once(scope: Scope, tier: int | None) -> None:
    old = line(scope)
    assert profile(scope) == [LINE] and LINE in served(scope)
    newer = put(scope, NEWER, tier=tier)
    assert LINE not in profile(scope) and served(scope) == {NEWER}
    assert mark_of(old) == str(newer.uid) and Entry.objects.get(pk=old.pk).is_live()


@pytest.mark.django_db
def test_who_takes_the_mark_away_says_that_it_is_true_still(scope: Scope) -> None:
    old = line(scope)
    put(scope, NEWER)
    update(old, Edit(slots={CONTRADICTED_BY: None}), now=LATER, actor="user:ann")
    assert profile(scope) == [LINE]
    put(scope, NEWER, at=LATER + timedelta(hours=1))  # said again: nothing new
    assert profile(scope) == [LINE]


@pytest.mark.django_db
def test_without_the_newer_statement_the_line_holds_again(scope: Scope) -> None:
    line(scope)
    newer = put(scope, NEWER)
    expire(newer, now=LATER, actor="user:ann")
    assert profile(scope) == [LINE]


@pytest.mark.django_db
@pytest.mark.parametrize("kwargs", [{"pinned": True}])
def test_what_people_pinned_is_not_marked(scope: Scope, kwargs: dict[str, Any]) -> None:
    old = line(scope, **kwargs)
    put(scope, NEWER)
    assert mark_of(old) is None and profile(scope) == [LINE]


@pytest.mark.django_db
def test_what_was_said_before_makes_nothing_untrue(scope: Scope) -> None:
    old = line(scope)
    put(scope, NEWER, at=NOW - timedelta(days=1))
    assert mark_of(old) is None


@pytest.mark.django_db
def test_of_a_batch_it_is_taken_back_with_the_batch(scope: Scope) -> None:
    old = line(scope)
    draft = make_draft(scope, NEWER, at=LATER, type="fact", tier=2)
    steps = [batches.PlanRow(step=CreateStep(draft=draft))]
    made = batches.plan(scope, steps, name="extract", run="extract:1", actor="job:extract", now=LATER)
    made = batches.apply_batch(made, now=LATER)
    assert profile(scope) == []
    batches.apply_batch(batches.plan_undo(made, actor="user:ann", now=LATER), now=LATER)
    assert profile(scope) == [LINE] and mark_of(old) is None


@pytest.mark.django_db
def test_the_answer_and_the_context_say_so(api: Api) -> None:
    scope = "telegram:direct_u42"
    saved = api.post("entries", {"scope": scope, "type": "fact", "tier": 1, "content": "用户住在上海"}).json()
    assert saved["contradicted_by"] is None
    newer = api.post("entries", {"scope": scope, "type": "fact", "content": "用户上个月搬到杭州了"}).json()
    answer = api.get(f"entries/{saved['id']}").json()
    assert (answer["contradicted_by"], answer["state"]) == (newer["id"], "live")
    context = api.post("context", {"address": TELEGRAM, "message": "你知道我什么？"}).json()
    assert "用户住在上海" not in str(context)
    update(Entry.objects.get(uid=saved["id"]), Edit(slots={CONTRADICTED_BY: None}), now=LATER, actor="user:ann")
    assert "用户住在上海" in str(api.post("context", {"address": TELEGRAM, "message": "你知道我什么？"}).json())


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("王梅住在杭州西湖区", "王梅住在杭州滨江区"),
        ("Mei lives in the west of Hangzhou", "Mei lives in Ningbo"),
    ],
)
@pytest.mark.parametrize("kind", ["user_explicit", "fact"])
def test_of_two_saved_identities_that_exclude_each_other_the_older_is_disputed_and_stays(
    api: Api, client: Client, older: str, newer: str, kind: str
) -> None:
    scope = "telegram:direct_u42"
    saved = [
        api.post("entries", {"scope": scope, "type": kind, "category": "identity", "content": content}).json()
        for content in (older, newer, "王梅会游泳")
    ]
    shown = [api.get(f"entries/{entry['id']}").json() for entry in saved]
    assert [row["contradicted_by"] for row in shown] == [saved[1]["id"], None, None]
    assert {row["state"] for row in shown} == {"live"}
    client.force_login(User.objects.create_superuser("ann"))
    rows = client.get("/admin/memories/entry/?view=disputed").content.decode()
    assert older in rows and newer not in rows
    page = client.get(f"/admin/memories/entry/{Entry.objects.get(uid=saved[0]['id']).pk}/change/").content.decode()
    assert newer in page and "something newer says otherwise; a person decides:" in page
    context = api.post("recall", {"address": TELEGRAM, "message": "Where does Mei live? 王梅住在哪里？"}).json()[
        "context"
    ]
    assert older in context and newer in context

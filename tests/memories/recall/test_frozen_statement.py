"""Every variant of recall's statement finds the same rows with the same scores by the same plan as it did.

A commit that changes frozen_statement.json says in its message what changed and why. Where a change is meant, the file
is written anew by a run with WRITE_FROZEN_STATEMENT=1.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from memories import embeddings, entries
from memories.choices import Category, EntryType, ScopeKind
from memories.index import worker
from memories.models import Entry, Scope, Workspace
from memories.recall import Mode, Query, SearchScope, candidates, recall, vector
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_draft, make_scope

pytestmark = pytest.mark.django_db
FROZEN = Path(__file__).with_name("frozen_statement.json")
LATER = NOW + timedelta(days=3)
#: What the planner knows of these tables is what the fixture put there, whatever other tests left behind.
READ = "memories_entry, memories_entryindex, memories_entryvector, memories_entryaccess, memories_slot"
#: Of so few rows any way is as good as another: these are not there, as they are not taken with thousands.
OTHER_INDEXES = "entry_live_by_age, entry_live_fingerprint, entry_of_scope_by_time, entry_live_core, entry_neighbours"
ONE_WAY = (
    "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_mergejoin = off;"
    " SET LOCAL enable_hashjoin = off; SET LOCAL enable_memoize = off; SET LOCAL jit = off;"
    " SET LOCAL enable_material = off; SET LOCAL enable_incremental_sort = off;"
    " SET LOCAL max_parallel_workers_per_gather = 0"
)
TALK = [
    ("Mia", "Hello Ben, how was the pottery class last week?"),
    ("Ben", "It was great, I made a blue bowl for my sister yesterday."),
    ("Mia", "A bowl! I signed up for a violin lesson on 27 February."),
    ("Ben", "Mia, your violin teacher will be fun, Anna said."),
    ("Mia", "I practise the violin three times a week."),
    ("Ben", "User: I paint bowls\nAssistant: Which colour?"),
]
SAID = [
    "I live in Hangzhou near the lake",
    "My cat Mochi sleeps all day",
    "The server of staging listens on port 8080",
    "C++ is used in module a_b of the build",
    "我的猫叫麻薯",
    "昨天带猫去看了兽医",
    "The ＷＩＤＥ letters stand on the door",
    "My sister Lena plays the piano",
]


@dataclass(frozen=True)
class Variant:
    """A question, what is asked besides its words, and the settings it is asked under."""

    message: str
    asked: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    scopes: tuple[str, ...] = ("user",)
    in_group: bool = False
    has_vectors: bool = True
    reads_leading: bool = False
    is_of_before: bool = False


RRF = {"MEMORY_FUSION": "rrf"}
VARIANTS = {
    "hybrid": Variant("where does my cat sleep?"),
    "hybrid_chinese": Variant("我的猫叫什么名字？"),
    "without_vectors": Variant("where does my cat sleep?", has_vectors=False),
    "vector": Variant("where does my cat sleep?", {"mode": Mode.VECTOR}),
    "keyword": Variant("C++ wide a_b", {"mode": Mode.KEYWORD}),
    "keyword_of_a_label": Variant("user: bowls", {"mode": Mode.KEYWORD}, scopes=("chat",)),
    "full_text": Variant("port of staging", {"mode": Mode.FTS}),
    "full_text_of_one_character": Variant("猫", {"mode": Mode.FTS}),
    "days": Variant("what did I do on 27 February 2026 and on 1 March 2026?"),
    "no_days_counted": Variant("what did I do on 27 February 2026?", {"include_session_events": True}),
    "one_of_several_speakers": Variant("When did Mia sign up for a violin lesson?", scopes=("chat",)),
    "one_of_several_speakers_without_vectors": Variant(
        "When did Mia sign up for a violin lesson?", scopes=("chat",), has_vectors=False
    ),
    "two_scopes": Variant("who plays an instrument?", scopes=("user", "chat")),
    "in_a_group": Variant("who plays an instrument?", scopes=("user", "chat"), in_group=True),
    "ranks": Variant("where does my cat sleep?", settings=RRF),
    "ranks_of_a_speaker": Variant("When did Mia sign up for a violin lesson?", settings=RRF, scopes=("chat",)),
    "ranks_without_vectors": Variant("where does my cat sleep?", settings=RRF, has_vectors=False),
    "leading_rows": Variant("where does my cat sleep?", reads_leading=True),
    "as_of": Variant("where does my cat sleep?", is_of_before=True),
    "filters": Variant(
        "what do I know of the server?",
        {
            "types": [EntryType.FACT, EntryType.USER_EXPLICIT],
            "project": "apollo",
            "topic": "ports",
            "since": NOW - timedelta(days=1),
            "until": NOW + timedelta(days=1),
            "filters": {"channel": "telegram", "scope": "user", "mood": "calm"},
        },
    ),
    "before_an_entry": Variant("what do I know of the cat?", {"before_entry": 10**12}),
    "a_named_project": Variant("which port has apollo?"),
    "a_secret": Variant("what is the wifi password?"),
    "a_secret_without_vectors": Variant("what is the wifi password?", has_vectors=False),
    "the_newest": Variant("what did we talk about before?", has_vectors=False),
    "what_was_only_asked": Variant("did I ask you about the weather?"),
    "explained": Variant("where does my cat sleep?", {"explain": True}),
}


@pytest.fixture
def scopes(workspace: Workspace) -> dict[str, Scope]:
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {READ} CASCADE")
    user, chat = make_scope(workspace), make_scope(workspace, "telegram:group_g1", ScopeKind.CHAT)
    drafts = [make_draft(user, content, at=NOW + timedelta(minutes=n)) for n, content in enumerate(SAID)]
    facts = {"type": EntryType.FACT, "tier": 2, "importance": 0.8}
    drafts += [
        make_draft(user, f"apollo uses the port {n}", project="apollo", **facts) for n in ("81", "82", "83", "84", "85")
    ]
    drafts += [
        make_draft(user, "zeus uses the port 91", project="zeus", **facts),
        make_draft(
            user, "apollo listens on the server at port 86", project="apollo", topic="ports",
            slots={"channel": "telegram", "mood": "calm"}, **facts,
        ),
        make_draft(user, "the wifi password is tulip42", category=Category.CREDENTIAL),
        make_draft(user, "the bank password is rose77", category=Category.CREDENTIAL),
        make_draft(
            user, "User: what is the weather?\nAssistant: It rains.", type=EntryType.CHAT_TURN,
            slots={"sender_id": "u42"},
        ),
    ]  # fmt: skip
    drafts += [
        make_draft(
            chat,
            content,
            at=NOW + timedelta(minutes=n),
            slots={"speaker": speaker, "session_id": "s1", "chat_id": "g1"},
        )
        for n, (speaker, content) in enumerate(TALK)
    ]
    done = entries.remember_many(drafts, now=NOW, actor="test")
    worker.drain(now=NOW)
    Entry.objects.filter(pk=done[0].entry.pk).update(archived_at=NOW)
    vector.forget_centroids()
    candidates.forget_leading()
    Workspace.objects.filter(pk=workspace.pk).update(created_at=NOW - timedelta(days=1))
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {READ}")
    return {"user": Scope.objects.get(pk=user.pk), "chat": Scope.objects.get(pk=chat.pk)}


def nodes(plan: dict[str, Any], depth: int = 0) -> Iterator[str]:
    """A line for every node of a plan: what it does, and the table it reads."""
    yield " ".join(filter(None, ["." * depth + plan["Node Type"], plan.get("Relation Name"), plan.get("Index Name")]))
    for child in plan.get("Plans", ()):
        yield from nodes(child, depth + 1)


def plans_of(ask: Callable[[], Any]) -> list[list[str]]:
    """How PostgreSQL carries out each ranking statement that is sent meanwhile."""
    plans: list[list[str]] = []

    def explained(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "ORDER BY fused" in sql:
            with connection.connection.cursor() as cursor:
                plan = cursor.execute("EXPLAIN (FORMAT JSON) " + sql, params).fetchone()[0]
            plans.append(list(nodes(plan[0]["Plan"])))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explained):
        ask()
    return plans


def as_frozen(value: Any) -> Any:
    """A value as the file keeps it: numbers to six digits."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def answer(variant: Variant, scopes: dict[str, Scope], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The plans, the rows with every part of their scores, and what is served."""
    if not variant.has_vectors:
        monkeypatch.setattr(embeddings, "embed_query", lambda *_args, **_kwargs: None)
    settings = dict(variant.settings)
    if variant.reads_leading:
        monkeypatch.setattr(candidates, "LEADING_LEAST_ENTRIES", 10)
        settings["MEMORY_RECALL_CANDIDATES"] = 4
    places = [
        SearchScope(
            scope,
            ScopeRef(
                key=scope.key,
                kind=scope.kind,
                in_group=variant.in_group,
                only_chat="telegram:group_g1" if variant.in_group and scope.kind == ScopeKind.USER else None,
            ),
        )
        for scope in (scopes[name] for name in variant.scopes)
    ]
    limit = 2 if variant.reads_leading else 8
    asked = {"limit": limit, "need": "off", "quotas": False, "token_budget": 2_000} | variant.asked
    now = LATER
    if variant.is_of_before:  # changes are noted by the clock of the database
        asked["as_of"] = now = timezone.now()
        Entry.objects.update(archived_at=now)
    query = Query(workspace_id=places[0].scope.workspace_id, places=places, message=variant.message, **asked)
    with override_settings(**settings):
        result = recall(query, now=now)
        vector.forget_centroids()
        with connection.cursor() as cursor:
            cursor.execute(f"DROP INDEX IF EXISTS {OTHER_INDEXES}; {ONE_WAY}")
        plans = plans_of(lambda: recall(query, now=now))
    rows = [
        {
            "content": item.entry.content,
            "score": None if variant.is_of_before else as_frozen(item.score),  # of the clock
            "reason": item.reason,
            **{
                name: as_frozen(value)
                for name, value in asdict(item.candidate).items()
                if name not in ("entry_id", "scope_id", "last_accessed", "embedding")
            },
        }
        for item in (*result.ranked, *result.excluded)
    ]
    return {"plans": plans, "rows": rows, "context": result.context, "verdict": result.answerability.verdict}


@pytest.mark.thorough
@pytest.mark.parametrize("name", VARIANTS)
def test_the_statement_finds_the_same_by_the_same_plan(
    name: str, scopes: dict[str, Scope], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = json.loads(json.dumps(answer(VARIANTS[name], scopes, monkeypatch)))
    frozen = json.loads(FROZEN.read_text()) if FROZEN.exists() else {}
    if os.environ.get("WRITE_FROZEN_STATEMENT"):
        frozen[name] = result
        FROZEN.write_text(json.dumps(frozen, ensure_ascii=False, indent=1, sort_keys=True) + "\n")
    assert result["rows"] == frozen[name]["rows"]
    assert result["plans"] == frozen[name]["plans"]
    assert result == frozen[name]

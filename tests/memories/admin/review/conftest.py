"""Questions of the review: proposals that wait for a person, and how they are answered."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memories import batches
from memories import entries as store
from memories.batches import PlanRow
from memories.batches.steps import ExpireStep, Successor, SupersedeStep
from memories.choices import HoldReason, Verification
from memories.entries.draft import QuotedWords
from memories.models import Batch, Entry, Scope
from tests.conftest import make_draft
from tests.memories.admin.conftest import House

REVIEW = "/admin/review/"
SAID = datetime(2026, 3, 1, 8, 30, tzinfo=timezone.get_default_timezone())


def fact(scope: Scope, content: str, quote: str = "", *, importance: float = 0.5, **kwargs: Any) -> Entry:
    """What a model made of a conversation, with the words it quotes."""
    words = QuotedWords(origin=f"s/1/event-{content}", start=0, end=len(quote), quote=quote, at=SAID, speaker="Mia")
    draft = make_draft(
        scope, content, type="fact", tier=2, source=kwargs.pop("source", "extraction"), importance=importance,
        evidence=(words,) if quote else (), verification=Verification.VERIFIED if quote else "", **kwargs,
    )  # fmt: skip
    return store.remember(draft, now=timezone.now(), actor="job:extract").entry


def ask(scope: Scope, steps: Iterable[PlanRow], run: str) -> Batch:
    """A proposal that waits for a person."""
    now = timezone.now()
    plan = batches.plan(scope, steps, name="extract", run=run, actor="job:extract", now=now, judged=True)
    batches.require_approval(plan, HoldReason.CONTRADICTED, rows=1)
    return plan


def replacing(old: Entry, new: Entry, run: str) -> Batch:
    step = SupersedeStep(into=Successor(entry=new.pk))
    return ask(old.scope, [PlanRow(step=step, entry_id=old.pk, version=old.version)], run)


def expiring(entries: list[Entry], run: str) -> Batch:
    return ask(entries[0].scope, [PlanRow.of(entry, ExpireStep(suppress=False)) for entry in entries], run)


def answer(client: Client, batch: Batch, do: str, **more: Any) -> Any:
    return client.post(REVIEW, {"batch": batch.pk, "do": do, **more}, follow=True)


def undo(client: Client) -> Any:
    return client.post(REVIEW, {"do": "undo"}, follow=True)


def in_use(scope: Scope) -> set[str]:
    return set(Entry.objects.in_scope(scope).live().filter(type="fact").values_list("content", flat=True))


def state(batch: Batch) -> str:
    return Batch.objects.get(pk=batch.pk).state


@pytest.fixture
def tea(mine: House) -> Batch:
    """What Mia drinks: two facts that cannot both be true."""
    old = fact(mine.scope, "Mia likes tea.", "a cup of tea is all I need", importance=0.4)
    return replacing(old, fact(mine.scope, "Mia does not like tea.", "no tea for me"), "tea")


@pytest.fixture
def home(mine: House) -> Batch:
    """Where Mia lives: more important, so it is asked first."""
    old = fact(mine.scope, "米娅住在上海。", "我住在上海", importance=0.9)
    return replacing(old, fact(mine.scope, "米娅住在杭州。", "我在杭州的新家"), "home")

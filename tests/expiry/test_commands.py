"""The work of the night by hand: `manage.py expire` and `manage.py restore`."""

import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memories.models import Batch, Entry, Parcel, Scope, Workspace
from tests.conftest import NOW, TELEGRAM, Api, make_key, make_scope
from tests.expiry.conftest import SAID, expire, live, remember

pytestmark = pytest.mark.django_db


def said(command: str, *words: str) -> Any:
    out = io.StringIO()
    call_command(command, *words, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_expire_counts_first_and_then_does_as_the_night_would(workspace: Workspace, scope: Scope) -> None:
    remember(scope, *SAID)
    assert said("expire", "--dry-run", "--now", NOW.isoformat()) == {"scopes": 1, "entries": 4}
    assert (live(scope), Batch.objects.count()) == (set(SAID), 0)
    assert said("expire", "--now", NOW.isoformat()) == {"scopes": 1, "entries": 4}
    assert live(scope) == set()
    assert Batch.objects.get().actor.startswith("command:")
    assert said("expire", "--now", NOW.isoformat()) == {"scopes": 0, "entries": 0}


def test_as_if_it_were_another_time(workspace: Workspace, scope: Scope) -> None:
    remember(scope, *SAID, days_ago=0)
    for days, entries in ((29, 0), (30, 4)):
        counts = said("expire", "--dry-run", "--now", (NOW + timedelta(days=days)).isoformat())
        assert counts["entries"] == entries


def test_one_workspace_is_worked_on_alone(workspace: Workspace, stranger: Workspace, scope: Scope) -> None:
    theirs = make_scope(stranger)
    for place in (scope, theirs):
        remember(place, *SAID)
    said("expire", "--workspace", workspace.name)
    assert (live(scope), live(theirs)) == (set(), set(SAID))
    with pytest.raises(CommandError, match="Alice's, Charlie's|Charlie's, Alice's"):
        said("expire", "--workspace", "nobody's")


def test_restore_brings_back_a_time_or_a_batch_with_a_term(workspace: Workspace, scope: Scope) -> None:
    remember(scope, *SAID)
    expire(workspace)
    at, batch = ["--now", (NOW + timedelta(hours=5)).isoformat()], Batch.objects.get()
    assert said("restore", "--last-night", "--dry-run", *at) == {"scopes": 1, "entries": 4}
    assert live(scope) == set()
    since = ["--since", (NOW + timedelta(hours=1)).isoformat()]
    assert said("restore", *since, *at)["entries"] == 0
    assert said("restore", "--batch", str(batch.uid), "--term", "30d", *at) == {"scopes": 1, "entries": 4}
    assert live(scope) == set(SAID)
    assert Entry.objects.earliest("pk").expires_at == NOW + timedelta(hours=5, days=30)


@pytest.mark.parametrize(
    "words",
    [
        ["--batch", "00000000-0000-7000-8000-000000000000"],
        ["--since", "some day"],
        ["--last-night", "--term", "long"],
        ["--last-night", "--since", "2026-01-01"],
        [],
    ],
)
def test_what_cannot_be_meant_is_refused(workspace: Workspace, words: list[str]) -> None:
    with pytest.raises(CommandError):
        said("restore", *words)


def test_people_read_plain_words(workspace: Workspace, scope: Scope) -> None:
    remember(scope, *SAID)
    out = io.StringIO()
    call_command("expire", stdout=out)
    assert out.getvalue() == "scopes 1, entries 4\n"


def test_extract_counts_first_and_works_on_one_workspace_alone(workspace: Workspace, stranger: Workspace) -> None:
    for owner in (workspace, stranger):
        Api(make_key(owner)).post("turns", {"address": TELEGRAM, "user": "我家的猫叫年糕", "assistant": "Noted."})
    assert said("extract", "--dry-run") == {"parcels": 0}  # it has not been quiet for long enough
    assert said("extract", "--dry-run", "--now") == {"parcels": 2}
    counts = said("extract", "--now", "--workspace", workspace.name)
    assert (counts["sealed"], counts["parcels"]) == (1, 1)
    assert Parcel.objects.get().workspace == stranger


def test_compress_counts_what_the_model_would_be_asked_about(workspace: Workspace, scope: Scope) -> None:
    days = said("compress", "days", "--dry-run")
    facts = said("compress", "facts", "--dry-run", "--workspace", workspace.name)
    assert said("compress", "--dry-run") == days | facts
    assert set(days.values()) | set(facts.values()) == {0}
    assert said("compress").get("facts", 0) == 0  # without a model nothing is judged

"""What a person or bot took out stays out, of every way of reading, until somebody brings it back (A15)."""

from typing import Any

import pytest

from memories import entries
from memories.choices import MACHINE_SOURCES, Outcome, Source
from memories.models import Entry, Scope, Suppression
from tests.conftest import NOW, Api, make_draft

pytestmark = pytest.mark.django_db
WORDS = "我的身份证号在蓝色文件夹里 my passport is in the blue folder"
EVENT = "session_events/s/1/event-7"


def put(scope: Scope, content: str = WORDS, **kwargs: Any) -> entries.WriteResult:
    return entries.remember(make_draft(scope, content, **kwargs), now=NOW, actor="bot:alice")


def take_out(entry: Entry) -> None:
    entries.expire(entry, now=NOW, actor="user:alice")


def served(api: Api, scope: Scope) -> list[str]:
    body = {"scope": scope.key, "message": "where is my passport folder?", "need": "off", "quotas": False}
    return [memory["content"] for memory in api.post("recall", body).json()["memories"]]


@pytest.mark.parametrize("source", sorted(MACHINE_SOURCES))
def test_no_machine_writes_again_what_a_person_took_out(scope: Scope, source: str) -> None:
    gone = put(scope).entry
    take_out(gone)
    again = put(scope, WORDS.upper(), source=source)
    assert (again.outcome, again.entry) == (Outcome.SUPPRESSED, gone)
    assert Entry.objects.live().count() == 0


def test_nor_does_it_say_in_other_words_what_rests_on_the_same_message(scope: Scope) -> None:
    take_out(put(scope, origins=(EVENT,)).entry)
    reworded = put(scope, "the papers are kept in something blue", source=Source.EXTRACTION, origins=(EVENT,))
    assert reworded.outcome is Outcome.SUPPRESSED
    on_more = put(scope, "a fact of two messages", source=Source.EXTRACTION, origins=(EVENT, "another"))
    assert on_more.outcome is Outcome.CREATED


def test_the_turn_it_came_from_is_left_out_too_until_it_is_restored(api: Api, scope: Scope) -> None:
    turn = put(scope, "User: my passport is blue\nAssistant: kept", origins=(EVENT,)).entry
    fact = put(scope, "the passport folder is blue", origins=(EVENT,)).entry
    assert len(served(api, scope)) == 2
    take_out(fact)
    assert served(api, scope) == []
    assert api.get(f"entries/{turn.uid}").json()["state"] == "suppressed"
    entries.restore(fact, now=NOW, actor="user:alice")
    assert len(served(api, scope)) == 2
    assert not Suppression.objects.exists()


def test_a_scope_of_another_knows_nothing_of_it(scope: Scope) -> None:
    take_out(put(scope).entry)
    other = Scope.objects.create(workspace=scope.workspace, key="telegram:direct_u43", kind="user")
    assert put(other, source=Source.EXTRACTION).outcome is Outcome.CREATED


def test_saying_it_on_purpose_brings_it_back_and_machines_may_follow(scope: Scope) -> None:
    take_out(put(scope).entry)
    saved = put(scope)
    assert (saved.outcome, saved.brought_back) == (Outcome.CREATED, True)
    assert put(scope, source=Source.EXTRACTION).outcome is Outcome.SKIPPED


def test_what_the_nightly_job_expires_is_not_held_against_anybody(scope: Scope) -> None:
    entries.expire(put(scope).entry, now=NOW, actor="job:expire", suppress=False)
    assert put(scope, source=Source.EXTRACTION).outcome is Outcome.CREATED


def test_what_was_taken_out_is_in_no_list_of_what_is_live(api: Api, scope: Scope) -> None:
    gone = put(scope).entry
    assert api.request("DELETE", f"entries/{gone.uid}").status_code == 200
    assert served(api, scope) == []
    assert api.get("entries", scope=scope.key, state="live").json()["results"] == []
    assert [row["id"] for row in api.get("entries", scope=scope.key, state="expired").json()["results"]] == [
        str(gone.uid)
    ]

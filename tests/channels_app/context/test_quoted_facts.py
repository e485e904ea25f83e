"""What a bot is told of a fact that a model stated: the words it rests on, by the API and in the text (D5)."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories import entries
from memories.choices import Verification
from memories.models import Entry, Scope, Workspace
from tests.conftest import NOW, TELEGRAM, Api, make_scope
from tests.memories.quoting import SESSION, fact_of_model, quoted_words

pytestmark = pytest.mark.django_db
NUTS = "nuts make me swell up, so no pesto for me"
ASKED = "what am I allergic to?"


def recalled(api: Api, message: str = ASKED) -> dict[str, Any]:
    answer = api.post("recall", {"address": TELEGRAM, "message": message, "cache": False})
    assert answer.status_code == 200, answer.json()
    return dict(answer.json())


def statements(api: Api) -> int:
    with CaptureQueriesContext(
        connection,
    ) as asked:
        recalled(api)
    return len(asked)


def test_a_recalled_fact_says_what_it_rests_on(api: Api, scope: Scope) -> None:
    fact_of_model(scope, "Sam is allergic to nuts.", quoted_words(NUTS, event=7, speaker="Sam"))
    (memory,) = recalled(api)["memories"]
    assert memory["verification"] == "quoted"
    assert memory["evidence"] == [
        {"quote": NUTS, "event": f"{SESSION}/event-7", "at": "2026-02-27T09:00:00Z", "speaker": "Sam"}
    ]


def test_the_text_of_a_recall_has_the_words_of_a_quoted_fact(api: Api, scope: Scope) -> None:
    fact_of_model(scope, "Sam is allergic to nuts.", NUTS)
    answer = recalled(api)
    assert answer["context"].endswith(f"Sam is allergic to nuts («{NUTS}», 27 February)")


def test_in_a_chinese_workspace_the_words_stand_in_chinese_marks(api: Api, scope: Scope) -> None:
    Workspace.objects.update(language="zh-hans")
    fact_of_model(scope, "用户对花生过敏。", "我一吃花生就起疹子")
    answer = recalled(api, "我对什么过敏？")
    assert answer["context"].endswith("用户对花生过敏（「我一吃花生就起疹子」，2月27日）")


def test_a_verified_fact_is_told_without_its_words_and_answered_with_them(api: Api, scope: Scope) -> None:
    fact_of_model(scope, "Sam is allergic to nuts.", NUTS, verification=Verification.VERIFIED)
    answer = recalled(api)
    assert NUTS not in answer["context"]
    assert [row["quote"] for row in answer["memories"][0]["evidence"]] == [NUTS]
    assert answer["memories"][0]["verification"] == "verified"


def test_what_no_model_stated_has_no_evidence(api: Api, scope: Scope) -> None:
    api.post("entries", {"address": TELEGRAM, "content": "I am allergic to nuts"})
    (memory,) = recalled(api)["memories"]
    assert (memory["verification"], memory["evidence"]) == ("", [])


def test_words_of_a_redacted_message_are_told_nowhere(api: Api, scope: Scope) -> None:
    fact = fact_of_model(scope, "Sam is allergic to nuts.", NUTS, "and to shrimp, I think")
    turn = fact_of_model(scope, "Sam cannot stand pesto.", quoted_words("no pesto for me", event=1))
    entries.expire(turn, now=NOW, actor="user:alice")
    assert "swell" not in str(recalled(api))
    read = api.get(f"entries/{fact.uid}").json()
    assert [row["quote"] for row in read["evidence"]] == ["and to shrimp, I think"]


def test_evidence_takes_one_statement_and_none_without_a_fact_of_a_model(api: Api, scope: Scope) -> None:
    api.post("entries", {"address": TELEGRAM, "content": "I am allergic to nuts"})
    recalled(api)
    without = statements(api)
    for n, word in enumerate(("shrimp", "pollen", "cats")):
        fact_of_model(scope, f"Sam is allergic to {word}.", quoted_words(f"{word} make me ill", event=n))
    recalled(api)
    assert statements(api) == without + 1


def test_an_entry_is_read_with_what_it_rests_on_alone_and_in_a_list(api: Api, scope: Scope) -> None:
    fact = fact_of_model(scope, "Sam is allergic to nuts.", NUTS)
    api.post("entries", {"address": TELEGRAM, "content": "The bike is green"})
    read = api.get(f"entries/{fact.uid}").json()
    assert (read["verification"], [row["quote"] for row in read["evidence"]]) == ("quoted", [NUTS])
    listed = {row["content"]: row["evidence"] for row in api.get("entries").json()["results"]}
    assert listed["The bike is green"] == []
    assert [row["quote"] for row in listed["Sam is allergic to nuts."]] == [NUTS]


def test_the_evidence_of_a_page_is_read_at_once(api: Api, scope: Scope) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as seen:
            api.get("entries")
        return len(seen)

    for n in range(3):
        fact_of_model(scope, f"Sam is allergic to {'abc'[n]}.", quoted_words("it makes me ill", event=n))
    asked()
    few = asked()
    for n in range(3, 9):
        fact_of_model(scope, f"Mia rows on lake {'abcdefghi'[n]}.", quoted_words("I row there", event=n))
    assert asked() == few


def test_a_line_of_the_profile_that_is_only_quoted_stands_with_its_words(api: Api, scope: Scope) -> None:
    fact_of_model(scope, "Sam is a dentist.", "I fix teeth all day", tier=1, category="identity")
    fact_of_model(
        scope, "Sam lives in Porto.", "back home in Porto", tier=1, category="identity",
        verification=Verification.VERIFIED,
    )  # fmt: skip
    answer = api.post("context", {"address": TELEGRAM, "message": "good morning"}).json()
    assert "- Sam is a dentist («I fix teeth all day», 27 February)" in answer["text"]
    assert "- Sam lives in Porto.\n" in answer["text"] + "\n" and "back home" not in answer["text"]


def test_evidence_of_another_workspace_is_nobodys(api: Api, scope: Scope, stranger: Workspace) -> None:
    fact_of_model(make_scope(stranger), "Sam is allergic to nuts.", NUTS)
    mine = fact_of_model(scope, "Sam is allergic to cats.", "cats make me sneeze")
    read = api.get(f"entries/{mine.uid}").json()
    assert [row["quote"] for row in read["evidence"]] == ["cats make me sneeze"]
    assert Entry.objects.count() == 2

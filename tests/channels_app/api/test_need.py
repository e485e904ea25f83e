"""Whether a message needs memory, as a bot is told."""

import pytest

from tests.conftest import Api

pytestmark = pytest.mark.django_db


def test_a_known_project_makes_a_message_need_memory(api: Api) -> None:
    """A name that is nothing but a name to others is a reason to look here (D3)."""
    message = {"scope": "main", "message": "the falcon crate got updated"}
    api.post("entries", {"scope": "main", "content": "Builds take four minutes.", "project": "tower"})
    assert api.post("recall", message).json()["need"] == {"retrieve": False, "rule": "no_sign"}
    api.post("entries", {"scope": "main", "content": "Releases happen weekly.", "project": "falcon"})
    assert api.post("recall", message).json()["need"] == {"retrieve": True, "rule": "project"}

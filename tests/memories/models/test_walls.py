"""A table of a workspace says its walls itself, and one that does not is refused."""

import pytest
from django.db.models import Model

from memories.models import Bot, BotKey
from memories.models.walls import InsideWorkspace, WorkspacePolicy, walls_are_declared


def problems() -> list[str]:
    return [problem.msg for problem in walls_are_declared(None)]


def test_every_table_says_its_walls() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("model", "kind", "expected"),
    [
        (Bot, WorkspacePolicy, ["Bot has no WorkspacePolicy."]),
        (BotKey, InsideWorkspace, ["BotKey.bot may point elsewhere.", "BotKey.grant may point elsewhere."]),
    ],
)
def test_a_table_without_its_wall_is_named(
    model: type[Model], kind: type, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [wall for wall in model._meta.constraints if not isinstance(wall, kind)]
    monkeypatch.setattr(model._meta, "constraints", others)
    assert problems() == expected

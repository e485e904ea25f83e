"""The bot that talks of tests.sessions, its clock, and the world of three members."""

import pytest

from memories.models import Workspace
from tests.groups.members import World, make_world
from tests.sessions.conftest import talk, told_time

__all__ = ["talk", "told_time"]


@pytest.fixture
def world(workspace: Workspace) -> World:
    return make_world(workspace)


@pytest.fixture
def small_world(workspace: Workspace) -> World:
    return make_world(workspace, turns=30)

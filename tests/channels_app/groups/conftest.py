"""The bot that talks of tests.sessions_app, its clock, and the world of three members."""

from collections.abc import Iterator
from typing import Any

import pytest

from memories.models import Workspace
from tests.channels_app.groups.members import World, make_world
from tests.sessions_app.conftest import clock_of_calls, talk
from tests.support.shared_rows import kept_for_many

__all__ = ["talk", "clock_of_calls"]


@pytest.fixture(scope="package")
def the_world(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    with kept_for_many(lambda: make_world(Workspace.objects.create(name="Alice's")), django_db_blocker) as world:
        yield world


@pytest.fixture
def world(the_world: World, db: None) -> World:
    return the_world


@pytest.fixture
def workspace(world: World) -> Workspace:
    return Workspace.objects.get()

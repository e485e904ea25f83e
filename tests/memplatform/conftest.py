"""The people who come to the admin (tests.memories.admin), for the pages of the platform."""

import pytest

from memories.models import Workspace
from tests.memories.admin.conftest import OPEN, House, alice, charlie, dora, furnish, owner, theirs

__all__ = ["alice", "charlie", "dora", "owner", "theirs"]


@pytest.fixture
def mine(workspace: Workspace) -> House:
    return furnish(workspace, OPEN)

"""Two people and a group of theirs: the smallest workspace in which something can leak."""

import pytest

from evals.measurements.drill_mutations import inhabit
from memories.models import Workspace
from tests.conftest import NOW


@pytest.fixture
def inhabited(workspace: Workspace) -> Workspace:
    inhabit(workspace, NOW)
    return workspace

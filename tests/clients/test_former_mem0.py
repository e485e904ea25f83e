"""mem0's Python client of three times, unmodified, makes all its calls."""

from pathlib import Path
from typing import Any

import pytest

from memories.models import Workspace
from tests import ROOT
from tests.clients.__main__ import PAGE, row
from tests.clients.environments import MEM0_PYTHON, OWN_FAULTS, Client
from tests.conftest import make_key


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("client", MEM0_PYTHON, ids=lambda client: client.version)
def test_a_client_as_it_is_installed_makes_all_its_calls(
    client: Client, live_server: Any, workspace: Workspace, tmp_path: Path
) -> None:
    client.install()
    calls = client.calls(live_server.url, make_key(workspace), tmp_path)
    own = {call for label, version, call in OWN_FAULTS if (label, version) == (client.label, client.version)}
    assert {call: outcome for call, outcome in calls.items() if outcome != "ok" and call not in own} == {}
    assert row(client, calls, OWN_FAULTS) in (ROOT / PAGE).read_text(), "make clients writes it"

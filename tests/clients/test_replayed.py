"""What other people's clients were seen to send to the door of mem0 is answered as it was then."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from memories.models import Workspace
from tests.clients.environments import INTEGRATIONS, MEM0_CLI, MEM0_NPM, MEM0_PYTHON
from tests.clients.recording import DOOR, FOLDER, Recording, filled, fits, shape
from tests.conftest import make_key

RECORDINGS = sorted(FOLDER.glob("*.json"))


def replayed(request: Mapping[str, Any], key: str, answers: list[Any]) -> Any:
    """The answer to a recorded request; what it gives to later ones is added to the answers."""
    asked = json.loads(filled(json.dumps([request["path"], request["body"]]), answers))
    shown = request["shown"]
    headers = {"X-API-Key": key} if shown == "X-API-Key" else {"Authorization": f"{shown} {key}"}
    body = "" if asked[1] is None else json.dumps(asked[1])
    answer = Client(headers=headers).generic(request["method"], DOOR + asked[0], body, content_type="application/json")
    answers.append(answer.json() if answer.content else None)
    return answer


@pytest.mark.thorough
@pytest.mark.django_db
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_a_client_is_answered_as_when_it_was_recorded(recording: Path, workspace: Workspace) -> None:
    key, answers = make_key(workspace), list[Any]()
    for number, request in enumerate(json.loads(recording.read_text(encoding="utf-8"))):
        answer = replayed(request, key, answers)
        about = (number, request["method"], request["path"], answers[-1])
        assert answer.status_code == request["status"], about
        assert fits(request["shape"], shape(answers[-1])), (request["shape"], *about)


def test_every_client_of_mem0_is_recorded() -> None:
    clients = (*MEM0_PYTHON, *MEM0_NPM, MEM0_CLI, *INTEGRATIONS)
    assert [path.stem for path in RECORDINGS] == sorted(client.folder.name.replace("/", "-") for client in clients)


def test_a_recording_holds_no_key_and_knows_again_what_answers_gave() -> None:
    recording = Recording("mp_secret")
    memory, added = "7" * 36, b'{"results": [{"id": "' + b"7" * 36 + b'"}]}'
    recording.take("POST", DOOR + "v3/memories/add/", "Token", b'{"a": "mp_secret"}', 200, added)
    recording.take("GET", f"{DOOR}v1/memories/{memory}/", "Token", b"", 200, b"{}")
    assert recording.requests[0]["body"] == {"a": "the key"}
    assert recording.requests[1]["path"] == "v1/memories/{{0:results.0.id}}/"
    assert filled(recording.requests[1]["path"], [{"results": [{"id": "5"}]}]) == "v1/memories/5/"


@pytest.mark.parametrize(
    ("was", "now", "fit"),
    [
        ({"id": "x"}, {"id": "y", "more": 1}, True),
        ({"id": "x", "memory": "x"}, {"id": "y"}, False),
        ({"id": "x"}, {"id": 1}, False),
        ([{"id": "x"}], {"results": [{"id": "x"}]}, False),
        ([{"id": "x"}], [], False),
        ([{"id": "x", "ends": None}, {"id": "x", "ends": "today"}], [{"id": "y", "ends": None}], True),
        ([{"id": "x"}], [{"id": "y"}, {"name": "y"}], False),
    ],
)
def test_an_answer_fits_that_has_all_that_was_read_of_it(was: Any, now: Any, fit: bool) -> None:
    assert fits(shape(was), shape(now)) is fit

"""How finely the code is cut: bounds that only ever get tighter."""

from datetime import UTC, datetime

import pytest

from memories.index.worker import drain
from tests.conftest import TELEGRAM, Api
from tests.support.grain import grain, rooms_entered

#: What was reached. A change may lower a bound; it raises none but that of all lines, which new features add to.
LINES, FUNCTIONS_OF_A_THOUSAND, CALLED_ONCE_SHARE, SMALL_MODULES = 96_300, 55.7, 0.1077, 39
ROOMS_OF_A_QUERY, ROOMS_OF_A_TURN = 43, 41  # one or two more where nothing is known from before


def test_the_code_is_not_cut_finer() -> None:
    now = grain()
    assert now.lines <= LINES, now
    assert now.per_thousand <= FUNCTIONS_OF_A_THOUSAND, now
    assert now.called_once_share <= CALLED_ONCE_SHARE, now
    assert now.small_modules <= SMALL_MODULES, now


def below_the_door(rooms: set[str]) -> list[str]:
    """Of the modules a call passes those behind its view: what the wire and the login take is left out."""
    doors = ("memplatform.", "memories.api.", "channels_app.api.", "memories.conf", "memories.telemetry")
    return sorted(name for name in rooms if not name.startswith(doors))


@pytest.mark.django_db
def test_a_plain_question_passes_few_modules(api: Api) -> None:
    api.post("turns", {"address": TELEGRAM, "user": "I moved to Hangzhou", "assistant": "Noted."})
    drain(now=datetime.now(UTC))
    api.post("recall", {"address": TELEGRAM, "message": "Where do I live?"})  # what is made once is there
    with rooms_entered() as rooms:
        answer = api.post("recall", {"address": TELEGRAM, "message": "did I move to Hangzhou?"}).json()
    assert len(answer["memories"]) == 1
    assert len(below_the_door(rooms)) <= ROOMS_OF_A_QUERY, below_the_door(rooms)


@pytest.mark.django_db
def test_a_turn_passes_few_modules(api: Api) -> None:
    api.post("turns", {"address": TELEGRAM, "user": "I have a dog", "assistant": "Noted."})
    with rooms_entered() as rooms:
        turn = api.post("turns", {"address": TELEGRAM, "user": "I moved to Hangzhou", "assistant": "Noted."})
    assert turn.status_code == 201
    assert len(below_the_door(rooms)) <= ROOMS_OF_A_TURN, below_the_door(rooms)

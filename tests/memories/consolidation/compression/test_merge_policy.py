"""Rules the model cannot talk its way around: what differs in what matters stays two (D6)."""

from typing import Any

import pytest

from memories.choices import Category
from memories.consolidation.compression.merging import DropOffer, MergeFault, has_faded, merge_fault, rivals_of
from memories.models import Scope
from memories.models.policy import Policies
from tests.memories.consolidation.compression.conftest import LATER, facts

pytestmark = pytest.mark.django_db
TAPS = ("a cold tap", "the tap is cold")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "other", "statement"),
    [
        ("The port is 8080.", "The port is 9090.", "The port is 9090."),
        ("The port is 8080.", "The port is 9090.", "The port is 8080 and 9090."),
        ("会议在周四下午。", "会议改到周五下午。", "会议在周五下午。"),
        ("米娅喜欢香菜。", "米娅不喜欢香菜。", "米娅不喜欢香菜。"),
        ("Mia drinks coffee.", "Mia does not drink coffee.", "Mia drinks coffee."),
        ("The backup is enabled on Atlas.", "The backup is disabled on Atlas.", "The backup is enabled on Atlas."),
        ("Mia lives in Berlin.", "Mia lives in Bremen.", "Mia lives in Berlin and Bremen."),
        ("Mia likes tea.", "Mia likes green tea.", "Mia likes green tea from Hangzhou."),
        ("Mia likes tea.", "Mia likes tea a lot.", "Mia likes 3 cups of tea."),
    ],
)
def test_what_differs_in_what_matters_is_not_made_one(scope: Scope, text: str, other: str, statement: str) -> None:
    assert merge_fault(facts(scope, text) + facts(scope, other), statement) is not None


@pytest.mark.parametrize(
    ("text", "other", "statement"),
    [
        ("Atlas runs the backup at night.", "At night Atlas runs the backup.", "Atlas runs the backup at night."),
        ("米娅的猫叫年糕。", "米娅养了一只叫年糕的猫。", "米娅养了一只猫，叫年糕。"),
        ("Mia lives in Berlin.", "Mia works at Siemens.", "Mia lives in Berlin and works at Siemens."),
        ("Mia doesn't eat nuts.", "Nuts are nothing Mia eats.", "Mia does not eat nuts."),
    ],
)
def test_what_says_the_same_or_belongs_together_may_be(scope: Scope, text: str, other: str, statement: str) -> None:
    assert merge_fault(facts(scope, text) + facts(scope, other, topic="b"), statement) is None


@pytest.mark.parametrize("slots", [({"env": "prod"}, {"env": "staging"}), ({"speaker": "Mia"}, {"speaker": "Bob"})])
def test_what_holds_in_one_place_or_of_one_speaker_says_nothing_of_another(scope: Scope, slots: Any) -> None:
    pair = [facts(scope, content, slots=slot)[0] for content, slot in zip(TAPS, slots, strict=True)]
    assert merge_fault(pair, "the tap is cold") == MergeFault.PLACES


def test_a_fact_is_over_when_time_says_so_or_something_newer_does(scope: Scope) -> None:
    (old,) = facts(scope, "Dana lives in Porto.", days_ago=50)
    (new,) = facts(scope, "Dana moved to Bremen.", days_ago=5)
    (other,) = facts(scope, "The river is deep.", days_ago=1)
    (quoted,) = facts(scope, "Dana has settled in Lyon.", days_ago=1, verification="quoted")
    assert rivals_of(old, [new, other, quoted], Policies([])) == [new]
    assert DropOffer(old, [new]).is_supported and not DropOffer(old, [other]).is_supported
    assert rivals_of(new, [old, other, quoted], Policies([])) == []
    (desk,) = facts(scope, "Dana's desk is in room 4.", days_ago=50)
    (desks,) = facts(scope, "Dana's desk is in room 9, and so is the printer of the second floor.", days_ago=5)
    assert DropOffer(desk, rivals_of(desk, [desks], Policies([]))).is_supported
    (passing,) = facts(scope, "The tunnel is open.", category=Category.DEBUG, days_ago=1)
    (faded,) = facts(scope, "A party was planned.", category=Category.EVENT, importance=0.5, days_ago=120)
    assert has_faded(passing, LATER) and has_faded(faded, LATER) and not has_faded(new, LATER)

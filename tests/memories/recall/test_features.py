"""A question that names one of several speakers is ranked by features (A7)."""

from datetime import timedelta

import pytest
from django.test.utils import override_settings

from memories import entries
from memories.choices import PolicyKind
from memories.index import worker
from memories.language.quoting import turn_of
from memories.models import Policy, Scope
from memories.recall import Query, Recall, SearchScope, recall, traces
from memories.recall.question import without_names
from memories.recall.ranking import FEATURES, fitted_weights
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_draft

pytestmark = pytest.mark.django_db
TALK = [
    ("Mel", "Hey Caroline, how was the pottery class?"),
    ("Caroline", "It was great, I made a blue bowl yesterday."),
    ("Mel", "A bowl! I signed up for a pottery class last week."),
    ("Caroline", "Mel, your class will be fun."),
]


@pytest.fixture
def talk(scope: Scope) -> Scope:
    drafts = [
        make_draft(scope, message, at=NOW + timedelta(minutes=n), slots={"speaker": who, "session_id": "s1"})
        for n, (who, message) in enumerate(TALK)
    ]
    entries.remember_many(drafts, now=NOW, actor="test")
    worker.drain(now=NOW)
    scope.refresh_from_db()
    return scope


def ask(scope: Scope, message: str) -> Recall:
    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))]
    query = Query(workspace_id=scope.workspace_id, places=places, message=message, limit=8, quotas=False)
    return recall(query, now=NOW + timedelta(days=1))


def test_every_feature_has_a_weight_and_every_weight_a_feature() -> None:
    assert FEATURES.keys() == fitted_weights().keys()


def test_what_the_named_one_says_of_themselves_comes_first(talk: Scope) -> None:
    best = ask(talk, "When did Mel sign up for a pottery class?").served[0]
    assert best.entry.content == TALK[2][1]
    assert {"first_person", "time_words", "word_pairs"} <= best.features.keys()
    assert best.score == pytest.approx(
        best.candidate.fused * best.decay * best.recency + sum(best.features.values()), abs=1e-6
    )


def test_the_words_of_others_count_against_them(talk: Scope) -> None:
    result = ask(talk, "When did Mel sign up for a pottery class?")
    others = [item for item in result.served if item.entry.speaker == "Caroline"]
    assert all(item.features.get("words_of_others", 0.0) <= 0 for item in others)
    assert any(item.features.get("words_of_others", 0.0) < 0 for item in others)


@pytest.mark.parametrize("message", ["When was the pottery class?", "When did Peter sign up?"])
def test_a_question_that_names_no_speaker_is_ranked_without_them(talk: Scope, message: str) -> None:
    assert not any(item.features for item in ask(talk, message).served)


def test_a_person_and_a_bot_are_not_two_people(scope: Scope) -> None:
    drafts = [make_draft(scope, f"a bowl, said {who}", slots={"speaker": who}) for who in ("Mel", "AI", "assistant")]
    entries.remember_many(drafts, now=NOW, actor="test")
    scope.refresh_from_db()
    assert not any(item.features for item in ask(scope, "What did Mel make?").served)


def test_a_feature_can_be_switched_off_and_its_weight_set_by_a_policy(talk: Scope) -> None:
    question = "When did Mel sign up for a pottery class?"
    with override_settings(MEMORY_FEATURES_OFF="first_person, word_pairs"):
        assert {"first_person", "word_pairs"}.isdisjoint(ask(talk, question).served[0].features)
    Policy.objects.create(workspace=talk.workspace, kind=PolicyKind.WEIGHT, name="feature_first_person", value=0.5)
    assert ask(talk, question).served[0].features["first_person"] == 0.5


def test_a_trace_keeps_what_each_feature_added(talk: Scope) -> None:
    result = ask(talk, "When did Mel sign up for a pottery class?")
    assert result.trace is not None
    line = traces.records_of(result.trace.candidates)[0]
    assert traces.why(line, {})["features"]["first_person"] == 0.1


@pytest.mark.parametrize(
    ("message", "forms", "bare"),
    [
        ("What did Caroline's sister say to Caroline?", {"caroline"}, "What did sister say to ?"),
        ("Carolines of the world", {"caroline"}, "Carolines of the world"),
        ("王芳的生日是哪天？", {"王芳"}, "生日是哪天？"),
        ("Mel?", {"mel"}, "Mel?"),
    ],
)
def test_names_are_left_out_of_what_is_embedded(message: str, forms: set[str], bare: str) -> None:
    assert without_names(message, forms) == bare


def test_of_a_turn_the_person_is_read_and_not_the_bot(scope: Scope) -> None:
    drafts = [
        make_draft(scope, turn_of(message, "I like that, my friend!"), slots={"speaker": who, "sender_id": who})
        for who, message in (("Mel", "The pottery class begins on Monday."), ("Caroline", "The bowl is blue."))
    ]
    entries.remember_many(drafts, now=NOW, actor="test")
    scope.refresh_from_db()
    served = ask(scope, "When does Mel's pottery class begin?").served
    assert served and not any("first_person" in item.features for item in served)
    assert "time_words" in served[0].features

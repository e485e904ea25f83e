"""Whom a text speaks of is read from names, relations and «I», and from nothing else (D5)."""

import pytest

from memories.language.names import introduced
from memories.language.persons import SPEAKER, People, unknown_names

PEOPLE = People.of(["Sam", "小山"], ["Tom", "李雷"], {"my sister": "Ida", "tommy": "Tom", "sammy": "Sam"})


@pytest.mark.parametrize(
    ("text", "persons"),
    [
        ("I moved to Riga", {SPEAKER}),
        ("我搬到杭州了", {SPEAKER}),
        ("it is raining", set()),
        ("he is allergic", set()),
        ("Tom plays chess", {"tom"}),
        ("tommy plays chess", {"tom"}),
        ("李雷在上海", {"李雷"}),
        ("Tomorrow is Monday", set()),
        ("Ida is a nurse", {"my sister"}),
    ],
)
def test_a_message_speaks_of_those_it_names(text: str, persons: set[str]) -> None:
    assert PEOPLE.named(text, writes_of_user=False) == persons


@pytest.mark.parametrize("text", ["The user moved.", "用户搬家了。", "Sam moved.", "小山搬家了。", "Sammy moved."])
def test_a_statement_calls_the_speaker_by_any_of_their_names(text: str) -> None:
    assert PEOPLE.named(text, writes_of_user=True) == {SPEAKER}


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("my mother is ill", "the user's mum is ill"),
        ("我妈病了", "我母亲病了"),
        ("我妈病了", "my mother is ill"),
        ("我闺女在广州", "my daughter works"),
        ("my colleague left", "我同事走了"),
    ],
)
def test_a_relation_is_the_same_by_all_its_words_in_both_languages(text: str, other: str) -> None:
    own = PEOPLE.named(text, writes_of_user=False)
    assert own == PEOPLE.named(other, writes_of_user=True) and SPEAKER not in own and len(own) == 1


@pytest.mark.parametrize(
    ("subject", "key"),
    [
        ("speaker", SPEAKER),
        ("The user", SPEAKER),
        ("用户", SPEAKER),
        ("Sam", SPEAKER),
        ("Tom", "tom"),
        ("Tommy", "tom"),
        ("the budget", ""),
        ("预算", ""),
    ],
)
def test_a_subject_is_a_person_or_a_thing(subject: str, key: str) -> None:
    assert PEOPLE.key(subject) == key


def test_a_relation_as_subject_is_no_speaker() -> None:
    assert PEOPLE.key("my roommate") == PEOPLE.key("我室友") != ""
    assert PEOPLE.key("my mother") != PEOPLE.key("my father")


@pytest.mark.parametrize(
    ("stated", "text", "unknown"),
    [
        ("She moved to Lima.", "I moved to the coast", {"lima"}),
        ("She moved to Lima.", "I moved to lima", set()),
        ("She speaks Italian.", "I was born in Italy", set()),
        ("Lima is hot.", "it is hot", set()),  # a sentence begins so: whether that is a name nobody can tell
    ],
)
def test_a_name_is_known_where_it_was_said_in_any_form(stated: str, text: str, unknown: set[str]) -> None:
    assert unknown_names(stated, text) == unknown


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("Hi, I'm Greta and I need a new desk.", {"Greta"}),
        ("Greta here, one question", {"Greta"}),
        ("我是小李，明天请假。", {"小李"}),
        ("I'm Dutch.", set()),
        ("I'm tired, this is fine.", set()),
    ],
)
def test_people_introduce_themselves(statement: str, names: set[str]) -> None:
    assert introduced(statement) == names

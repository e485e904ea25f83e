"""Who «my sister» is, learnt from what people say, by rules, in Chinese and English (D1).

Kept among the nicknames of a scope, under the relation: «my sister» is Lena. Better none is learnt than a wrong one.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping

from memories.language import stopwords
from memories.language.asking import is_question
from memories.language.names import (
    EN_NAME,
    FAMILIAR,
    LOOK_CHARS,
    NAME_CHARS,
    ZH_NAME,
    fold,
    full_name,
    is_person,
    nickname,
    own_side,
    person_at_end,
    simplify,
)
from memories.language.scripts import HAN, has_han
from memories.language.sentences import spoken_sentences
from memories.language.word_lists import classes, word_set, words

#: How a relation begins that is kept among nicknames. No nickname does.
MY = "my "
#: By every word for a relation its first one: a mum and 妈妈 are a mother.
RELATIONS = {word.replace("_", " "): kin.replace("_", " ") for word, kin in classes("relations", "relations").items()}
_PETS = word_set("relations", "pets")
_LONGEST_FIRST = sorted(RELATIONS, key=len, reverse=True)
_ENGLISH = "|".join(word.replace(" ", "[- ]") for word in _LONGEST_FIRST if not has_han(word))
_CHINESE = "|".join(word for word in _LONGEST_FIRST if has_han(word))
_ATTRIBUTES = "|".join(words("relations", "attributes"))
#: Texts without any of these teach no relation; PostgreSQL understands it, too.
TRIGGER = f"([Mm]y|[Oo]ur|[Uu]ser['’]s) ([a-z]+ )?({_ENGLISH})|(我|我们|我們|我家|咱|俺|用户)(家|里)?的?({_CHINESE})"
#: A Chinese name so long is no word like others.
SURE_CHARS = 3
_TRIGGER = re.compile(TRIGGER)
_MY_ENGLISH = rf"\b(?:[Mm]y|[Oo]ur|[Uu]ser['’]s) (?:(?:{_ATTRIBUTES}) )?({_ENGLISH})(?![\w-])"
_MY_CHINESE = rf"(?:我|咱|俺|用户)(?:们|們)?(?:家里?)?的?({_CHINESE})(?![们們])"
_CALLED = [
    re.compile(
        rf"{_MY_ENGLISH}(?:,? (?:who )?(?:is |was )?(?:called|named)|['’]s (?:first |full )?name is|,?) {EN_NAME}"
    ),
    re.compile(rf"{_MY_ENGLISH}(?: is|:) {EN_NAME}(?=\s*(?:[.,;!)]|$|\band\b))"),
]
_IS = re.compile(rf"(?<![\w'’-]){EN_NAME} (?:is|was) {_MY_ENGLISH}(?!['’]s)")
_CHINESE_CALLED = re.compile(rf"{_MY_CHINESE}(?:的名字)?就?(名叫|叫做?|是|[:：])?\s*(?![他她它你您我了过着]){ZH_NAME}")
_CHINESE_IS = re.compile(rf"([{HAN}]{{2,6}}|(?<![\w'’-])[A-Z][\w'’-]*\w)就?是{_MY_CHINESE}(?!的)")
_MENTIONED = re.compile(
    rf"\b(?:my|our) (?:(?:{_ATTRIBUTES}) )?({_ENGLISH})(?![\w-])"
    rf"|(?:(?:我|咱|俺)(?:们|們)?(?:家里?)?的?|(?:\A|(?<=[，。！？\s]))(?=[{HAN}]{{2}}))({_CHINESE})(?![们們])",
    re.IGNORECASE,
)
_NO_NAMES = stopwords.ENGLISH | word_set("relations", "no_names")


def learn(content: str) -> dict[str, str]:
    """Who a text says a relation of its writer is, under «my …»; nobody where it says it of several."""
    said = own_side(content)[:LOOK_CHARS]
    if _TRIGGER.search(said) is None:
        return {}
    learnt: dict[str, str] = {}
    for sentence in spoken_sentences(simplify(unicodedata.normalize("NFKC", said))):
        for word, found in () if is_question(sentence) else _pairs(sentence):
            name = re.sub(r"['’]s$", "", found)
            if name and len(name) <= NAME_CHARS and not _NO_NAMES & {fold(name), fold(name.split()[0])}:
                alias = _alias(word)
                learnt[alias] = name if learnt.get(alias, name) == name else ""
    return learnt


def _pairs(sentence: str) -> Iterator[tuple[str, str]]:
    for pattern in _CALLED:
        yield from ((match[1], match[2]) for match in pattern.finditer(sentence))
    yield from ((match[2], match[1]) for match in _IS.finditer(sentence))
    for match in _CHINESE_CALLED.finditer(sentence):
        yield match[1], _name(match[1], match[2], match[3])
    yield from ((match[2], person_at_end(match[1])) for match in _CHINESE_IS.finditer(sentence))


def _name(word: str, verb: str | None, rest: str) -> str:
    """Pets have any name; people one that looks like it, the more so where nothing says that it is one: 我妈康复了."""
    if verb and RELATIONS[word] in _PETS:
        return nickname(rest)
    name = full_name(rest)
    is_sure = is_person(name) and (len(name) >= SURE_CHARS or name[0] in FAMILIAR)
    return name if (verb or is_sure) and not name.endswith("人") else ""


def _alias(word: str) -> str:
    return MY + RELATIONS[fold(word).replace("-", " ")]


def mentioned(message: str) -> Iterator[tuple[str, str]]:
    """The words by which a message speaks of «my sister», and under what it is kept who that is."""
    for match in _MENTIONED.finditer(message):
        yield match.group(), _alias(match[1] or match[2])


def names_of(alias: str, *, chinese: bool) -> list[str]:
    """The words for a relation in one script, «my» before them; in the other where it has none there."""
    own = [word for word in RELATIONS if _alias(word) == alias]
    some = [word for word in own if has_han(word) == chinese] or own
    return [f"我{word}" if has_han(word) else MY + word for word in some]


def without_relations(nicknames: Mapping[str, str]) -> dict[str, str]:
    """The nicknames alone: «my sister» is no name that Lena goes by."""
    return {alias: name for alias, name in nicknames.items() if not alias.startswith(MY)}

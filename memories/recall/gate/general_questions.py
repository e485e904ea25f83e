"""Questions that need no memory: general by how they are built, or about the world (D3).

«Does honey go bad» asks of all honey, «is the honey gone» of a certain jar: bare nouns, «a …», «you» and «how to» are
general; names, pronouns, «the …», what has happened and what is left are somebody's own. A question about the world is
one that anybody could ask anywhere; it is looked for in what is left of a message without its helpers.
"""

import re

from memories.language.scripts import has_han
from memories.language.word_lists import pattern
from memories.recall.gate.vocabulary import ANY_LOCAL, CHINESE_LOCAL, NAME, PERSONAL, POSSESSIVE

MOST_CHARS, MOST_CHINESE = 90, 24  # longer questions tell of a life

_OF_A_KIND = pattern("gate", "general_of_a_kind", re.IGNORECASE)
_ATTRIBUTE = pattern("gate", "general_attribute", re.IGNORECASE)
_ONE_FOR_ALL = pattern("gate", "general_one_for_all", re.IGNORECASE)
_CERTAIN = pattern("gate", "general_certain", re.IGNORECASE)
_SOMEBODY = pattern("gate", "general_somebody")
_LIVED = pattern("gate", "general_lived", re.IGNORECASE)
_EASY_IT = pattern("gate", "general_easy_it", re.IGNORECASE)
_TECHNICAL = pattern("gate", "general_technical", re.IGNORECASE)

_ZH_OF_A_KIND = pattern("gate", "general_zh_of_a_kind")
_ZH_CERTAIN = pattern("gate", "general_zh_certain")
_ZH_CONDITION = pattern("gate", "general_zh_condition")
_HOW_OF_TECHNOLOGY = pattern("gate", "general_how_of_technology", re.IGNORECASE)

# -- about the world: what stands in books

_WORLD_CHARS, _WORLD_CHINESE = 110, 32  # longer questions tell of a life
_WORLD_ENGLISH = pattern("gate", "world_english", re.IGNORECASE)
_WORLD_GENERIC = pattern("gate", "world_english_generic", re.IGNORECASE)
_WORLD_THINGS = pattern("gate", "world_english_things", re.IGNORECASE)
_LIFE = pattern("gate", "world_life", re.IGNORECASE)
_WORLD_CHINESE_QUESTION = pattern("gate", "world_chinese", re.IGNORECASE)
_ZH_THINGS = pattern("gate", "world_zh_things")
_ZH_LIFE = pattern("gate", "world_zh_life")
_WORLD_SOMEBODY = pattern("gate", "world_somebody", re.IGNORECASE)


def is_general(text: str) -> bool:
    """Whether a question, in simplified script and without its helpers, is about things of a kind."""
    if PERSONAL.search(text):
        return False
    if _HOW_OF_TECHNOLOGY.search(text):
        return _ZH_CERTAIN.search(text) is None and "the " not in text.casefold()
    if has_han(text):
        return _is_general_in_chinese(text)
    if len(text) > MOST_CHARS or ANY_LOCAL.search(text):
        return False
    if _ONE_FOR_ALL.search(text) or (_ATTRIBUTE.search(text) and not _LIVED.search(text)):
        return _SOMEBODY.search(text) is None
    if NAME.search(text) or POSSESSIVE.search(text):
        return _TECHNICAL.search(text) is not None and _SOMEBODY.search(text) is None
    if _CERTAIN.search(_EASY_IT.sub("", text)):
        return False
    return _OF_A_KIND.search(text) is not None or _TECHNICAL.search(text) is not None


def _is_general_in_chinese(text: str) -> bool:
    if len(text) > MOST_CHINESE or CHINESE_LOCAL.search(text):
        return False
    asked = _ZH_CONDITION.sub("", text)
    return _ZH_OF_A_KIND.search(asked) is not None and _ZH_CERTAIN.search(asked) is None


def is_about_the_world(text: str) -> bool:
    """Whether a question without anything of somebody's own is about what stands in books."""
    if len(text) > (_WORLD_CHINESE if has_han(text) else _WORLD_CHARS):
        return False
    if _WORLD_SOMEBODY.search(text):
        return False
    if _WORLD_ENGLISH.search(text) or _WORLD_CHINESE_QUESTION.search(text):
        return True
    if _WORLD_GENERIC.search(text) and not ANY_LOCAL.search(text):
        return True
    if _WORLD_THINGS.search(text):
        return _LIFE.search(text) is None
    return _ZH_THINGS.search(text) is not None and _ZH_LIFE.search(text) is None

"""The patterns of the gate, from `memories/language/data/gate.txt`; Chinese ones are in simplified script (D3)."""

import re

from memories.language.scripts import simplified
from memories.language.word_lists import pattern, source

#: Traditional characters that stand in these patterns, as simplified ones.
SIMPLIFIED = simplified("questions")


# -- what asks for nothing personal: helpers between a person and what they want

VERB_FOR_ME = pattern("gate", "verb_for_me", re.IGNORECASE)
HELPERS = pattern("gate", "helpers", re.IGNORECASE)
ANYBODY = pattern("gate", "anybody", re.IGNORECASE)
ANYONES = pattern("gate", "anyones", re.IGNORECASE)
QUOTED = pattern("gate", "quoted")
GIVEN = pattern("gate", "given", re.IGNORECASE)
MINE = pattern("gate", "mine", re.IGNORECASE)
GIVEN_AFTER = pattern("gate", "given_after")

# -- what is somebody's own: with one of these, no command and no question is general

PERSONAL = pattern("gate", "personal", re.IGNORECASE)
DEFINITE_LOCAL = pattern("gate", "definite_local", re.IGNORECASE)
ANY_LOCAL = re.compile(rf"\b(?:{source('gate', 'local')})\b", re.IGNORECASE)
CHINESE_LOCAL = pattern("gate", "zh_local")
INDEFINITE = pattern("gate", "indefinite", re.IGNORECASE)
NAME = pattern("gate", "name", re.IGNORECASE)
POSSESSIVE = pattern("gate", "possessive", re.IGNORECASE)

# -- a command on a text that is given, or for something anybody may have

COMMAND = pattern("gate", "command", re.IGNORECASE)
SAID_ABROAD = pattern("gate", "said_abroad", re.IGNORECASE)
TO_SOMEBODY = pattern("gate", "to_somebody", re.IGNORECASE)
MADE_TO_MEASURE = pattern("gate", "made_to_measure", re.IGNORECASE)
ALL_OF_US = pattern("gate", "all_of_us", re.IGNORECASE)

# -- messages that leave out whose they are: «broke up with jake», 快递到了没, «roll back the release»

#: A sentence without its subject, or a question without its thing.
UNFINISHED = pattern("gate", "unfinished", re.IGNORECASE)
#: Something to be done about a certain thing, or for a certain person.
ERRAND = pattern("gate", "errand", re.IGNORECASE)

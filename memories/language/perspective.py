"""A statement in other eyes: what somebody says of themselves told of them, what a bot tells them as they would say it.

So that «I live in Lisbon» can be compared with «Ann lives in Porto», and with «You live in Porto». Pure; only the
persons are turned, and the forms of «be» and «have».
"""

import re

_TO_THIRD = (
    (re.compile(r"\bI(?:['’]m| am)\b"), "{name} is"),
    (re.compile(r"\bI(?:['’]ve| have)\b"), "{name} has"),
    (re.compile(r"\bI\b(?:['’](?:ll|d))?"), "{name}"),
    (re.compile(r"\bmy\b", re.IGNORECASE), "{name}'s"),
    (re.compile(r"[我俺](?![们們国國司])"), "{name}"),
)
_TO_FIRST = (
    (re.compile(r"\byou(?:['’]re| are)\b", re.IGNORECASE), "I am"),
    (re.compile(r"\byou(?:['’]ve| have)\b", re.IGNORECASE), "I have"),
    (re.compile(r"\byou\b", re.IGNORECASE), "I"),
    (re.compile(r"\byour\b", re.IGNORECASE), "my"),
    (re.compile(r"[你您](?![们們])"), "我"),
)


def told_of(name: str, statement: str) -> str:
    """What somebody of this name says, as another would tell it."""
    for person, becomes in _TO_THIRD:
        statement = person.sub(becomes.format(name=name).replace("\\", r"\\"), statement)
    return statement


def told_back(statement: str) -> str:
    """What a bot tells somebody, as that person would say it."""
    for person, becomes in _TO_FIRST:
        statement = person.sub(becomes, statement)
    return statement

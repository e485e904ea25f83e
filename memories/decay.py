"""How memories fade (D4) and how long they live (A9)."""

import math
from datetime import timedelta

from memories.choices import Category, EntryType, ScopeKind

#: floor and rate per day of `floor + (1 - floor)·e^(-rate·days)`
_STEADY = (1.0, 0.0)
_SLOW = (0.3, 0.004)
_MEDIUM = (0.1, 0.023)
_FAST = (0.0, 0.099)
CURVES: dict[str, tuple[float, float]] = {
    Category.IDENTITY: _STEADY,
    Category.CONFIG: _STEADY,
    Category.CREDENTIAL: _STEADY,
    Category.DECISION: _SLOW,
    Category.SOLUTION: _SLOW,
    Category.EVENT: _MEDIUM,
    Category.CONVERSATION: _MEDIUM,
    Category.TEMP: _FAST,
    Category.DEBUG: _FAST,
}

#: importance of a memory when nobody says (D2)
IMPORTANCES: dict[str, float] = {
    Category.IDENTITY: 1.0,
    Category.CONFIG: 0.8,
    Category.CREDENTIAL: 0.8,
    Category.DECISION: 0.8,
    Category.SOLUTION: 0.8,
    Category.EVENT: 0.5,
    Category.CONVERSATION: 0.5,
    Category.TEMP: 0.2,
    Category.DEBUG: 0.2,
}
DEFAULT_IMPORTANCE = 0.5

#: time to live by type and scope kind; what is not listed never ends by itself
TTLS: dict[tuple[str, str], timedelta] = {
    (EntryType.CHAT_TURN, ScopeKind.USER): timedelta(days=30),
    (EntryType.CHAT_TURN, ScopeKind.CHAT): timedelta(days=14),
    (EntryType.AUTO_CAPTURE, ScopeKind.USER): timedelta(days=90),
    (EntryType.AUTO_CAPTURE, ScopeKind.CHAT): timedelta(days=90),
    (EntryType.WORKFLOW_TRACE, ScopeKind.USER): timedelta(days=180),
    (EntryType.WORKFLOW_TRACE, ScopeKind.CHAT): timedelta(days=180),
}

#: how many of one kind a recall serves before the best of the rest fill up (A8)
QUOTAS: dict[tuple[str, str], int] = {
    (EntryType.USER_EXPLICIT, ScopeKind.USER): 2,
    (EntryType.CHAT_TURN, ScopeKind.USER): 2,
    (EntryType.AUTO_CAPTURE, ScopeKind.USER): 3,
    (EntryType.WORKFLOW_TRACE, ScopeKind.USER): 1,
    (EntryType.FACT, ScopeKind.USER): 5,
    (EntryType.NOTE, ScopeKind.USER): 2,
    (EntryType.CHAT_TURN, ScopeKind.CHAT): 2,
    (EntryType.AUTO_CAPTURE, ScopeKind.CHAT): 1,
    (EntryType.USER_EXPLICIT, ScopeKind.CHAT): 2,
    (EntryType.WORKFLOW_TRACE, ScopeKind.CHAT): 1,
    (EntryType.FACT, ScopeKind.CHAT): 5,
    (EntryType.NOTE, ScopeKind.CHAT): 2,
}


def decay(category: str, days: float) -> float:
    """What is left of a memory, 0–1, so many days after it was last used (D4)."""
    floor, rate = CURVES.get(category, _STEADY)
    return floor + (1 - floor) * math.exp(-rate * max(days, 0.0))


def importance_of(category: str) -> float:
    """The importance a memory gets when nobody says one (D2)."""
    return IMPORTANCES.get(category, DEFAULT_IMPORTANCE)


def relevance(importance: float, category: str, days: float) -> float:
    """What a fact is worth so many days after it was last used (D4)."""
    return importance * decay(category, days)

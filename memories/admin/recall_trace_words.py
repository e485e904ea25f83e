"""What a trace keeps as data, in words for its page."""

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

_NAMES = {
    "limit": _("At most"),
    "mode": _("Manner"),
    "need": _("Whether memory is needed"),
    "asker": _("By whom"),
    "quotas": _("Quotas"),
    "token_budget": _("Tokens at most"),
    "filters": _("Only with"),
    "types": _("type"),
    "project": _("project"),
    "since": _("Since"),
    "until": _("Until"),
    "similarity": _("similarity"),
    "strength": _("Strength of the best"),
    "words": _("Share of the question's words"),
    "entries": _("Memories searched"),
    "speaker": _("Names a speaker"),
    "date": _("Names a day"),
    "days": _("Days read"),
    "about_asker": _("About the one who asks"),
    "contrast": _("Nearer than typical questions"),
}


def in_words(values: dict[str, Any]) -> str:
    """`At most: 8 · Manner: hybrid`: what says nothing (empty, no, none) is left out."""
    kept = {name: value for name, value in values.items() if value not in (None, "", [], {}, False)}
    order = [*(name for name in _NAMES if name in kept), *(name for name in kept if name not in _NAMES)]
    return " · ".join(f"{_NAMES.get(name, name.replace('_', ' '))}: {_worded(kept[name])}" for name in order)


def _worded(value: Any) -> str:
    if value is True:
        return gettext("yes")
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list):
        return ", ".join(map(_worded, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} = {_worded(inner)}" for name, inner in value.items())
    return str(value)

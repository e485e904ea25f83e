"""The tables of an erasure and its certificate in the reader's language."""

from collections.abc import Mapping
from typing import Any

from django.apps import apps
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories.models import Erasure, ErasureState

_NAMES = {
    "files": _("files of the person"),
    "lines": _("lines in files of others"),
    "journal": _("calls in the journal"),
    "put_back": _("memories of others, put back"),
    "backups": _("backups made before: restored, they are erased again from the files of erasures"),
    "exports": _("exports and copies somebody took elsewhere, and what webhooks sent"),
    "logs": _(
        "logs written before, of the web, worker, embedder and MCP processes, of PostgreSQL, of a proxy in front and "
        "where they were sent: lines hold the id, and addresses that were asked for"
    ),
}
STEPS = {
    "find": _("finding what is about the person"),
    "mark": _("keeping hashes of what goes"),
    "search": _("reading through what no id leads to"),
    "files": _("files and journal"),
    "remove": _("removing rows"),
    "count": _("counting words anew"),
    "verify": _("verifying"),
}


def table_name(table: str) -> str:
    """The rows of a table as people call them."""
    if table in _NAMES:
        return str(_NAMES[table])
    model = next((one for one in apps.get_models() if one._meta.db_table == table), None)
    return str(model._meta.verbose_name_plural) if model else table


def counted(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Names and numbers, without what is zero."""
    return [(table_name(table), count) for table, count in counts.items() if count]


def progress(erasure: Erasure) -> str:
    """How far it is, in a sentence."""
    if erasure.state == ErasureState.RUNNING and erasure.step in STEPS:
        return str(STEPS[erasure.step])
    if erasure.error:
        return gettext("It was interrupted, and is tried again each minute: %(error)s") % {"error": erasure.error}
    return str(ErasureState(erasure.state).label)


def findings(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Where the same words still stand, and in which rows."""
    found = certificate["verified"]["same_words_found_in"]
    return [(table_name(table), ", ".join(map(str, rows))) for table, rows in found.items()]

"""Facts of the project a message names, and of none in particular, before those of others (D1).

Only facts are kept by project; whatever else a scope holds is served as always.
"""

import re
from collections.abc import Iterable
from typing import Any

from memories.choices import EntryType
from memories.language import names, stopwords, text
from memories.recall.gate.decision import names_project
from memories.recall.modes import BY_MATCH_ALONE, ParsedQuery
from memories.recall.people import occurs
from memories.recall.query import Query

ENOUGH = 5  # facts that speak of it; with fewer, those of other projects are asked, too
#: Where facts are kept that belong to no project.
EVERYWHERE = ("", "_global")
_SURE_CHARS = 3  # a Chinese name of so many characters is no part of another word
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_Part = tuple[list[str], dict[str, Any]]

#: Inside the subquery `i` and `e` are other rows than outside, so that it is run once.
_OWN = """(
    e.type <> '{fact}' OR NOT i.scope_id = ANY(%(project_scopes)s::bigint[])
    OR e.project = ANY(%(own_projects)s::text[])
    OR (e.terms && %(other_words)s::int[] AND (SELECT count(*) FROM (
        SELECT 1 FROM memories_entryindex i JOIN memories_entry e ON e.id = i.entry_id
        WHERE {where} AND e.type = '{fact}' AND i.scope_id = ANY(%(project_scopes)s::bigint[])
        AND e.project = ANY(%(own_projects)s::text[]) AND e.terms && %(own_words)s::int[] LIMIT {enough}
    ) own) < {enough})
)"""


def project_filter(query: Query, parsed: ParsedQuery, where: _Part) -> _Part:
    """The condition that keeps facts of other projects out; none, when no project is named or one is asked for.

    `where` says what may be served at all: what nobody may see does not count.
    """
    named = {scope.pk: projects_named(query.message, scope.projects) for scope in query.scopes}
    own = sorted({project for projects in named.values() for project in projects})
    if not own or query.project is not None or query.mode in BY_MATCH_ALONE:
        return [], {}
    parts = {"fact": EntryType.FACT.value, "where": " AND ".join(where[0]), "enough": str(ENOUGH)}
    condition = _OWN
    for name, part in parts.items():
        condition = condition.replace(f"{{{name}}}", part)
    asked = set(text.terms(query.message))
    return [condition], where[1] | {
        "project_scopes": [scope for scope, projects in named.items() if projects],
        "own_projects": [*own, *EVERYWHERE],
        "own_words": sorted(asked),
        "other_words": sorted(asked.difference(*(text.terms(project) for project in own))),
    }


def projects_named(message: str, known: Iterable[str]) -> list[str]:
    """The known projects a message names, across scripts, width and case; those that begin with _ are no names."""
    said = names.fold(message)
    return [project for project in known if not project.startswith("_") and _is_named(said, names.fold(project))]


def _is_named(said: str, project: str) -> bool:
    if not names_project(said, project):
        return False
    if _is_called_project(said, project):
        return True
    if project in stopwords.ENGLISH:
        return False
    is_part = _CHINESE.search(project) and len(project) < _SURE_CHARS
    return not is_part or occurs(text.words(said), names.words_of_name(project))


def _is_called_project(said: str, project: str) -> bool:
    """«The project now», «go项目»: a name that is a word like others."""
    name = re.escape(project)
    return re.search(rf"project {name}\b|\b{name} project|项目{name}|{name}\s?(?:项目|系统|工程)", said) is not None

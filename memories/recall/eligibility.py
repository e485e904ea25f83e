"""Which entries may be served: seen by the caller, live, in time, heard here, asked for, of the right project (A2, A3).

A group never hears its own credentials, nor a person's, nor copies of their words elsewhere. A copy is known by the
message it rests on, by the words, and by the secret itself: a word of four characters or more that holds a digit. What
says the secret in other words is not recognised.

Recall as of a moment is today's ranking over memory as it was then (F6). What was taken out of use since is found as it
was. What may not be heard any more is found too, so that its place is shown, but without its words: what people took
out since (A15), and what the place where it is asked may not hear today.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db.models import Q
from django.utils.translation import gettext as _

from memories import embeddings, entries
from memories.choices import SECRET, Act, Echo, EntryType, ScopeKind
from memories.conf import conf
from memories.entries import past
from memories.entries.draft import COLUMN_SLOTS
from memories.exceptions import InvalidMoment
from memories.index.search_rows import indexed_text
from memories.language import text
from memories.language.confidential import asked_kinds, find_secrets
from memories.language.secret_forms import MASKED, SecretKind
from memories.models import EmbeddingModel, Entry, Scope, Workspace
from memories.models.entry import LIVE_SQL, SECRET_SUBTYPE
from memories.models.operations import require_history
from memories.models.policy import Policies
from memories.recall.query import BY_MATCH_ALONE, Query, opening_of, rows_of, sql_parts
from memories.recall.question import is_about_asking, projects_named

#: Conditions on an entry `e` and its search row `i`, in SQL, with their parameters.
Condition = tuple[list[str], dict[str, Any]]

ENOUGH_FACTS = 5  # that speak of the named project; with fewer, those of other projects are asked, too
NO_PROJECT = ("", "_global")  # where facts are kept that belong to no project

_WITH_DIGIT = re.compile(r"(?<![!-~])(?=[!-/:-~]*+\d)[!-~]++")
_PUNCTUATION = "'\"()[]{}<>.,:;!?"
_SECRET_CHARS = 4
_SQL = sql_parts("servable")
_OF_SECRETS = {
    "secret": ", ".join(f"'{category}'" for category in SECRET),
    "subtype": SECRET_SUBTYPE,
    "after": len(SECRET_SUBTYPE) + 1,
}


def all_of(*parts: Condition) -> Condition:
    """Conditions that all have to hold, with their parameters."""
    conditions = [condition for part in parts for condition in part[0]]
    return conditions, {name: value for part in parts for name, value in part[1].items()}


def scope_filter(query: Query) -> Condition:
    """Nothing is looked at outside of the query's workspace and scopes; of entries one index is read, if it can be."""
    return [
        "i.workspace_id = %(workspace)s",
        "i.scope_id = ANY(%(scopes)s::bigint[])",
        "e.workspace_id = %(workspace)s",
        "e.scope_id = ANY(%(scopes)s::bigint[])",
    ], {
        "workspace": query.workspace_id,
        "scopes": query.scope_ids,
        "user_scopes": [place.scope.pk for place in query.places if place.scope.kind == ScopeKind.USER],
    }


def eligible_filter(query: Query, policies: Policies, now: datetime) -> Condition:
    """What may be served, and of facts those of the project that is named (D1); of all, when none is, or one is asked
    for.

    Only facts are kept by project. What nobody may see does not count among those that speak of it.
    """
    servable = servable_filter(query, policies, now)
    projects_by_scope = {scope.pk: projects_named(query.message, scope.projects) for scope in query.scopes}
    projects = sorted({project for projects_here in projects_by_scope.values() for project in projects_here})
    if not projects or query.project is not None or query.mode in BY_MATCH_ALONE:
        return servable
    where, parameters = all_of(scope_filter(query), servable, request_filter(query))
    condition = _SQL["of_project"].format(fact=EntryType.FACT.value, where=" AND ".join(where), enough=ENOUGH_FACTS)
    terms = set(text.terms(query.message))
    parameters |= {
        "project_scopes": [scope for scope, projects_here in projects_by_scope.items() if projects_here],
        "own_projects": [*projects, *NO_PROJECT],
        "own_words": sorted(terms),
        "other_words": sorted(terms.difference(*(text.terms(project) for project in projects))),
    }
    return all_of(servable, ([condition], parameters))


#: Names stand as they were given, and are asked for without differences of case.
_NAMED = """
SELECT EXISTS (
    SELECT 1 FROM memories_entry e CROSS JOIN LATERAL (SELECT e.scope_id, e.workspace_id) i
    WHERE {where} AND e.names <> '{{}}' AND lower(e.names::text)::text[] && %(names)s::text[]
)
"""


def has_named(query: Query, now: datetime, names: Sequence[str]) -> bool:
    """Whether anything that may be served is about one of these names, folded; one statement, of no names none."""
    if not names:
        return False
    where, parameters = all_of(scope_filter(query), servable_filter(query, opening_of(query, now=now).policies, now))
    return bool(rows_of(_NAMED.format(where=" AND ".join(where)), parameters | {"names": list(names)})[0][0])


def ineligible_entries(
    query: Query, policies: Policies, now: datetime, *, newest: int | None
) -> tuple[str, dict[str, Any]]:
    """A statement of the entries that may not be served now, with its parameters: all of them, or of the newest.

    Where an explanation is asked for, echoes are among them.
    """
    conditions, parameters = eligible_filter(query, policies, now)
    if query.explain and echo_filter(query)[0]:
        conditions = [*conditions, f"e.echo IS DISTINCT FROM '{Echo.TURN}'"]
    statement = _SQL["ineligible"].format(eligible=" AND ".join(conditions))
    return statement, parameters | scope_filter(query)[1] | {"newest": newest}


def servable_filter(query: Query, policies: Policies, now: datetime) -> Condition:
    """What may be served: live, in time, no line that something newer makes untrue, and heard where it is asked for.

    Past its time to live nothing is served, even before any job ran (A9).
    """
    conditions = [LIVE_SQL, f"NOT {entries.CONTRADICTED_SQL}"]
    # by the least trusted of all it rests on: no condition where everything may be served here (A20)
    denied = policies.denied(Act.GROUP if query.in_group else Act.DIRECT)
    trusted: Condition = (["e.trust <> ALL(%(not_served)s::text[])"], {"not_served": denied}) if denied else ([], {})
    return all_of((conditions, {}), in_time_filter(query, policies, now), audience_filter(query), trusted)


def in_time_filter(query: Query, policies: Policies, now: datetime) -> Condition:
    """What is not past its time: its own term, else that of its type; what is pinned has none (A9)."""
    of_users, of_chats = _cutoff(ScopeKind.USER, policies, now), _cutoff(ScopeKind.CHAT, policies, now)
    cutoff = f"CASE WHEN i.scope_id = ANY(%(user_scopes)s::bigint[]) THEN {of_users[0]} ELSE {of_chats[0]} END"
    if len(kinds := {place.scope.kind for place in query.places}) == 1:
        cutoff = (of_users if ScopeKind.USER in kinds else of_chats)[0]
    in_time = (
        "CASE WHEN e.expires_at IS NOT NULL THEN e.expires_at > %(now)s WHEN e.pinned THEN true"
        f" ELSE coalesce(greatest(e.stated_at, e.read_at) > {cutoff}, true) END"
    )
    return [in_time], {"now": now} | of_users[1] | of_chats[1]


def _cutoff(kind: ScopeKind, policies: Policies, now: datetime) -> tuple[str, dict[str, Any]]:
    """SQL of the moment since which an entry must have been stated, or read, by its type; NULL: whenever."""
    ttls = {entry_type: policies.ttl(entry_type, kind) for entry_type in EntryType}
    cuts = {f"{kind}_{entry_type}": now - ttl for entry_type, ttl in ttls.items() if ttl is not None}
    cases = [
        f"WHEN e.type = '{entry_type}' THEN %({kind}_{entry_type})s"
        for entry_type, ttl in ttls.items()
        if ttl is not None
    ]
    unread = policies.unread_ttl(kind)
    if unread is not None:
        cuts[f"{kind}_unread"] = now - unread
    cutoff = f"%({kind}_unread)s" if unread is not None else "NULL::timestamptz"
    cases.insert(0, f"WHEN e.type = '{EntryType.CHAT_TURN}' AND e.read_at IS NULL THEN {cutoff}")
    return f"CASE {' '.join(cases)} END", cuts


def audience_filter(query: Query) -> Condition:
    """In a group no credential is served, nothing that speaks to a model (A18), and a person's own memories as far as
    the group may hear them (A3)."""
    conditions: list[str] = []
    parameters: dict[str, Any] = {}
    if query.in_group:
        conditions += [_SQL["no_credential"].format(**_OF_SECRETS), _SQL["no_suspect"].format()]
        parameters |= scope_filter(query)[1]
    for n, place in enumerate(query.places):
        if not (place.ref.in_group and place.ref.kind == ScopeKind.USER and place.ref.only_chat is not None):
            continue
        heard = f"e.chats <> '{{}}' AND e.chats <@ ARRAY[%(only{n})s::varchar] AND e.tier IS DISTINCT FROM 1"
        conditions.append(f"(i.scope_id <> %(guarded{n})s OR ({heard}))")
        parameters |= {f"guarded{n}": place.scope.pk, f"only{n}": place.ref.only_chat}
    return conditions, parameters


def request_filter(query: Query) -> Condition:
    """The request's own filters, applied before anything is ranked (A2)."""
    conditions: list[str] = []
    parameters: dict[str, Any] = {}
    if query.types is not None:
        conditions.append("e.type = ANY(%(types)s::text[])")
        parameters["types"] = list(query.types)
    for column, operator, value in (
        ("e.project", "=", query.project),
        ("e.topic", "=", query.topic),
        ("e.created_at", ">=", query.since),
        ("e.created_at", "<", query.until),
        ("e.id", "<", query.before_entry),
    ):
        if value is not None:
            name = f"f{len(parameters)}"
            conditions.append(f"{column} {operator} %({name})s")
            parameters[name] = value
    for n, (slot, value) in enumerate(query.filters.items()):
        if slot in COLUMN_SLOTS or slot in ("type", "source"):
            condition = f"e.{slot} = %(value{n})s"
        elif slot == "scope":
            condition = f"(%(value{n})s = 'user') = (i.scope_id = ANY(%(user_scopes)s::bigint[]))"
        else:
            of_entry = f"s.entry_id = e.id AND s.name = %(slot{n})s AND s.value = %(value{n})s"
            condition = f"EXISTS (SELECT 1 FROM memories_slot s WHERE {of_entry})"  # noqa: S608 (n is a number of ours)
        conditions.append(condition)
        parameters |= {f"slot{n}": slot, f"value{n}": value}
    if query.among is not None:  # by the statement that reads them, its parameters named
        try:
            sql, values = query.among.values("pk").order_by().query.sql_with_params()
        except EmptyResultSet:
            return [*conditions, "false"], parameters
        names = {f"among{n}": value for n, value in enumerate(values)}
        each = iter(names)
        conditions.append(f"e.id IN ({re.sub('%s', lambda _: f'%({next(each)})s', sql)})")
        parameters |= names
    return conditions, parameters


def secret_filter(query: Query) -> Condition:
    """A secret is served to a question for its kind; where several people hear the answer, to none."""
    kinds = asked_kinds(query.message)
    if len(kinds) == len(SecretKind) or query.in_group:
        return [], {}
    return [_SQL["not_asked_for"].format(**_OF_SECRETS)], scope_filter(query)[1] | {"asked_secrets": sorted(kinds)}


def recognised_filter(query: Query) -> Condition:
    """Secrets alone, as they were recognised."""
    return [_SQL["recognised"].format(**_OF_SECRETS)], scope_filter(query)[1]


def asks_for_secrets(query: Query) -> bool:
    """Whether a question asks for secrets of some kind where they may be served: those that are left are meant."""
    kinds = asked_kinds(query.message)
    return 0 < len(kinds) < len(SecretKind) and not query.in_group


def echo_filter(query: Query) -> Condition:
    """What was only asked and what was repeated is found by its words, and where it is asked what was asked."""
    is_asked_for = query.mode in BY_MATCH_ALONE or is_about_asking(query.message)
    return ([] if is_asked_for else ["NOT i.is_echo"]), {}


@dataclass(frozen=True)
class CredentialGuard:
    """Credentials of some scopes and of their messages, by which copies are recognised."""

    origins: frozenset[str] = frozenset()
    texts: tuple[str, ...] = ()
    secrets: frozenset[str] = frozenset()

    def reveals(self, content: str, origins: Sequence[str]) -> bool:
        """Whether a text that rests on these messages tells a credential; not where that was taken out of it."""
        rests_on_it = MASKED not in content and not self.origins.isdisjoint(origins)
        if rests_on_it or not self.secrets.isdisjoint(_secrets(content)):
            return True
        normalised = f" {text.normalise(content)} " if self.texts else ""
        return any(credential in normalised for credential in self.texts)


def credential_guard(workspace_id: int, scopes: Sequence[Scope]) -> CredentialGuard:
    """The guard of what is served where several people hear it; one that finds nothing where nobody else does."""
    chats = [scope.key for scope in scopes if scope.kind == ScopeKind.CHAT]
    if not chats:
        return CredentialGuard()
    of_scopes = Q(scope__in=[scope.pk for scope in scopes]) | Q(chats__overlap=chats)
    rows = list(
        Entry.objects.filter(of_scopes, workspace_id=workspace_id, category__in=SECRET).values_list(
            "content", "origins"
        )
    )
    wordings: set[str] = set()  # all of a credential, and what was recognised as a secret in it
    for content, _origins in rows:
        values = [secret.value for secret in find_secrets(content)]
        wordings.update([content, *(value for value in values if len(value) >= _SECRET_CHARS)])
    return CredentialGuard(
        origins=frozenset(origin for _, origins in rows for origin in origins),
        texts=tuple({f" {text.normalise(wording)} " for wording in wordings} - {"  "}),
        secrets=frozenset(secret for content, _ in rows for secret in _secrets(content)),
    )


def _secrets(content: str) -> set[str]:
    words = {word.strip(_PUNCTUATION) for word in _WITH_DIGIT.findall(content)}
    return {word for word in words if len(word) >= _SECRET_CHARS}


def readable_entry(query: Query, uid: UUID, policies: Policies, now: datetime) -> Entry | None:
    """The entry with this id, if a question asked from here could be answered with it at this moment."""
    conditions, parameters = all_of(scope_filter(query), servable_filter(query, policies, now))
    rows = rows_of(_SQL["servable"].format(conditions=" AND ".join(conditions)), parameters | {"uid": uid})
    if not rows:
        return None
    entry = Entry.objects.select_related("scope").get(pk=rows[0][0], workspace_id=query.workspace_id)
    guard = credential_guard(query.workspace_id, query.scopes)
    return None if guard.reveals(entry.content, entry.origins) else entry


#: Wordings of before that are embedded for one question; others are found by their words.
WORDINGS_MOST = 500


@dataclass(frozen=True)
class Past:
    """What memory of today adds to memory as of a moment."""

    moment: datetime
    erased_since: int = 0  # memories of before that nobody can bring back
    unheard: frozenset[int] = frozenset()
    guard: CredentialGuard = field(default_factory=CredentialGuard)

    def withholds(self, entry: Entry) -> bool:
        """Whether its words are for no bot any more."""
        return entry.pk in self.unheard or self.guard.reveals(entry.content, entry.origins)


def check_moment(workspace_id: int, moment: datetime, *, now: datetime) -> None:
    """Raises InvalidMoment, where memory has no state at this moment: it is still to come, or before the workspace; and
    HistoryArchived.
    """
    if moment > now:
        raise InvalidMoment(_("This moment is still to come."))
    made_at = Workspace.objects.values_list("created_at", flat=True).get(pk=workspace_id)
    if moment < made_at:
        raise InvalidMoment(_("The workspace was made later, at %s.") % made_at.isoformat(timespec="seconds"))
    require_history(workspace_id, moment, field="as_of")


@contextmanager
def as_of(query: Query, moment: datetime) -> Iterator[Query]:
    """The query as of a moment; inside, memory is as it was then.

    Words of then are embedded before, if nobody remembers their vectors. The owner's reranker is asked inside, in a
    transaction that nobody waits for.
    """
    # what may not be served today of these scopes, and how much is gone
    values: dict[str, Any] = {"workspace": query.workspace_id, "scopes": query.scope_ids, "moment": moment}
    conditions, parameters = audience_filter(query)
    statement = _SQL["unheard"]
    if conditions:
        statement += "\n" + _SQL["not_heard_here"].format(heard=" AND ".join(conditions))
    unheard = frozenset(pk for (pk,) in rows_of(statement, parameters | values))
    ((erased,),) = rows_of(_SQL["erased"], values)
    today = Past(moment, erased, unheard, credential_guard(query.workspace_id, query.scopes))

    model = embeddings.searched_model(query.workspace_id)
    vectors = _vectors_of_then(query, moment, model)
    with past.as_they_were(
        query.workspace_id, query.scope_ids, moment, model_id=model.pk if model else None, reworded=vectors
    ):
        scopes = Scope.objects.in_bulk(query.scope_ids)
        places = [replace(place, scope=scopes[place.scope.pk]) for place in query.places if place.scope.pk in scopes]
        yield replace(query, places=places, opening=None, past=today, cache=False)


def _vectors_of_then(query: Query, moment: datetime, model: EmbeddingModel | None) -> list[past.Reworded]:
    """The vectors of what is worded otherwise today: remembered, or made now; none where nobody embeds in time."""
    if model is None:
        return []
    values: dict[str, Any] = {
        "workspace": query.workspace_id,
        "scopes": query.scope_ids,
        "moment": moment,
        "most": WORDINGS_MOST,
    }
    rows = rows_of(_SQL["reworded"].format(), values)
    reworded: list[past.Reworded] = []
    for start in range(0, len(rows), conf.EMBED_BATCH):
        some = rows[start : start + conf.EMBED_BATCH]
        texts = [indexed_text(*parts) for _pk, _words, *parts in some]
        answer = embeddings.embed_passages(
            texts, seconds=conf.EMBED_WRITE_SECONDS * len(texts), space=embeddings.space_of_model(model)
        )
        if answer is None:
            break
        reworded += [past.Reworded(row[0], row[1], vector) for row, vector in zip(some, answer.vectors, strict=True)]
    return reworded

"""What others said of a person, what a person said of others, and all they ever said, to be put into quarantine.

Each memory is shown with who said it, and where it may be heard.

A memory is of somebody by whom it says it is about, as a model or a bot named them, else by a name of theirs among its
words. Names are what people are called where the platform has seen them speak: two who share one share what is found.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from django.db import connection
from django.db.models import Q

from channels_app.people.seen import Seen
from memories.admin.lists import search
from memories.batches.quarantine import Suspect
from memories.choices import Origin, ScopeKind
from memories.models import Entry, Scope
from memories.models.entry import EntryQuerySet
from sessions_app.models import conversation_path

#: Names of a person that are looked for, and how short one may be: a single letter stands in every text.
NAMES, LEAST = 5, 2
#: Memories of each list, and the latest of a person's own words that are looked through for others.
SHOWN, LOOKED_THROUGH = 12, 500


@dataclass(frozen=True)
class Statement:
    """A memory about somebody, with who may have said it and who may be told."""

    entry: Entry
    called: str = ""  # what whoever said it is called in a group that may hear it

    @property
    def speaker(self) -> str:
        """Who said it, as far as it is known."""
        return self.entry.speaker or self.called or self.entry.sender_id

    @property
    def audience(self) -> list[str]:
        """Whose memory it is, and the chats that may hear it."""
        return list(dict.fromkeys([self.entry.scope.key, *self.entry.chats]))


def names_of(individual: Seen) -> list[str]:
    """What a person is called."""
    person_names = [individual.person.name] if individual.person and individual.person.name else []
    return [name for name in dict.fromkeys([*person_names, *individual.names]) if len(name) >= LEAST][:NAMES]


def statements_about(workspace_id: int, individual: Seen) -> list[Statement]:
    """What others said of a person, in whoever's memory, the newest first."""
    names = names_of(individual)
    others = _in_use(workspace_id).exclude(scope__in=individual.scopes).exclude(_sent_by(individual))
    rows = list(others.about(*names)[:SHOWN]) if names else []
    for name in names:
        rows += search(others, f'"{name}"')[:SHOWN]
    return _newest(rows, _called(workspace_id, rows))


def statements_by(workspace_id: int, individual: Seen) -> list[Statement]:
    """What a person said of others, in their own memory and in groups, the newest first."""
    own = {name.lower() for name in names_of(individual)}
    theirs = _in_use(workspace_id).filter(_sent_by(individual))
    facts = _in_use(workspace_id).filter(scope__in=individual.scopes).exclude(subject="")
    rows = list(theirs[:LOOKED_THROUGH])
    sender_names = _called(workspace_id, rows)
    others = {name.lower() for name in sender_names.values() if len(name) >= LEAST} - own
    mentions = (row for row in rows if row.subject or any(name in row.content.lower() for name in others))
    return _newest((row for row in [*facts[:SHOWN], *mentions] if row.subject.lower() not in own), sender_names)


#: A person's messages, also those nobody addressed to the bot, and the answers up to the next message of anybody. In a
#: direct chat a message without a sender is theirs whom the chat is with.
_SAID = """
WITH one (platform, peer) AS (SELECT * FROM unnest(%(platforms)s::text[], %(peers)s::text[])),
spoken AS (
    SELECT e.id, e.session_id, e.conversation, e.position, e.kind, s.uid, s.user_scope_id, s.chat_scope_id
    FROM one JOIN sessions_app_sessionevent e
        ON e.workspace_id = %(workspace)s AND e.sender_id = one.peer AND e.sender_id <> ''
    JOIN sessions_app_session s ON s.id = e.session_id AND s.platform IN ('', one.platform)
    UNION ALL
    SELECT e.id, e.session_id, e.conversation, e.position, e.kind, s.uid, s.user_scope_id, s.chat_scope_id
    FROM one JOIN sessions_app_session s
        ON s.workspace_id = %(workspace)s AND s.peer = one.peer AND NOT s.is_group AND s.platform IN ('', one.platform)
    JOIN sessions_app_sessionevent e ON e.session_id = s.id AND e.kind = 'user' AND e.sender_id = ''
)
SELECT spoken.uid, spoken.conversation, spoken.id, spoken.user_scope_id, spoken.chat_scope_id FROM spoken
UNION
SELECT spoken.uid, spoken.conversation, answer.id, spoken.user_scope_id, spoken.chat_scope_id
FROM spoken CROSS JOIN LATERAL (
    SELECT min(later.position) AS position FROM sessions_app_sessionevent later
    WHERE later.session_id = spoken.session_id AND later.conversation = spoken.conversation
        AND later.position > spoken.position AND later.kind = 'user'
) following
JOIN sessions_app_sessionevent answer
    ON answer.session_id = spoken.session_id AND answer.conversation = spoken.conversation
    AND answer.position > spoken.position AND answer.kind IN ('assistant', 'tool')
    AND (following.position IS NULL OR answer.position < following.position)
WHERE spoken.kind = 'user'
"""


def suspect_person(workspace_id: int, individual: Seen, about: str) -> Suspect:
    """Everything a person said, wherever they spoke: their messages with the answers, and what was saved of them.

    What others said of them, what an operator wrote and what a file says in their memory is not theirs.
    """
    parameters: dict[str, Any] = {
        "workspace": workspace_id,
        "platforms": [peer.platform for peer in individual.peers],
        "peers": [peer.peer for peer in individual.peers],
    }
    with connection.cursor() as cursor:
        cursor.execute(_SAID, parameters)
        messages = cursor.fetchall()
    is_unsigned = Q(scope__in=individual.scopes, sender_id="", path="", origin__in=(Origin.SELF, Origin.OTHER))
    entries = Entry.objects.filter(_sent_by(individual) | is_unsigned, workspace_id=workspace_id)
    scopes = {scope for _uid, _conversation, _event, *places in messages for scope in places if scope is not None}
    return Suspect(
        workspace_id=workspace_id,
        about=about,
        entries=frozenset(entries.values_list("pk", flat=True)),
        origins=frozenset(f"{conversation_path(uid, number)}/event-{event}" for uid, number, event, *_ in messages),
        scopes=frozenset(scopes.union(scope.pk for scope in individual.scopes)),
    )


def _sent_by(individual: Seen) -> Q:
    """What a person sent; the same id on another platform is somebody else."""
    conditions = (Q(channel__in=("", peer.platform), sender_id=peer.peer) for peer in individual.peers)
    return reduce(or_, conditions, Q(pk__in=[]))


def _in_use(workspace_id: int) -> EntryQuerySet:
    rows = Entry.objects.live().filter(workspace_id=workspace_id).select_related("scope")
    return rows.order_by("-created_at", "-id")


def _called(workspace_id: int, rows: Iterable[Entry]) -> dict[str, str]:
    """What those who spoke in the groups that may hear these memories are called there, by their ids."""
    chats = {chat for row in rows for chat in row.chats}
    groups = Scope.objects.in_workspace(workspace_id).filter(kind=ScopeKind.CHAT, key__in=chats)
    return {sender: name for group in groups for sender, name in group.sender_names.items()}


def _newest(rows: Iterable[Entry], sender_names: Mapping[str, str]) -> list[Statement]:
    """Each once: what was said in a group stands in its memory and in the speaker's."""
    by_words: dict[str, Entry] = {}
    for row in sorted(rows, key=lambda row: (row.created_at, row.scope.kind == ScopeKind.CHAT, row.pk), reverse=True):
        by_words.setdefault(row.content, row)
    entries: Collection[Entry] = by_words.values()
    return [Statement(row, sender_names.get(row.sender_id, "")) for row in entries][:SHOWN]

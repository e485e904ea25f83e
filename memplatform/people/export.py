"""What is stored of a person, as JSON Lines: who they are, their consents, and each of their scopes as an export."""

from collections.abc import Iterator
from datetime import datetime

from channels_app.models import Consent, Identity, Person
from channels_app.people.seen import Seen
from memories.models import Workspace
from memories.tenancy.access import Caller
from memplatform.transfer.export import as_lines, one_moment
from memplatform.transfer.records import as_json
from memplatform.transfer.stream import Wanted, parts


def lines_of(workspace: Workspace, seen: Seen, caller: Caller, *, now: datetime) -> Iterator[bytes]:
    """The lines, of one moment. The part of a scope begins with `export` and ends with `end`, as a file of its own."""
    with one_moment():
        yield as_lines([_person(seen)])
        for scope in seen.scopes:
            yield from parts(Wanted(caller, workspace, scope, False, now))


def _person(seen: Seen) -> dict[str, object]:
    person: Person | None = seen.person
    identities = Identity.objects.filter(person=person).order_by("pk") if person else []
    consents = Consent.objects.filter(person=person).order_by("at", "pk") if person else []
    return {
        "record": "person",
        "key": str(person.key) if person else None,
        "name": person.name if person else "",
        "note": person.note if person else "",
        "peers": [str(peer) for peer in seen.peers],
        "linked": {str(one): as_json(one.since) for one in identities},
        "consents": [
            {"subject": one.subject, "given": one.is_given, "note": one.note, "by": one.actor, "at": as_json(one.at)}
            for one in consents
        ],
    }

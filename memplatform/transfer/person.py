"""What is stored of a person, as JSON Lines: who they are, their consents, and each of their scopes as an export."""

from collections.abc import Iterator
from datetime import datetime

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from channels_app.models import Consent, Identity, Person
from channels_app.people import seen
from channels_app.people.admin import PersonAdmin
from memories.admin.access import actor_of
from memories.admin.auditing import note
from memories.admin.lists import saved_file
from memories.audit.models import AuditEvent
from memories.models import Workspace
from memories.staff.rights import needs
from memories.staff.roles import Right
from memories.tenancy.access import Caller
from memplatform.transfer.export import as_lines, one_moment
from memplatform.transfer.records import as_json
from memplatform.transfer.stream import Wanted, parts


def lines_of(workspace: Workspace, whom: seen.Seen, caller: Caller, *, now: datetime) -> Iterator[bytes]:
    """The lines, of one moment. The part of a scope begins with `export` and ends with `end`, as a file of its own."""
    person: Person | None = whom.person
    with one_moment():
        identities = Identity.objects.filter(person=person).order_by("pk") if person else []
        consents = Consent.objects.filter(person=person).order_by("at", "pk") if person else []
        record = {
            "record": "person",
            "key": str(person.key) if person else None,
            "name": person.name if person else "",
            "note": person.note if person else "",
            "peers": [str(peer) for peer in whom.peers],
            "linked": {str(identity): as_json(identity.since) for identity in identities},
            "consents": [
                {
                    "subject": consent.subject,
                    "given": consent.is_given,
                    "note": consent.note,
                    "by": consent.actor,
                    "at": as_json(consent.at),
                }
                for consent in consents
            ],
        }
        yield as_lines([record])
        for scope in whom.scopes:
            yield from parts(Wanted(caller, workspace, scope, False, now))


@admin.register(Person)
class PersonPages(PersonAdmin):
    """People, with the export of one."""

    def get_urls(self) -> list[URLPattern]:
        return [self.own_address("export", require_POST(self.export)), *super().get_urls()]

    @needs(Right.EXPORT)
    def export(self, request: HttpRequest) -> HttpResponse:
        """What is stored of them, as JSON Lines; noted like anything else that leaves."""
        workspace, peers = self.peers_in_address(request, Right.EXPORT)
        person = seen.one_of(workspace.pk, peers[0])
        caller = workspace.caller(actor_of(request))
        body = b"".join(lines_of(workspace, person, caller, now=timezone.now()))
        about = _("person %(key)s") % {"key": person.person.pk} if person.person else _("a person nothing is noted of")
        note(
            request, AuditEvent.EXPORTED, about=about, workspace_id=workspace.pk, details={"scopes": len(person.scopes)}
        )
        return saved_file(body, "person.jsonl", "application/x-ndjson")

"""People in the admin: the list of everybody, the page of one, and what is done there."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from channels_app.models import Consent, Identity
from channels_app.people import about, linking, seen
from channels_app.people.forms import ConsentForm, LinkForm, NoteForm
from channels_app.people.peers import Peer
from memories.admin.access import RestrictedAdmin, actor_of, visible_workspaces, workspace_choice
from memories.admin.actions import Action, ActionCall, Outcome, Question, run
from memories.admin.forms import ReasonForm
from memories.admin.history import RecordedHistory
from memories.admin.pages import own_page
from memories.admin.quarantine import ask
from memories.audit.models import AuditEvent
from memories.exceptions import PlatformError
from memories.models import Workspace
from memories.models.change import acting
from memories.staff.rights import VIEW, holds, needs
from memories.staff.roles import Right

LIST = "admin:channels_app_person_changelist"
PAGE = "admin:channels_app_person_page"
#: More memories than this are carried over by the worker, while nobody waits for the page.
AT_ONCE = 500
_TABS = {"": seen.spoken_last, "met": seen.met_last}


def page_url(workspace_id: int, peer: Peer) -> str:
    """The page of a person, by one of their peers."""
    return f"{reverse(PAGE)}?{urlencode([('of', workspace_id), ('person', str(peer))])}"


def _back(call: ActionCall) -> str:
    return page_url(call.arguments["workspace"].pk, call.arguments["peers"][0])


def _carry_over(call: ActionCall, identities: Sequence[Identity], entries: int) -> None:
    """At once where it is little; else by the worker."""
    if entries > AT_ONCE:
        linking.unite_soon()
        return
    for identity in identities:
        linking.unite(identity, now=timezone.now(), actor=call.actor, reason=call.data["reason"])


def _link(call: ActionCall) -> Outcome:
    preview, answer = call.rows, call.data
    channel_pks = set(answer.get("channels", ()))
    channels = [offer.channel for offer in preview.apart if str(offer.channel.pk) in channel_pks]
    workspace, peers = call.arguments["workspace"], call.arguments["peers"]
    person = linking.link(workspace, peers, name=answer["name"], actor=call.actor, now=call.now)
    linking.keep_one_memory_a_person(channels, actor=call.actor)
    _carry_over(call, list(person.identities.order_by("pk")), preview.entries)
    record: dict[str, Any] = {"about": person, "details": {"what": "linked", "text": answer["reason"]}}
    if preview.united or channels:
        return Outcome(text=_("They are linked: from now on they share one memory."), **record)
    text = _("They are shown as one person here. No channel keeps one memory a person, so no bot notices.")
    return Outcome(warning=text, **record)


def _unlink(call: ActionCall) -> Outcome:
    preview, person = call.rows, call.row.person
    identity = linking.separate(call.row, actor=call.actor, now=call.now)
    _carry_over(call, [identity], preview.back + preview.along)
    text = _("It is unlinked, and has a memory of its own again.")
    if preview.stays:
        stays = ngettext("%(n)d memory stays with the person.", "%(n)d memories stay with the person.", preview.stays)
        text += " " + stays % {"n": preview.stays}
    return Outcome(text=text, about=person, details={"what": "unlinked", "text": call.data["reason"]})


#: Of the peers an address names: rows are the preview of what it would do.
LINK = Action(
    name="link", label=gettext_lazy("Link identities"), right="operate", audit=AuditEvent.SETTING, back=_back,
    act=_link,
    rows=lambda call: linking.preview_link(call.arguments["workspace"], call.arguments["peers"], now=call.now),
    form=lambda call: call.bound(LinkForm).offer(call.rows.apart),
    question=lambda call: Question(
        template="admin/memplatform/people/link.html", rows=(), context={"preview": call.rows}
    ),
)  # fmt: skip
UNLINK = Action(
    name="unlink", label=gettext_lazy("Unlink"), right="operate", audit=AuditEvent.SETTING, back=_back, act=_unlink,
    refuses=lambda call: (
        "" if call.row and call.row.person.united_at else _("This identity is not linked.")
    ),
    rows=lambda call: linking.preview_unlink(call.row),
    form=lambda call: call.bound(ReasonForm),
    question=lambda call: Question(
        title=_("Unlink %(who)s") % {"who": call.row}, template="admin/memplatform/people/unlink.html", rows=(),
        context={"preview": call.rows},
    ),
)  # fmt: skip


class PersonAdmin(RecordedHistory, RestrictedAdmin):
    """A person is identified by a peer's id: most have no row of their own, for nothing was ever noted of them.

    Registered with what only the whole platform can do, the export (memplatform.transfer.person).
    """

    members_may = VIEW

    def get_urls(self) -> list[URLPattern]:
        return [
            self.own_address("page", self.person_page),
            self.own_address("link", self.link_page),
            self.own_address("unlink", self.unlink_page),
            self.own_address("quarantine", self.quarantine_page),
            self.own_address("note", require_POST(self.write_note)),
            self.own_address("consent", require_POST(self.add_consent)),
            *super().get_urls(),
        ]

    def own_address(self, name: str, view: Any) -> URLPattern:
        """The address of a page of ours, which no browser keeps."""
        guarded_view = never_cache(self.admin_site.admin_view(view))
        address: URLPattern = path(f"{name}/", guarded_view, name=f"channels_app_person_{name}")
        return address

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Everybody who was seen in a workspace, or who is found by a name or an id."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        workspaces, workspace = workspace_choice(request)
        words = request.GET.get("q", "").replace("\0", "").strip()[:200]
        tab = request.GET.get("by", "") if request.GET.get("by", "") in _TABS else ""
        page = seen.SeenPage([])
        if workspace and words:
            page = seen.SeenPage(seen.search(workspace.pk, words))
        elif workspace:
            page = _TABS[tab](workspace.pk, request.GET.get("after", "")[:60])
        rows = [(person, page_url(workspace.pk, person.peers[0])) for person in page.people] if workspace else []
        context = {"workspaces": workspaces, "chosen": workspace, "sought": words, "tab": tab, "rows": rows}
        return self._page(request, "list", _("People"), context | {"next": page.next})

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """A person has one page, under the name of one of their peers."""
        person = self.reach(request, object_id, "view")
        first = Identity.objects.filter(person=person).order_by("pk").first()
        if first is None:
            raise Http404
        return HttpResponseRedirect(page_url(person.workspace_id, Peer(first.platform, first.peer)))

    @needs(Right.READ)
    def person_page(self, request: HttpRequest) -> HttpResponse:
        """Who somebody is, and what is remembered of them."""
        workspace, peers = self.peers_in_address(request)
        return self._show(request, workspace, peers[0])

    def _show(
        self, request: HttpRequest, workspace: Workspace, peer: Peer, consent: ConsentForm | None = None
    ) -> HttpResponse:
        person = seen.one_of(workspace.pk, peer)
        portrait = seen.portrait_of(workspace.pk, person)
        noted = {"name": person.person.name, "note": person.person.note} if person.person else {}
        context = {
            "workspace": workspace,
            "seen": person,
            "found": portrait,
            "statements_about": about.statements_about(workspace.pk, person),
            "statements_by": about.statements_by(workspace.pk, person),
            "names": about.names_of(person),
            "peer": peer,
            "note_form": NoteForm(initial=noted),
            "consent_form": consent or ConsentForm(),
            "may_operate": holds(request, Right.OPERATE, workspace.pk),
            "may_curate": holds(request, Right.CURATE, workspace.pk),
            "may_export": holds(request, Right.EXPORT, workspace.pk),
            "may_erase": holds(request, Right.ERASE, workspace.pk),
            "query": urlencode([("of", workspace.pk), ("person", str(peer))]),
            "everybody": urlencode([("of", workspace.pk), *(("person", str(each)) for each in person.peers)]),
        }
        return self._page(request, "person", person.title, context)

    @needs(Right.OPERATE)
    def link_page(self, request: HttpRequest) -> HttpResponse:
        """With whom to link: found by words, ticked, and shown what it would do before it is done."""
        workspace, peers = self.peers_in_address(request, Right.OPERATE)
        if len(peers) > 1:
            return run(ActionCall(LINK, self, request, arguments={"workspace": workspace, "peers": peers}))
        words = request.GET.get("q", "").replace("\0", "").strip()[:200]
        mine = seen.one_of(workspace.pk, peers[0])
        others = [other for other in seen.search(workspace.pk, words) if peers[0] not in other.peers] if words else []
        context = {"workspace": workspace, "peers": peers, "sought": words, "one": mine, "others": others}
        back = page_url(workspace.pk, peers[0])
        return self._page(request, "choose", _("Link identities"), context | {"back": back})

    @needs(Right.OPERATE)
    def unlink_page(self, request: HttpRequest) -> HttpResponse:
        """What would go back and what would stay, before it is done."""
        workspace, peers = self.peers_in_address(request, Right.OPERATE)
        identity = linking.identity_of(workspace.pk, peers[0])
        return run(ActionCall(UNLINK, self, request, row=identity, arguments={"workspace": workspace, "peers": peers}))

    @needs(Right.CURATE)
    def quarantine_page(self, request: HttpRequest) -> HttpResponse:
        """All they said, with what was made of it: shown first, then put into quarantine as one run."""
        workspace, peers = self.peers_in_address(request, Right.CURATE)
        person = seen.one_of(workspace.pk, peers[0])
        suspect = about.suspect_person(workspace.pk, person, _("Everything %(who)s said") % {"who": person.title})
        return ask(request, suspect, page_url(workspace.pk, peers[0]))

    @needs(Right.OPERATE)
    def write_note(self, request: HttpRequest) -> HttpResponse:
        """What the person is called here, and what operators should know."""
        workspace, peers = self.peers_in_address(request, Right.OPERATE)
        form = NoteForm(request.POST)
        if form.is_valid():
            with transaction.atomic(), acting(actor_of(request)):
                person = linking.person_for(workspace.pk, peers[0])
                person.name, person.note = form.cleaned_data["name"], form.cleaned_data["note"]
                person.save(update_fields=["name", "note"])
            messages.success(request, _("It is noted."))
        return HttpResponseRedirect(page_url(workspace.pk, peers[0]))

    @needs(Right.OPERATE)
    def add_consent(self, request: HttpRequest) -> HttpResponse:
        """What they agreed to, or no longer do; the rows before it stay."""
        workspace, peers = self.peers_in_address(request, Right.OPERATE)
        form = ConsentForm(request.POST)
        if not form.is_valid():
            return self._show(request, workspace, peers[0], form)
        with transaction.atomic(), acting(actor_of(request)):
            person = linking.person_for(workspace.pk, peers[0])
            Consent.objects.create(
                workspace=workspace, person=person, actor=actor_of(request), at=timezone.now(), **form.columns
            )
        messages.success(request, _("It is noted."))
        return HttpResponseRedirect(page_url(workspace.pk, peers[0]) + "#consents")

    def peers_in_address(self, request: HttpRequest, right: Right = Right.READ) -> tuple[Workspace, list[Peer]]:
        """The workspace and the peers an address names. 404 where there is none such for this person."""
        workspace_id = request.GET.get("of", "")
        workspace = next(
            (visible for visible in visible_workspaces(request, right) if str(visible.pk) == workspace_id), None
        )
        try:
            peers = [Peer.parse(name[:260]) for name in request.GET.getlist("person")[: linking.PEERS_MOST + 1]]
        except PlatformError:
            peers = []
        if workspace is None or not peers:
            raise Http404
        return workspace, list(dict.fromkeys(peers))

    def _page(self, request: HttpRequest, name: str, title: str, context: dict[str, Any]) -> TemplateResponse:
        return own_page(request, f"admin/memplatform/people/{name}.html", {"title": title, **context}, self)

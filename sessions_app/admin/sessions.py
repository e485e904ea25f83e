"""Sessions as conversations to read: found by who speaks there, flushed, closed, reset; and messages taken out.

Taken out goes what rests on the message alone; into quarantine everything that rests on it, to be looked through.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db.models import F, Func, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.formats import localize
from django.utils.module_loading import import_string
from django.utils.timezone import localtime
from django.utils.translation import gettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import BooleanRadioFilter
from unfold.decorators import display
from unfold.enums import ActionVariant

from memories.admin.access import RestrictedAdmin
from memories.admin.actions import Action, ActionCall, Outcome, Place, Question, to_row
from memories.admin.entries.actions import outcome_of
from memories.admin.forms import ReasonForm
from memories.admin.history import RecordedHistory
from memories.admin.lists import DaysFilter
from memories.admin.pages import column
from memories.admin.quarantine import ask
from memories.batches import bulk_actions
from memories.choices import DmScope, GroupSessions, GroupUserRecall, NeedMode, SecretsRule, SessionMode
from memories.models import Entry, Scope
from memories.models.change import acting
from memories.staff.rights import VIEW, holds, workspaces_of
from memories.staff.roles import Right
from memories.tenancy.resolver import platform_of_key
from sessions_app import conversations
from sessions_app import flush as flushing
from sessions_app.admin.conversation import (
    conversation_of,
    message_on,
    message_url,
    suspect_message,
    taken_out_with,
)
from sessions_app.models import Session, SessionEvent


def _rows(call: ActionCall) -> list[str]:
    session = call.row
    place = " · ".join(filter(None, [session.platform, session.account, session.peer or session.chat_id]))
    return [gettext("%(place)s, conversation %(n)d") % {"place": place or session.key, "n": session.conversation}]


def _flush(call: ActionCall) -> str:
    with acting(call.actor):
        flush, is_queued = flushing.flush_or_queue(call.row, now=call.now, actor=call.actor)
    if is_queued:
        return gettext("The worker flushes it in a moment.")
    return gettext("The conversation is flushed.") if flush else gettext("Nothing new was said since the last flush.")


def _close(call: ActionCall) -> str:
    with acting(call.actor):
        conversations.lock_session(call.row)
        is_closed = conversations.close(call.row, conversations.CLOSED, now=call.now)
    return gettext("The conversation is closed.") if is_closed else gettext("Nothing has been said in it yet.")


def _reset(call: ActionCall) -> str:
    with acting(call.actor):
        conversations.lock_session(call.row)
        is_closed = conversations.reset(call.row, now=call.now)
    return gettext("The conversation is reset.") if is_closed else gettext("Nothing has been said in it yet.")


_OF_SESSIONS: dict[str, Any] = {
    "right": "operate",
    "fits": lambda session: session.next_position > 1,
    "rows": _rows,
    "back": to_row,
}
FLUSH = Action(
    name="flush", label=_("Flush"), icon="output", act=_flush, **_OF_SESSIONS,
    question=Question(
        title=_("Flush this conversation"),
        text=_(
            "What must not be lost of what was said since the last flush is kept as memories. The conversation goes on "
            "as it is."
        ),
    ),
)  # fmt: skip
CLOSE = Action(
    name="close", label=_("Close conversation"), icon="door_front", act=_close, **_OF_SESSIONS,
    question=Question(
        title=_("Close this conversation"),
        text=_(
            "Its last turns are kept as a memory, and the next message begins a new conversation. What was said can "
            "still be read here."
        ),
    ),
)  # fmt: skip
RESET = Action(
    name="reset", label=_("Reset"), icon="restart_alt", variant=ActionVariant.DANGER, act=_reset, **_OF_SESSIONS,
    question=Question(
        title=_("Reset this conversation"),
        text=_(
            "The next message begins with no history, and what still waited to be extracted is not. Nothing else is "
            "forgotten. What was said can still be read here."
        ),
        is_grave=True,
    ),
)  # fmt: skip


_DONE = ngettext_lazy("%(n)d memory was taken out.", "%(n)d memories were taken out.", "n")


def _message(call: ActionCall) -> SessionEvent:
    """The message the address names."""
    messages = SessionEvent.objects.filter(workspace_id=call.row.workspace_id, session=call.row)
    message = messages.filter(pk=call.arguments["event"]).first()
    if message is None:
        raise Http404
    return message


def _form(call: ActionCall) -> forms.Form:
    form: forms.Form = call.bound(ReasonForm, reason=gettext("Taken out from the conversation"))
    form.fields["reason"].widget.attrs.pop("autofocus", None)
    return form


def _take_out(call: ActionCall) -> Outcome:
    goes = taken_out_with(call.row, call.rows)
    result = bulk_actions.apply_action(
        goes.entries, bulk_actions.SUPPRESS, now=call.now, actor=call.actor, reason=call.data["reason"]
    )
    nothing = "" if goes.entries else gettext("Nothing in use rests on this message.")
    return outcome_of(result, _DONE, nothing=nothing)


def _back(call: ActionCall) -> str:
    return message_url(call.row, call.rows)


TAKE_OUT = Action(
    name="take_out", path="/<path:object_id>/take-out/<int:event>/", label=_("Take this out"), right="curate",
    place=Place.ADDRESS, rows=_message, form=_form,
    question=lambda call: Question(
        template="admin/sessions_app/take_out.html", context={"goes": taken_out_with(call.row, call.rows)}, rows=()
    ),
    act=_take_out, back=_back,
)  # fmt: skip
QUARANTINE = Action(  # everything that rests on a message and the answer to it; the page asks itself
    name="quarantine", path="/<path:object_id>/quarantine/<int:event>/", label=_("Put into quarantine"),
    right="curate", place=Place.ADDRESS, rows=_message, back=_back,
    act=lambda call: ask(call.request, suspect_message(call.row, call.rows, gettext("A message")), call.back),
)  # fmt: skip


#: Scopes looked through for a name, and speakers taken of them.
SCOPES_MOST, SPEAKERS_MOST = 500, 500
_SPOKEN = """
    SELECT e.session_id FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS one (workspace, platform, peer)
    JOIN sessions_app_sessionevent e ON e.workspace_id = one.workspace AND e.sender_id = one.peer AND e.sender_id <> ''
    JOIN sessions_app_session s ON s.id = e.session_id AND (one.platform = '' OR s.platform IN ('', one.platform))
    UNION
    SELECT s.id FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS one (workspace, platform, peer)
    JOIN sessions_app_session s ON s.workspace_id = one.workspace AND s.peer = one.peer
        AND (one.platform = '' OR s.platform IN ('', one.platform))
"""


class Speaker(NamedTuple):
    """Somebody by the id they write with; without a platform on any."""

    workspace: int
    platform: str
    peer: str


class NameFinder(Protocol):
    """A function of MEMORY_NAME_FINDERS: who is called by a part of a name; None: in all workspaces."""

    def __call__(self, words: str, workspaces: frozenset[int] | None) -> Iterable[tuple[int, str, str]]: ...


def with_speakers(sessions: QuerySet[Session], words: str, workspaces: frozenset[int] | None) -> QuerySet[Session]:
    """Those of these sessions in which somebody speaks whose name these words are a part of."""
    finders: list[NameFinder] = [import_string(path) for path in settings.MEMORY_NAME_FINDERS]
    by_finders = {Speaker(*row) for finder in finders for row in finder(words, workspaces)}
    # Whose messages came with such a name: the last one of each, and those that memories still tell
    speaker_names = Func(F("speakers"), Value(" "), function="array_to_string", output_field=TextField())
    scopes = Scope.objects.annotate(called=speaker_names)
    if workspaces is not None:
        scopes = scopes.filter(workspace_id__in=workspaces)
    with_name = scopes.filter(Q(called__icontains=words) | Q(sender_names__icontains=words)).order_by("-pk")
    named_scopes = list(with_name.only("workspace_id", "key", "sender_names")[:SCOPES_MOST])
    folded = words.casefold()
    latest = {
        Speaker(scope.workspace_id, platform_of_key(scope.key), peer)
        for scope in named_scopes
        for peer, name in scope.sender_names.items()
        if folded in name.casefold()
    }
    statements = Entry.objects.live().filter(scope__in=[scope.pk for scope in named_scopes], speaker__icontains=words)
    earlier = statements.exclude(sender_id="").order_by().values_list("workspace_id", "channel", "sender_id").distinct()
    speakers = sorted(by_finders | latest | {Speaker(*row) for row in earlier[:SPEAKERS_MOST]})
    columns = [list(column) for column in zip(*speakers, strict=True)] or [[], [], []]
    return sessions.filter(pk__in=RawSQL(_SPOKEN, [*columns, *columns]))  # noqa: S611 (constants)


#: The rules of a channel by their names, each with its label and those of its values.
_RULES: Mapping[str, tuple[Any, Mapping[Any, Any]]] = {
    "dm_scope": (_("memory of direct chats"), dict(DmScope.choices)),
    "session_mode": (_("sessions"), dict(SessionMode.choices)),
    "session_prefix": (_("session prefix"), {}),
    "group_sessions": (_("group sessions"), dict(GroupSessions.choices)),
    "group_prefix": (_("group prefix"), {}),
    "capture_group_memory": (_("remember for the group"), {True: _("yes"), False: _("no")}),
    "group_user_recall": (_("what a group may hear of a person"), dict(GroupUserRecall.choices)),
    "secrets": (_("secrets that are told"), dict(SecretsRule.choices)),
    "need": (_("ask whether memory is needed"), dict(NeedMode.choices)),
    "serve": (_("what is served"), {}),
    "max_tokens": (_("tokens of a history"), {}),
}


class LastMessageBetween(DaysFilter):
    """By the days of its newest message, as the list shows them."""

    column = "newest_at"


@admin.register(Session)
class SessionAdmin(RecordedHistory, RestrictedAdmin):
    """Messages cannot be changed; the open conversation can be flushed, closed and reset."""

    when_empty = _("A conversation begins with the first turn a bot reports: connect one.")
    members_may = VIEW
    declared = (FLUSH, CLOSE, RESET, TAKE_OUT, QUARANTINE)
    list_display = ["who", "platform", "account", "conversation", "budget", "said_at", "workspace"]
    list_display_links = ["who"]
    list_filter = [("is_group", BooleanRadioFilter), ("last_at", LastMessageBetween)]
    list_select_related = ["workspace"]
    search_fields = ["key", "chat_id", "peer"]
    search_help_text = _("Part of a key, of a chat's id, of a peer's or of a name people go by")
    ordering = ["-last_at", "-id"]
    fieldsets = [
        (None, {"fields": [("key", "conversation"), ("platform", "account", "chat_id"), ("started_at", "said_at")]}),
        (
            _("More"),
            {
                "classes": ["tab"],
                "fields": [
                    ("user_scope", "chat_scope"),
                    ("peer", "is_group"),
                    "tokens",
                    "rules_in_words",
                    "metadata",
                    "uid",
                ],
            },
        ),
    ]  # fmt: skip
    readonly_fields = ["uid", "rules_in_words", "said_at"]
    change_form_outer_before_template = "admin/sessions_app/conversation.html"
    who = column(_("chat"), lambda session: session.peer or session.chat_id or session.key, ordering="chat_id")
    # When it was written, on the reader's clock.
    said_at = column(
        _("last message"),
        lambda session: str(localize(localtime(getattr(session, "newest_at", session.last_at)))),
        ordering="newest_at",
    )
    budget = column(_("tokens"), lambda session: f"{session.tokens:,} / {session.max_tokens():,}", ordering="tokens")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Session]:
        """With the time of the newest message, as a turn may be reported long after; without messages, its last use."""
        newest = SessionEvent.objects.filter(session=OuterRef("pk")).order_by("-conversation", "-position")
        rows: QuerySet[Session] = (
            super().get_queryset(request).annotate(newest_at=Coalesce(Subquery(newest.values("at")[:1]), F("last_at")))
        )
        return rows

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Session], search_term: str
    ) -> tuple[QuerySet[Session], bool]:
        """Also by the names of the people who speak there."""
        rows, may_repeat = super().get_search_results(request, queryset, search_term)
        if name := " ".join(search_term.replace("\0", "").split()):
            rows |= with_speakers(queryset, name, workspaces_of(request))
        return rows, may_repeat

    @display(description=_("rules"))
    def rules_in_words(self, session: Session) -> str:
        """The channel's rules when it was last used, in words; what leaves it to the platform is left out."""
        rules = session.channel_rules()
        rows = [(label, getattr(rules, name), words) for name, (label, words) in _RULES.items()]
        return " · ".join(
            f"{label}: {words.get(value, value)}" for label, value, words in rows if value not in (None, "")
        )

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """A day that is asked for leads to its first message."""
        if (day := request.GET.get("on", "")) and request.method == "GET":
            session = self.reach(request, object_id, "view")
            if event := message_on(session, day):
                return HttpResponseRedirect(message_url(session, event))
            messages.info(request, gettext("Nothing was said on this day or later."))
            return HttpResponseRedirect(request.path)
        answer: HttpResponse = super().change_view(request, object_id, form_url, extra_context)
        return answer

    def page_context(self, request: HttpRequest, row: Session) -> dict[str, Any]:
        return {
            "talk": conversation_of(row, request.GET),
            "session": row,
            "may_take_out": holds(request, Right.CURATE, row.workspace_id),
        }

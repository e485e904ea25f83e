"""What the log of recalls can be narrowed to: person, chat, channel, verdict, and the saved views above it."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import TextFilter

from memories.admin.filters import condition_filter
from memories.admin.saved_views import SavedView
from memories.choices import Verdict
from memories.staff.rights import workspaces_of
from sessions_app.admin.recall_log.askers import ids_of_people
from sessions_app.models import Session

#: So many sessions are named to the database; of a channel with more, each trace is looked at.
FEW_SESSIONS = 500

#: Whether it was enough to answer with.
AnswerFilter = condition_filter(
    _("answer"),
    "answer",
    {verdict.value: (verdict.label, Q(evidence__verdict=verdict.value)) for verdict in Verdict}
    | {
        "unneeded": (_("No memory needed"), Q(evidence__verdict__isnull=True)),
        "degraded": (_("Degraded"), ~Q(degraded=[])),
    },
)


class _Typed(TextFilter):
    """A filter by what was typed into it."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        asked = (self.value() or "").strip().replace("\0", "")
        return self.narrowed(queryset, asked, workspaces_of(request)) if asked else queryset

    def narrowed(self, rows: QuerySet[Any], asked: str, workspaces: frozenset[int] | None) -> QuerySet[Any]:
        raise NotImplementedError


class AskerFilter(_Typed):
    """By who asked: their name, or the platform's id of them."""

    title = _("person")
    parameter_name = "person"

    def narrowed(self, rows: QuerySet[Any], asked: str, workspaces: frozenset[int] | None) -> QuerySet[Any]:
        return rows.filter(asker__in=ids_of_people(asked, workspaces))


class ChatFilter(_Typed):
    """By the chat: its id, whom it is with, or the key of its session."""

    title = _("chat or session")
    parameter_name = "chat"

    def narrowed(self, rows: QuerySet[Any], asked: str, workspaces: frozenset[int] | None) -> QuerySet[Any]:
        named = _sessions(workspaces).filter(Q(key=asked) | Q(chat_id=asked) | Q(peer=asked))
        return rows.filter(session_key__in=[asked, *named.values_list("key", flat=True)[:FEW_SESSIONS]])


class ChannelFilter(_Typed):
    """By the channel: a platform, or a bot's account on it."""

    title = _("channel (telegram or telegram:account)")
    parameter_name = "channel"

    def narrowed(self, rows: QuerySet[Any], asked: str, workspaces: frozenset[int] | None) -> QuerySet[Any]:
        platform, _colon, account = asked.partition(":")
        of_channel = _sessions(workspaces).filter(platform=platform.lower())
        if account:
            of_channel = of_channel.filter(account=account)
        keys = list(of_channel.values_list("key", flat=True)[: FEW_SESSIONS + 1])
        if len(keys) <= FEW_SESSIONS:
            return rows.filter(session_key__in=keys)
        return rows.filter(Exists(of_channel.filter(workspace=OuterRef("workspace"), key=OuterRef("session_key"))))


def _sessions(workspaces: frozenset[int] | None) -> QuerySet[Session]:
    every = Session.objects.all()
    return every if workspaces is None else every.filter(workspace_id__in=workspaces)


def _of_verdict(verdict: Verdict) -> Q:
    return Q(evidence__verdict=verdict.value)


SAVED_VIEWS: Mapping[str, SavedView] = {
    "unanswered": SavedView(_("Unanswered"), _of_verdict(Verdict.NONE), has_one_state=True),
    "weak": SavedView(_("Perhaps enough"), _of_verdict(Verdict.WEAK), has_one_state=True),
    "unused": SavedView(_("Served, but not used"), Q(made_of_it=[]) & ~Q(served=[])),
    "degraded": SavedView(_("Degraded"), ~Q(degraded=[])),
    "unneeded": SavedView(_("No memory needed"), Q(evidence__verdict__isnull=True), has_one_state=True),
}

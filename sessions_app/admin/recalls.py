"""Recall traces as a log: who asked what, what was served, what was made of it, and the page of one of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from memories.admin.access import Colors, RestrictedAdmin, in_workspaces
from memories.admin.entries.columns import beneath, excerpt, short_moment
from memories.admin.lists import (
    TRACES,
    CsvList,
    DaysFilter,
    ReachableFilter,
    SavedView,
    ViewedChangeList,
    WordSearch,
    condition_filter,
    text_filter,
)
from memories.admin.pages import column
from memories.admin.recall_traces import DEGRADED, RULES, moment_label, query_label, replay_context, trace_context
from memories.choices import Verdict
from memories.models import RecallTrace, Scope
from memories.staff.rights import VIEW, workspaces_of
from sessions_app.admin.conversation import BEFORE, message_url
from sessions_app.history import retention
from sessions_app.models import EventKind, Session, SessionEvent


@dataclass(frozen=True)
class Asker:
    """The person a recall was made for, and the chat it was made in; empty where nobody knows."""

    who: str
    chat: str
    session: Session | None


def askers_of(traces: Sequence[RecallTrace]) -> dict[int, Asker]:
    """By the id of each trace: two queries, however many they are."""
    scope_pks = {pk for trace in traces for pk in trace.scopes}
    of = {trace.workspace_id for trace in traces}
    scope_rows = Scope.objects.filter(workspace_id__in=of, pk__in=scope_pks)
    scopes = {scope.pk: scope for scope in scope_rows.only("workspace_id", "key", "label", "sender_names")}
    keys = {trace.session_key for trace in traces if trace.session_key}
    sessions: dict[tuple[int, str], list[Session]] = {}
    for session in Session.objects.filter(workspace_id__in=of, key__in=keys).order_by("-last_at"):
        sessions.setdefault((session.workspace_id, session.key), []).append(session)
    askers = {}
    for trace in traces:
        here = {pk: scopes[pk] for pk in trace.scopes if pk in scopes}
        # Of those with its key, on several platforms, the one whose memory was asked
        with_key = sessions.get((trace.workspace_id, trace.session_key), [])
        own = (row for row in with_key if {row.user_scope_id, row.chat_scope_id} & set(trace.scopes))
        chat = next(own, with_key[0] if with_key else None)
        person = trace.asker or (chat.peer if chat else "")
        name = next((scope.sender_names[person] for scope in here.values() if person in scope.sender_names), person)
        if chat is None:
            place = ", ".join(map(str, here.values()))
        elif not chat.is_group:
            place = gettext("%(platform)s, direct chat") % {"platform": chat.platform or chat.key}
        else:
            scope = here.get(chat.chat_scope_id or 0)
            group = (scope.label if scope else "") or chat.chat_id
            place = gettext("%(platform)s, group %(chat)s") % {"platform": chat.platform or chat.key, "chat": group}
        askers[trace.pk] = Asker(name, place, chat)
    return askers


#: Characters of a question in the list.
SHOWN_CHARS = 240
#: The verdict as people say it.
VERDICTS = {
    Verdict.FOUND: _("enough"),
    Verdict.WEAK: _("perhaps"),
    Verdict.NONE: _("not enough"),
    "": _("no memory needed"),
}
_COLORS = Colors(
    {
        VERDICTS[Verdict.FOUND]: "success",
        VERDICTS[Verdict.WEAK]: "warning",
        VERDICTS[Verdict.NONE]: "danger",
        VERDICTS[""]: None,
    }
)


def used_by_answer(trace: RecallTrace) -> int | None:
    """How many served memories the answer used: as the bot reported, else by its words; None where nobody knows."""
    used_pks = trace.overlap if trace.used is None else trace.used
    return None if used_pks is None else len(used_pks)


#: Scopes looked through for a name.
_NAMES_MOST = 500
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


def of_person(rows: QuerySet[Any], words: str, request: HttpRequest) -> QuerySet[Any]:
    """Asked by the people who are called so, or have this id."""
    scopes = in_workspaces(Scope.objects.exclude(sender_names={}), workspaces_of(request))
    folded = " ".join(words.split()).casefold()
    sender_names = scopes.filter(sender_names__icontains=folded).values_list("sender_names", flat=True)[:_NAMES_MOST]
    ids = [words, *{pk for names in sender_names for pk, name in names.items() if name.casefold() == folded}]
    return rows.filter(asker__in=ids)


def in_chat(rows: QuerySet[Any], words: str, request: HttpRequest) -> QuerySet[Any]:
    """In the chat of this id, with this person, or of the session with this key."""
    sessions = in_workspaces(Session.objects.all(), workspaces_of(request))
    keys = sessions.filter(Q(key=words) | Q(chat_id=words) | Q(peer=words)).values_list("key", flat=True)
    return rows.filter(session_key__in=[words, *keys[:FEW_SESSIONS]])


def on_channel(rows: QuerySet[Any], words: str, request: HttpRequest) -> QuerySet[Any]:
    """On a platform, or by a bot's account on it."""
    platform, _colon, account = words.partition(":")
    of_channel = in_workspaces(Session.objects.all(), workspaces_of(request)).filter(platform=platform.lower())
    if account:
        of_channel = of_channel.filter(account=account)
    keys = list(of_channel.values_list("key", flat=True)[: FEW_SESSIONS + 1])
    if len(keys) <= FEW_SESSIONS:
        return rows.filter(session_key__in=keys)
    return rows.filter(Exists(of_channel.filter(workspace=OuterRef("workspace"), key=OuterRef("session_key"))))


SAVED_VIEWS: Mapping[str, SavedView] = {
    "unanswered": SavedView(_("Unanswered"), Q(evidence__verdict=Verdict.NONE.value), has_one_state=True),
    "weak": SavedView(_("Perhaps enough"), Q(evidence__verdict=Verdict.WEAK.value), has_one_state=True),
    "unused": SavedView(_("Served, but not used"), (Q(used=[]) | Q(used=None, overlap=[])) & ~Q(served=[])),
    "degraded": SavedView(_("Degraded"), ~Q(degraded=[])),
    "unneeded": SavedView(_("No memory needed"), Q(evidence__verdict__isnull=True), has_one_state=True),
}


#: Messages looked at for the question of a recall.
_LOOKED_AT = 200


@dataclass(frozen=True)
class Reply:
    """An answer of the bot, and what identifies it."""

    event: SessionEvent
    url: str
    is_named: bool  # by the bot, with its turn; else the question has the same words
    is_redacted: bool  # people took out a memory that rests on it (A15)


def reply_of(trace: RecallTrace, session: Session | None) -> Reply | None:
    """The bot's answer, where the turn was stored; three queries at most."""
    if session is None:
        return None
    answer = _messages(session).filter(data__recall_id=str(trace.uid), kind=EventKind.ASSISTANT).first()
    event = answer
    if event is None:
        # The first answer to the question with the words of the recall, asked within ten minutes of it
        between = (trace.created_at - BEFORE, trace.created_at + BEFORE)
        is_talk = Q(kind__in=(EventKind.USER, EventKind.ASSISTANT))
        near = _messages(session).filter(is_talk, at__range=between).order_by("conversation", "position")[:_LOOKED_AT]
        question: SessionEvent | None = None
        for message in near:
            if message.kind == EventKind.USER:
                question = message if message.content.strip() == trace.message.strip() else None
            elif question is not None and message.conversation == question.conversation:
                event = None if message.data.get("recall_id") else message  # it names another recall
                break
    if event is None:
        return None
    redacted = retention.redacted_events(session, event.conversation)
    return Reply(event.handed_out(), message_url(session, event), answer is not None, event.pk in redacted)


def _messages(session: Session) -> QuerySet[SessionEvent]:
    return SessionEvent.objects.filter(workspace_id=session.workspace_id, session=session)


_BY_WORKSPACE = ("workspace", ReachableFilter)


class TraceLog(ViewedChangeList):
    """Gives each row of the page the one who asked and the chat: two queries more, however many rows."""

    saved_views, all_rows, view_parameters = SAVED_VIEWS, _("All"), ("p", "answer")

    def describe_rows(self, rows: Sequence[Any]) -> None:
        super().describe_rows(rows)
        askers = askers_of(rows)
        for row in rows:
            row.asker_shown = askers[row.pk]


@admin.register(RecallTrace)
class RecallTraceAdmin(WordSearch, CsvList, RestrictedAdmin):
    """Read only. The cells of the list read what TraceLog gives its rows."""

    when_empty = _("Each question a bot asks memory is kept here for a month: connect one, and ask it something.")
    members_may = VIEW
    changelist = TraceLog
    has_history = False
    list_display = ["text", "place", "colored_state", "outcome", "created"]
    list_display_links = ["text"]
    list_filter = [
        AnswerFilter,
        text_filter(_("person"), "person", of_person),
        text_filter(_("chat or session"), "chat", in_chat),
        text_filter(_("channel (telegram or telegram:account)"), "channel", on_channel),
        ("bot", ReachableFilter),
        _BY_WORKSPACE,
        ("created_at", DaysFilter),
    ]
    list_select_related = ["bot", "workspace"]
    list_before_template = "admin/sessions_app/recall_log_head.html"
    word_index = TRACES
    search_fields = ["message"]
    search_help_text = _("Words of the question in English or Chinese, “a phrase as written”, or a recall’s id")
    ordering = ["-created_at", "-id"]
    sortable_by: list[str] = []
    fieldsets = [
        (None, {"fields": ["message", "created_at", "bot", "session_key", "scope_names", "why_asked", "conditions"]}),
        (_("Evidence"), {"fields": ["signs", "missing", "tokens", "note"], "classes": ["tab"]}),
    ]
    readonly_fields = ["scope_names", "why_asked", "conditions", "signs", "missing"]
    change_form_before_template = "admin/memories/trace.html"
    csv_name = "recalls"
    csv_columns = (
        "id", "asked", "workspace", "bot", "person", "chat", "session", "question", "verdict", "served", "used",
        "degraded", "milliseconds",
    )  # fmt: skip
    # Whether it was enough to answer with.
    colored_state = column(_("answer"), lambda trace: VERDICTS.get(trace.verdict, trace.verdict), label=_COLORS)
    # The parameters of the query beside the message, in words.
    conditions = column(_("query"), lambda trace: query_label(trace.query) or "—")
    # Why memory was asked, or was not.
    why_asked = column(_("need"), lambda trace: RULES.get(trace.rule, trace.rule) or "—")
    # What was not there in time, by what answered in its place.
    missing = column(
        _("degraded"), lambda trace: ", ".join(str(DEGRADED.get(part, part)) for part in trace.degraded) or "—"
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows, match = super().get_queryset(request), request.resolver_match
        is_page = match and str(match.url_name).endswith("_change")
        return rows if is_page else rows.defer("candidates", "terms")

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        """Without the workspace for those who see one."""
        workspaces = workspaces_of(request)
        is_one = workspaces is not None and len(workspaces) == 1
        return [narrowing for narrowing in self.list_filter if not (is_one and narrowing == _BY_WORKSPACE)]

    def csv_rows(self, changelist: Any, rows: list[Any]) -> Iterator[Iterable[Any]]:
        askers = askers_of(rows)
        for trace in rows:
            asker = askers[trace.pk]
            yield (
                trace.uid,
                trace.created_at.isoformat(timespec="seconds"),
                trace.workspace.name,
                trace.bot.name if trace.bot else "",
                trace.asker or asker.who,
                asker.chat,
                trace.session_key,
                trace.message,
                trace.verdict or "unneeded",
                len(trace.served),
                used_by_answer(trace),
                " ".join(trace.degraded),
                round(trace.timings.get("total", 0)),
            )

    @display(description=_("question"))
    def text(self, trace: Any) -> str:
        """Two lines of it, the searched words marked."""
        if trace.is_purged:
            return format_html('<span class="mp-clamp text-subtle">{}</span>', gettext("its words were removed"))
        words = excerpt(trace.message, trace.searched, SHOWN_CHARS) if trace.message else "—"
        return format_html('<span class="mp-clamp">{}</span>', words)

    @display(description=_("who asked"))
    def place(self, trace: Any) -> str:
        """Who asked, and below it where; with the workspace where several are shown."""
        several = [trace.workspace.name] if trace.is_one_of_several else []
        return beneath(trace.asker_shown.who, " · ".join(filter(None, [trace.asker_shown.chat, *several])))

    @display(description=_("served"))
    def outcome(self, trace: RecallTrace) -> str:
        """How many were served, and below it how many of them the answer used, or what was missing."""
        count, used_count = len(trace.served), used_by_answer(trace)
        served_text = gettext("%(n)d served") % {"n": count} if trace.verdict or count else ""
        used_text = "" if used_count is None or not count else gettext("%(n)d used") % {"n": used_count}
        without = next((str(label) for part, label in DEGRADED.items() if part in trace.degraded), "")
        then = trace.query.get("as_of")
        back = gettext("memory as of %(then)s") % {"then": moment_label(then)} if then else ""
        return beneath(served_text, " · ".join(filter(None, [used_text, without, back])))

    @display(description=pgettext_lazy("recall", "asked"), ordering="created_at")
    def created(self, trace: Any) -> str:
        """When it was asked, and below it by which bot and how long the answer took."""
        took = gettext("%(n)s ms") % {"n": f"{trace.timings.get('total', 0):.0f}"}
        bot = trace.bot.name if trace.bot else ""
        return beneath(short_moment(trace.created_at), " · ".join(filter(None, [took, bot])))

    @display(description=_("scopes"))
    def scope_names(self, trace: RecallTrace) -> str:
        scopes = Scope.objects.filter(pk__in=trace.scopes, workspace_id=trace.workspace_id)
        return ", ".join(map(str, scopes)) or "—"

    @display(description=_("evidence"))
    def signs(self, trace: RecallTrace) -> str:
        """Whether it was enough to answer with, and by which signs, in words."""
        verdict = [str(VERDICTS.get(trace.verdict, trace.verdict))] if trace.verdict else []
        return " · ".join(filter(None, [*verdict, query_label(trace.evidence)])) or "—"

    def page_context(self, request: HttpRequest, row: RecallTrace) -> dict[str, Any]:
        timezone.activate(row.workspace.zone())  # one clock a page: that of the workspace where it was asked
        is_replayed = "again" in request.GET and not row.is_purged
        asker = askers_of([row])[row.pk]
        context = trace_context(row) | {"asker": asker, "reply": reply_of(row, asker.session)}
        return context | (replay_context(row, now=timezone.now()) if is_replayed else {})

"""Extraction batches: those that wait, are worked on or were parked; extracted now, retried or dropped (D5)."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.timesince import timesince
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display
from unfold.enums import ActionVariant

from memories.admin.access import Colors, RestrictedAdmin, RestrictedInline
from memories.admin.actions import Action, ActionCall, Question
from memories.admin.lists import DaysFilter
from memories.admin.pages import column
from memories.audit.models import AuditEvent
from memories.choices import BufferState
from memories.consolidation import buffer
from memories.models import BufferedTurn, ExtractionBatch
from memories.staff.rights import VIEW

_COLORS = Colors(
    {BufferState.WAITING.label: "info", BufferState.CLAIMED.label: "success", BufferState.PARKED.label: "danger"}
)
#: What an extraction batch waits for, or was parked for, by the name its error begins with; and what helps.
_WHY = {
    "AnswerInvalid": _(
        "The model's answer could not be used, nor could those it gave when it was told why. Try again, or use another "
        "model."
    ),
    "ModelFailed": _("The model gave no answer. Look whether its endpoint runs, then try again."),
    "ModelOff": _("No model is configured any more. Try again: its sentences are kept without one."),
    "BudgetSpent": _("The model's budget of the day or month is spent. It goes on by itself when the next begins."),
    "ScopeFrozen": _("The memory it belongs to is frozen. Thaw the scope, then try again."),
    "InvalidDraft": _("What came of it cannot be stored. Try again, or take it out."),
}
_GONE = _("The processes that worked on it ended without a word. Look at the log, then try again.")
_OTHER = _("Something nobody foresaw went wrong. Look at the log, then try again.")


class TurnInline(RestrictedInline):
    """The turns of an extraction batch with their messages in full, a page at a time."""

    model = BufferedTurn
    members_may = VIEW
    fields = ["said_at", "words", "user_scope", "chat_scope", "tokens"]
    readonly_fields = fields
    ordering = ["said_at", "id"]
    per_page = 30
    hide_title = True

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("user_scope", "chat_scope")

    @display(description=_("messages"))
    def words(self, turn: BufferedTurn) -> str:
        roles = {buffer.USER: gettext("User")}
        lines = (
            (message["sender"] or roles.get(message["role"], gettext("Assistant")), message["content"])
            for message in turn.messages
        )
        return format_html('<div class="mp-said">{}</div>', format_html_join("", "<p><b>{}</b> {}</p>", lines))


def _first_words(batch: ExtractionBatch) -> str:
    """An extraction batch by its first message."""
    first = batch.turns.order_by("said_at", "pk").first()
    return str(first)[:110] if first else str(batch)


def _question(text: Any, **look: Any) -> Callable[[ActionCall], Question]:
    return lambda call: Question(text=text, rows=map(_first_words, call.rows), **look)


def _done(count: int) -> str:
    return ngettext("%(n)d extraction batch: done.", "%(n)d extraction batches: done.", count) % {"n": count}


def _drop(call: ActionCall) -> str:
    call.admin.log_deletions(call.request, call.rows)
    return _done(buffer.drop(call.rows))


EXTRACT = Action(
    name="extract_now", path="extract", label=_("Extract now"), icon="bolt", right="operate",
    listed=_("Extract the chosen turns now …"), listed_name="extract_chosen",
    fits=lambda batch: batch.state == BufferState.WAITING,
    question=_question(_("What waits is not waited for any longer: it is extracted within the next minute.")),
    act=lambda call: _done(buffer.seal(call.rows, now=call.now)),
)  # fmt: skip
RETRY = Action(
    name="retry", label=_("Try again"), icon="replay", right="operate", listed=_("Try the chosen turns again …"),
    fits=lambda batch: batch.state == BufferState.PARKED,
    question=_question(_("What was parked is tried again within the next minute, as if for the first time.")),
    act=lambda call: _done(buffer.retry(call.rows, now=call.now)),
)  # fmt: skip
DROP = Action(
    name="drop", label=_("Take out"), icon="delete_sweep", variant=ActionVariant.DANGER, right="operate",
    listed=_("Take the chosen turns out …"),
    question=_question(
        _(
            "These turns are not extracted, and this cannot be undone. What was captured of them as entries, and the "
            "messages in their sessions, stay."
        ),
        title=_("Take out unextracted"),
        is_grave=True,
    ),
    act=_drop,
)  # fmt: skip


@admin.register(ExtractionBatch)
class ExtractionBatchAdmin(RestrictedAdmin):
    """Nothing is edited here: turns are extracted, tried again, or taken out unextracted."""

    members_may = VIEW
    audit_event = AuditEvent.ERASED
    has_history = False
    inlines = [TurnInline]
    list_display = ["last_at", "whose", "workspace", "colored_state", "turn_count", "tokens", "waits", "why"]
    list_display_links = ["last_at", "whose"]
    list_filter = [("state", ChoicesDropdownFilter), ("last_at", DaysFilter)]
    list_select_related = ["workspace"]
    search_fields = ["session_uid", "error"]
    search_help_text = _("Part of a session's id or of an error")
    ordering = ["-last_at", "-id"]
    sortable_by = ["last_at", "tokens"]
    fields = [
        ("colored_state", "sealed", "attempts"), "why", "error", ("turn_count", "tokens", "waits"),
        ("began_at", "last_at", "due_at"), ("session_uid", "conversation"), ("workspace", "uid"),
    ]  # fmt: skip
    readonly_fields = ["colored_state", "waits", "why", "uid"]
    declared = (EXTRACT, RETRY, DROP)
    whose = column(_("scope"), lambda batch: batch._scope or "—")
    colored_state = column(_("state"), lambda batch: BufferState(batch.state).label, label=_COLORS)
    waits = column(_("oldest turn since"), lambda batch: timesince(batch.began_at, timezone.now(), depth=1))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With the scope of the first turn of each; a group's before the speaker's."""
        batches = super().get_queryset(request)
        turns = BufferedTurn.objects.filter(batch=OuterRef("pk"))
        first = turns.order_by("said_at", "pk").values_list(Coalesce("chat_scope__key", "user_scope__key"))[:1]
        return batches.annotate(_scope=Subquery(first))

    @display(description=_("why"))
    def why(self, batch: ExtractionBatch) -> str:
        """What went wrong and what helps, in the reader's language; the error itself is the worker's."""
        if not batch.error:
            return "—"
        name = batch.error.partition(":")[0]
        return str(_WHY.get(name, _OTHER if name.isidentifier() else _GONE))

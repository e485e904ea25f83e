"""Pinned tests: the list, the page of one, and runs of them. They are made in the recall lab."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from memories.admin.access import Colors, RestrictedAdmin
from memories.admin.actions import Action, ActionCall, Outcome, Place
from memories.admin.pages import column
from memories.entries.history import PointInHistory, contents_at
from memories.evaluation import pinned
from memories.models import Entry, PinnedState, PinnedTest
from memories.staff.rights import VIEW, Needs
from memories.staff.roles import Right

_COLORS = Colors(
    {
        PinnedState.PASSING.label: "success",
        PinnedState.FAILING.label: "danger",
        PinnedState.BROKEN.label: "warning",
        PinnedState.NEW.label: None,
    }
)
PROBLEMS = {
    pinned.MISSING: _("is not returned"),
    pinned.UNWANTED: _("is returned"),
    pinned.NO_WORDS: _("these words are not returned"),
    pinned.WORDS: _("these words are returned"),
    pinned.ERASED: _("was removed for good: this test can no longer tell what it was made to tell"),
    pinned.NO_SCOPE: _("the memory it asks is gone"),
    pinned.DEGRADED: _("the embedder did not answer"),
}


def _run(call: ActionCall) -> Outcome:
    failing = 0
    for test in call.ticked.select_related("workspace")[: pinned.MOST] if call.ticked is not None else ():
        run = pinned.run_one(test, test.workspace, now=call.now)
        pinned.keep(run, now=call.now)
        failing += run.state != PinnedState.PASSING
    if not failing:
        return Outcome(text=gettext("All of them pass."))
    text = ngettext("%(n)d pinned test does not pass.", "%(n)d pinned tests do not pass.", failing)
    return Outcome(warning=text % {"n": failing})


RUN = Action(
    name="run", label=_("Run now"), right="curate", listed=_("Run now"), listed_name="run_now", place=Place.NOWHERE,
    act=_run,
)  # fmt: skip


@admin.register(PinnedTest)
class PinnedTestAdmin(RestrictedAdmin):
    """Made in the lab; removed by those who curate."""

    when_empty = _("Ask something in the recall lab and save it as a pinned test: it is asked every day from then on.")
    members_may: Needs = {**VIEW, "delete": Right.CURATE}
    list_display = ["question", "how", "what", "whose", "run_at"]
    list_display_links = ["question"]
    list_filter = [("state", ChoicesDropdownFilter)]
    ordering = ["-created_at", "-id"]
    sortable_by = ["run_at"]
    search_fields = ["message"]
    declared = (RUN,)
    fields = ["message", "whose", "how", "run_at", ("mode", "need"), ("created_by", "created_at")]
    readonly_fields = ["whose", "how", "what"]
    change_form_before_template = "admin/memories/pinned_test.html"
    question = column(_("question"), lambda test: test.message[:90])
    how = column(_("state"), lambda test: PinnedState(test.state).label, label=_COLORS)
    whose = column(_("as whom"), lambda test: str(test.whom.get("said") or ", ".join(test.scope_keys)))

    @display(description=_("problems"))
    def what(self, test: PinnedTest) -> str:
        codes = dict.fromkeys(code for code, _about in test.problems)
        return "; ".join(str(PROBLEMS.get(code, code)) for code in codes) or "—"

    def page_context(self, request: HttpRequest, row: PinnedTest) -> dict[str, Any]:
        named_pks = [*row.must_entries, *row.must_not_entries]
        entries = Entry.objects.filter(workspace_id=row.workspace_id).in_bulk(named_pks)
        # What stood on the page it was made from, in its order and words; and whether it says something else today
        rows = row.answer or []
        answer_entries = Entry.objects.filter(workspace_id=row.workspace_id).in_bulk([pk for pk, _version in rows])
        points = [PointInHistory(pk, version, row.created_at) for pk, version in rows if pk in answer_entries]
        contents = contents_at(Entry, row.workspace_id, points)
        words = {
            point.row_id: answer_entries[point.row_id].content if text is None else text
            for point, (_version, text, _since) in zip(points, contents, strict=True)
        }
        answer = [
            (entry, words[pk], words[pk] != entry.content) if (entry := answer_entries.get(pk)) else (None, "", False)
            for pk, _version in rows
        ]
        bad: dict[Any, Any] = {about: PROBLEMS.get(code, code) for code, about in row.problems}
        return {
            "test": row,
            "answer": None if row.answer is None else answer,
            "must": [(entries.get(pk), bad.get(pk)) for pk in row.must_entries],
            "must_not": [(entries.get(pk), bad.get(pk)) for pk in row.must_not_entries],
            "must_words": [(words, bad.get(words)) for words in row.must_words],
            "must_not_words": [(words, bad.get(words)) for words in row.must_not_words],
            "others": [PROBLEMS[code] for code, _about in row.problems if code in (pinned.NO_SCOPE, pinned.DEGRADED)],
        }

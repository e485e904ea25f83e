"""Branches of a memory: begun on the page of a scope, filled from there, then tried, merged or dropped as any plan."""

from typing import Any

from django import forms
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django_q.tasks import async_task

from memories import llm
from memories.admin.actions import Action, ActionCall, Outcome, Place, Question, to_row
from memories.admin.batches.actions import only_post
from memories.admin.batches.detail import batch_url
from memories.admin.forms import LineField
from memories.admin.pages import row_number
from memories.batches import branch as branches


class BranchForm(forms.Form):
    """What a branch is called."""

    name = LineField(label=_("Name"), max_length=100, help_text=_("What you want to try, in a few words."))


class ModelForm(forms.Form):
    """The model that is to tidy."""

    model = LineField(
        label=_("Model"), max_length=200, help_text=_("As the server of MEMORY_LLM_BASE_URL names it; any it offers.")
    )


def _begin(call: ActionCall) -> Outcome:
    branch = branches.begin(call.row, call.data["name"], actor=call.actor, now=call.now)
    return Outcome(text=gettext("The branch is there, with nothing in it yet."), address=batch_url(branch))


def _take_in(call: ActionCall) -> Outcome:
    ticked = {row_number(pk) for pk in call.request.POST.getlist("plan")}
    plans = [plan for plan in branches.others(call.row) if plan.pk in ticked]
    row_count = branches.take_in(call.row, plans, actor=call.actor, now=call.now)
    text = ngettext("%(n)d row is on the branch now.", "%(n)d rows are on the branch now.", row_count)
    return Outcome(text=text % {"n": row_count})


def _tidy(call: ActionCall) -> Outcome:
    async_task("memories.tasks.tidy_branch", call.row.pk, call.data["model"], group="mem:batches")
    return Outcome(info=gettext("The worker asks the model. Look again: what it proposes comes behind the other rows."))


BEGIN = Action(
    name="branch", label=_("Branch this memory"), icon="alt_route", right="curate", back=to_row,
    form=lambda call: call.bound(BranchForm),
    question=Question(
        text=_(
            "A branch gathers changes without making them: plans, an import, a clean-up by a model, other policies. "
            "Try it on last week's questions, then merge it as one batch, which can be undone, or drop it."
        ),
        button=_("Begin"),
        rows=(),
    ),
    act=_begin,
)  # fmt: skip
_OF_BRANCH: dict[str, Any] = {"place": Place.ADDRESS, "back": to_row}
TAKE_IN = Action(name="take_in", label="", right="curate", refuses=only_post, act=_take_in, **_OF_BRANCH)
TIDY = Action(
    name="tidy", label=_("Have a model tidy it"), right="operate",
    refuses=lambda call: "" if llm.is_on() else gettext("No model is configured: name one in MEMORY_LLM_MODEL."),
    form=lambda call: call.bound(ModelForm, model=llm.model_name()),
    question=Question(
        text=_(
            "The model says which facts of this memory to merge and which to drop, as in the weekly run. What it "
            "proposes stands on the branch alone. It costs as much as that run does, within the same budget."
        ),
        rows=(),
    ),
    act=_tidy, **_OF_BRANCH,
)  # fmt: skip
OF_BRANCHES = (TAKE_IN, TIDY)

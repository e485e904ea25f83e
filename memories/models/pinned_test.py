"""Pinned tests: questions whose answers are to stay as they are, asked again every day (F6)."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q, TextChoices
from django.utils.translation import gettext_lazy as _

from memories.models.change import Recorded, record_changes
from memories.models.ids import uuid7
from memories.models.table import Chapter, Fate, Table
from memories.models.tenancy import Workspace
from memories.models.walls import WorkspacePolicy


class PinnedState(TextChoices):
    """What came of the last run."""

    NEW = "new", _("Not run yet")
    PASSING = "passing", _("Passing")
    FAILING = "failing", _("Failing")
    BROKEN = "broken", _("Cannot be run")  # what it names is gone


def _texts(label: Any) -> Any:
    return ArrayField(models.CharField(max_length=300), default=list, blank=True, verbose_name=label)


def _entries(label: Any) -> Any:
    return ArrayField(models.BigIntegerField(), default=list, blank=True, verbose_name=label)


class PinnedTest(Recorded):
    """A question, as whom it is asked, and what its answer must and must not hold; with the answer it was made from
    (`answer`: entries with their versions; null: made before that was kept), what else was asked (`asked`, as a
    trace's `query`) and what came of its last run. Its history tells who made it.

    - `pinnedtest_state_known`: `new`, `passing`, `failing`, `broken`.
    """

    table = Table(chapter=Chapter.RECORDS, fate=Fate.REMOVED, is_searched=True)

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    message = models.TextField(_("question"))
    mode = models.CharField(_("manner"), max_length=10, default="hybrid")
    need = models.CharField(_("need"), max_length=10, default="auto")
    scope_keys = ArrayField(models.CharField(max_length=255), verbose_name=_("scopes"))
    #: Of each scope its key, kind, and what of it may be heard; the asker and the session; as people call it.
    whom = models.JSONField(_("as whom"), default=dict)
    #: What else was asked, as a recall's trace keeps it (memories.recall.traces).
    asked = models.JSONField(_("as asked"), default=dict, blank=True)
    #: What stood on the page it was made from, best first: each memory with its version. None: it was not kept.
    answer = models.JSONField(_("answer"), null=True, blank=True)
    must_entries = _entries(_("must return"))
    must_not_entries = _entries(_("must not return"))
    must_words = _texts(_("must return the words"))
    must_not_words = _texts(_("must not return the words"))
    state = models.CharField(_("state"), max_length=10, choices=PinnedState, default=PinnedState.NEW)
    problems = models.JSONField(_("problems"), default=list, help_text=_("Of the last run."))
    run_at = models.DateTimeField(_("last run"), null=True)
    created_by = models.CharField(_("by"), max_length=200)
    created_at = models.DateTimeField(_("created"))

    class Meta:
        verbose_name = _("pinned test")
        verbose_name_plural = _("pinned tests")
        triggers = record_changes(ignored=("state", "problems", "run_at"))
        constraints = [
            models.CheckConstraint(condition=Q(state__in=PinnedState.values), name="pinnedtest_state_known"),
            models.CheckConstraint(condition=~Q(message=""), name="pinnedtest_asks_something"),
            models.CheckConstraint(
                condition=~Q(must_entries=[], must_not_entries=[], must_words=[], must_not_words=[]),
                name="pinnedtest_wants_something",
            ),
            WorkspacePolicy(name="pinnedtests_of_the_workspaces"),
        ]
        indexes = [models.Index(fields=["workspace", "-created_at", "-id"], name="pinnedtest_by_time")]

    def __str__(self) -> str:
        return self.message[:80]

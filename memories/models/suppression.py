"""Suppressions: what was taken out of use, and no machine writes again."""

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memories.models.change import Recorded, record_changes
from memories.models.entry import Entry
from memories.models.table import Chapter, Export, Fate, Table
from memories.models.tenancy import Scope, Workspace
from memories.models.walls import InsideWorkspace, WorkspacePolicy

#: A column of its own, because row-level security lets no index of arrays be used.
_NAME_CONVERSATION = """
SELECT CASE count(DISTINCT place) WHEN 0 THEN '' WHEN 1 THEN min(place) ELSE '*' END INTO NEW.conversation
FROM (SELECT regexp_replace(origin, '/[^/]*$', '') AS place FROM unnest(NEW.origins) origin) named;
RETURN NEW;
"""


class Suppression(Recorded):
    """What was taken out and must stay out, by the fingerprint of its text and `wordings`, those of what it said
    before and of what else rested on its messages. `origins` grow by the messages in which it is said again. An undo
    puts it back too. `conversation` is where the messages were said that it rests on (`*`: in several places); the
    database fills it in, and by it a conversation finds what to leave out. One of a quarantine has the run of its
    batches in `quarantine`: its messages alone keep out what rests on them, not its words; where nothing was made of
    messages it has no entry.
    """

    table = Table(
        chapter=Chapter.REMEMBERED,
        fate=Fate.REMOVED,
        export=Export(
            "suppression", leaves_out=("quarantine", "conversation"), refers={"scope": "scope", "entry": "entry"}
        ),
    )

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    scope = models.ForeignKey(Scope, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    entry = models.ForeignKey(Entry, models.DO_NOTHING, db_constraint=False, null=True, related_name="+")
    quarantine = models.CharField(max_length=64, blank=True, default="", editable=False)  # the run of its batches
    fingerprint = models.CharField(max_length=32)
    wordings = ArrayField(models.CharField(max_length=32), default=list)  # fingerprints of its other words
    origins = ArrayField(models.CharField(max_length=300), default=list)
    conversation = models.CharField(max_length=300, default="", editable=False)  # of these; *: several
    actor = models.CharField(_("by"), max_length=200)
    created_at = models.DateTimeField(_("at"))

    class Meta:
        verbose_name = _("suppression")
        verbose_name_plural = _("suppressions")
        triggers = [
            *record_changes(),
            pgtrigger.Trigger(
                name="name_conversation", when=pgtrigger.Before, operation=pgtrigger.Insert, func=_NAME_CONVERSATION
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["scope", "entry"], name="suppression_once_an_entry"),
            models.CheckConstraint(
                condition=Q(entry__isnull=False) | ~Q(quarantine=""), name="suppression_of_an_entry_or_quarantine"
            ),
            InsideWorkspace("scope", name="suppression_scope_in_its_workspace", cascade=True),
            InsideWorkspace("entry", name="suppression_entry_in_its_workspace", cascade=True),
            WorkspacePolicy(name="suppression_of_the_workspaces"),
        ]
        indexes = [
            models.Index(fields=["scope", "fingerprint"], name="suppression_by_words"),
            models.Index(fields=["workspace", "conversation"], name="suppression_by_conversation"),
            models.Index(
                fields=["workspace", "quarantine"], condition=~Q(quarantine=""), name="suppression_of_quarantine"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.entry_id}"

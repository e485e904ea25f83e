"""What hangs on an entry: named values, and how it came from others."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from memories.choices import LinkKind
from memories.models.change import Recorded, record_changes
from memories.models.entry import Entry
from memories.models.table import Chapter, Export, Fate, Table
from memories.models.tenancy import Workspace
from memories.models.walls import InsideWorkspace, WorkspacePolicy


class Slot(Recorded):
    """A named value on an entry, free for the bot to choose and to filter by."""

    table = Table(chapter=Chapter.REMEMBERED, fate=Fate.ALONG, export=Export("slot"))

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    entry = models.ForeignKey(Entry, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="slots")
    name = models.CharField(_("name"), max_length=64)
    value = models.CharField(_("value"), max_length=500)

    class Meta:
        verbose_name = _("slot")
        verbose_name_plural = _("slots")
        triggers = record_changes()
        constraints = [
            models.UniqueConstraint(fields=["entry", "name"], name="slot_name_once_on_entry"),
            models.CheckConstraint(condition=~Q(name=""), name="slot_has_a_name"),
            InsideWorkspace("entry", name="slot_entry_in_its_workspace", cascade=True),
            WorkspacePolicy(name="slot_of_the_workspaces"),
        ]
        indexes = [models.Index(fields=["workspace", "name", "value"], name="slot_by_value")]

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


class Link(Recorded):
    """How one entry came from, replaces or resembles another.

    - `link_kind_known`: `source_of`, `supersedes`, `alike`, `merged_from`.
    """

    table = Table(
        chapter=Chapter.REMEMBERED,
        fate=Fate.ALONG,
        export=Export("link", refers={"from_entry": "entry", "to_entry": "entry"}),
    )

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    from_entry = models.ForeignKey(
        Entry, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="links_out"
    )
    to_entry = models.ForeignKey(Entry, models.DO_NOTHING, db_constraint=False, related_name="links_in")
    kind = models.CharField(_("kind"), max_length=20, choices=LinkKind)
    created_at = models.DateTimeField(_("created"))

    class Meta:
        verbose_name = _("link")
        verbose_name_plural = _("links")
        triggers = record_changes()
        constraints = [
            models.UniqueConstraint(fields=["from_entry", "to_entry", "kind"], name="link_once_of_a_kind"),
            models.CheckConstraint(condition=Q(kind__in=LinkKind.values), name="link_kind_known"),
            models.CheckConstraint(condition=~Q(from_entry=F("to_entry")), name="link_between_two_entries"),
            InsideWorkspace("from_entry", name="link_from_entry_in_its_workspace", cascade=True),
            InsideWorkspace("to_entry", name="link_to_entry_in_its_workspace", cascade=True),
            WorkspacePolicy(name="link_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return f"{self.from_entry_id} {self.kind} {self.to_entry_id}"

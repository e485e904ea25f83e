"""What is known of the files of a workspace, so that only changed ones are read again (C12)."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memories.models.scope import Scope
from memories.models.table import Chapter, Fate, Table
from memories.models.tenancy import Workspace
from memories.models.walls import InsideWorkspace, WorkspacePolicy


class FileProblem(models.TextChoices):
    """Why what a file says is not, or not wholly, what is remembered of it."""

    NONE = "", _("In step")
    UNREADABLE = "unreadable", _("It cannot be read.")
    SUPPRESSED = "suppressed", _("Lines of it were taken out of use, and are not remembered again.")
    NOT_WRITTEN = "not_written", _("A change could not be written to it.")
    FROZEN = "frozen", _("Its scope is frozen.")


class FileState(models.Model):
    """A file of markdown as it was indexed last: when it was changed, its size and digest, and why it is out of step.
    *Derived.*
    """

    table = Table(chapter=Chapter.RECORDS, fate=Fate.REMOVED, tied_by="scope")

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    scope = models.ForeignKey(Scope, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="files")
    path = models.CharField(_("path"), max_length=500, help_text=_("In the folder of the workspace."))
    modified_ns = models.BigIntegerField(help_text=_("When the file was last changed, in nanoseconds."))
    size = models.BigIntegerField(_("bytes"))
    digest = models.CharField(max_length=64, help_text=_("SHA-256 of its bytes."))
    line_count = models.PositiveIntegerField(_("lines"), default=0)
    entry_count = models.PositiveIntegerField(_("entries"), default=0)
    indexed_at = models.DateTimeField(_("indexed"))
    problem = models.CharField(
        _("out of step"), max_length=20, choices=FileProblem, blank=True, default=FileProblem.NONE
    )
    detail = models.TextField(_("detail"), blank=True, default="", help_text=_("Such as the lines that are meant."))

    class Meta:
        verbose_name = _("file")
        verbose_name_plural = _("files")
        constraints = [
            models.UniqueConstraint(fields=["scope", "path"], name="filestate_once_a_path"),
            models.CheckConstraint(condition=Q(problem__in=FileProblem.values), name="filestate_problem_known"),
            models.CheckConstraint(condition=~Q(path=""), name="filestate_has_a_path"),
            InsideWorkspace("scope", name="filestate_scope_in_its_workspace", cascade=True),
            WorkspacePolicy(name="filestate_of_the_workspaces"),
        ]
        indexes = [models.Index(fields=["workspace", "path"], name="filestate_by_path")]

    def __str__(self) -> str:
        return self.path

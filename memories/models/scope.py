"""Scopes: the memory of a person or chat, which nothing crosses."""

from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memories.choices import ScopeKind
from memories.models.ids import uuid7
from memories.models.table import Chapter, Export, Fate, Table
from memories.models.tenancy import Workspace
from memories.models.walls import WorkspacePolicy

#: Of the rules by which secrets are recognised: raised, all memories are looked through once more.
SECRETS_VERSION = 2


class ScopeQuerySet(models.QuerySet["Scope"]):
    def in_workspace(self, workspace_id: int) -> Self:
        return self.filter(workspace_id=workspace_id)

    def begin(self, workspace_id: int, key: str, kind: str) -> "Scope":
        """The scope with this key, made if nobody wrote to it yet."""
        scope, _made = self.get_or_create(workspace_id=workspace_id, key=key, defaults={"kind": ScopeKind(kind)})
        return scope


class Scope(models.Model):
    """One memory: a person's or a chat's, under a key that is unique in its workspace.

    `version` rises with every write. `secrets_version` says by which rules its memories were looked through for
    secrets. What was computed from the scope at another version is outdated.

    - `scope_kind_known`: `user` or `chat`.
    - `scope_relevance_is_a_share`: the least relevance in a prompt is a number from 0 to 1.
    - `scope_in_workspace`: the pair others point to.
    """

    table = Table(
        chapter=Chapter.REMEMBERED,
        fate=Fate.REMOVED,
        export=Export(
            "scope",
            leaves_out=("version", "entry_count", "average_length", "index_length"),
            later={"secrets_version": 0, "relevance_likely": None},
        ),
    )

    #: Whether somebody was erased from its workspace; of a scope that is locked.
    has_tombstones: bool = False

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="scopes")
    key = models.CharField(_("key"), max_length=255)
    kind = models.CharField(_("kind"), max_length=10, choices=ScopeKind)
    label = models.CharField(_("label"), max_length=200, blank=True, default="")
    frozen = models.BooleanField(_("frozen"), default=False)
    relevance_likely = models.FloatField(
        _("least relevance in a prompt"),
        null=True,
        blank=True,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text=_("What is less likely to help is not put into a prompt. Empty: as the workspace's policies say."),
    )
    version = models.PositiveBigIntegerField(_("version"), default=0, editable=False)
    entry_count = models.PositiveIntegerField(_("entries"), default=0, editable=False)
    average_length = models.FloatField(_("average length"), default=0, editable=False, help_text=_("Terms an entry."))
    index_length = models.FloatField(
        default=0, editable=False, help_text="The average length the search rows are weighed with."
    )
    speakers = ArrayField(
        models.CharField(max_length=200),
        default=list,
        blank=True,
        editable=False,
        verbose_name=_("speakers"),
        help_text=_("Who has said something here, as people call them; a question that names one prefers their words."),
    )
    projects = ArrayField(
        models.CharField(max_length=100),
        default=list,
        blank=True,
        editable=False,
        verbose_name=_("projects"),
        help_text=_("Projects something is known about; a message that names one needs memory."),
    )
    nicknames = models.JSONField(
        _("nicknames"),
        default=dict,
        blank=True,
        editable=False,
        help_text=_("What people are called here, and whom each name means; nobody, when it means several."),
    )
    sender_names = models.JSONField(
        _("names of senders"),
        default=dict,
        blank=True,
        editable=False,
        help_text=_("What people are called here, by the id their messages come with; the last name counts."),
    )
    secrets_version = models.PositiveSmallIntegerField(
        default=SECRETS_VERSION,
        editable=False,
        help_text="By which rules its memories were looked through for secrets; 0: not yet.",
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    objects = ScopeQuerySet.as_manager()

    class Meta:
        verbose_name = _("scope")
        verbose_name_plural = _("scopes")
        constraints = [
            models.UniqueConstraint(fields=["workspace", "key"], name="scope_key_once_in_workspace"),
            models.UniqueConstraint(fields=["id", "workspace"], name="scope_in_workspace"),
            models.CheckConstraint(condition=Q(kind__in=ScopeKind.values), name="scope_kind_known"),
            models.CheckConstraint(condition=~Q(key=""), name="scope_has_a_key"),
            models.CheckConstraint(
                condition=Q(relevance_likely__isnull=True) | Q(relevance_likely__gte=0, relevance_likely__lte=1),
                name="scope_relevance_is_a_share",
            ),
            WorkspacePolicy(name="scope_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return self.label or self.key

    @property
    def is_past(self) -> bool:
        """Whether it is read as it was at a moment of the past (memories.entries.past)."""
        return self.version < 0

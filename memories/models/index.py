"""What recall searches: embeddings, derived rows and the state of files, which can be rebuilt at any time with the same
results.
"""

from typing import Self

from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField, SparseVectorField

from memories.models.entry import Entry
from memories.models.lease import RetryQuerySet
from memories.models.table import Chapter, Fate, Table
from memories.models.tenancy import Scope, Workspace
from memories.models.walls import InsideWorkspace, WorkspacePolicy


class EmbeddingModel(models.Model):
    """A model in one dimension, whose vectors may be compared with each other.

    `floor` is the cosine of unrelated texts, `ceiling` that of the same text: between them similarity runs from 0 to
    1.
    """

    table = Table(chapter=Chapter.SEARCHED, fate=Fate.NOTHING)

    name = models.CharField(_("name"), max_length=200)
    dimension = models.PositiveIntegerField(_("dimension"))
    floor = models.FloatField(_("floor"), default=0.0)
    ceiling = models.FloatField(_("ceiling"), default=1.0)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("embedding model")
        verbose_name_plural = _("embedding models")
        constraints = [
            models.UniqueConstraint(fields=["name", "dimension"], name="embeddingmodel_once_a_dimension"),
            models.CheckConstraint(condition=Q(dimension__gt=0), name="embeddingmodel_has_dimensions"),
            models.CheckConstraint(condition=Q(floor__lt=F("ceiling")), name="embeddingmodel_floor_below_ceiling"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.dimension})"


class EmbeddingCache(models.Model):
    """What a provider answered for a text, found by the text's hash.

    Holds no text. *Derived.*
    """

    table = Table(chapter=Chapter.SEARCHED, fate=Fate.REMOVED)

    provider = models.CharField(max_length=200)
    model = models.CharField(max_length=200)
    text_hash = models.CharField(max_length=64)
    embedding = HalfVectorField()
    used_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("cached embedding")
        verbose_name_plural = _("embedding cache")
        constraints = [
            models.UniqueConstraint(fields=["provider", "model", "text_hash"], name="embeddingcache_once_a_text"),
        ]
        indexes = [models.Index(fields=["used_at"], name="embeddingcache_by_use")]

    def __str__(self) -> str:
        return f"{self.model}: {self.text_hash[:12]}"


class EntryVector(models.Model):
    """The raw embedding of an entry's own text.

    Kept, so that blending anew never asks the embedder. *Derived.*
    """

    table = Table(chapter=Chapter.SEARCHED, fate=Fate.ALONG)

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    entry = models.ForeignKey(Entry, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="vectors")
    model = models.ForeignKey(EmbeddingModel, models.DO_NOTHING, related_name="+")
    fingerprint = models.CharField(max_length=32, help_text=_("Of the text that was embedded."))
    embedding = HalfVectorField()

    class Meta:
        verbose_name = _("vector")
        verbose_name_plural = _("vectors")
        constraints = [
            models.UniqueConstraint(fields=["entry", "model"], name="entryvector_once_a_model"),
            InsideWorkspace("entry", name="entryvector_entry_in_its_workspace", cascade=True),
            WorkspacePolicy(name="entryvector_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return f"{self.entry_id} · {self.model_id}"


def embedding_has_a_model(name: str) -> models.CheckConstraint:
    """That a row has both an embedding and the model it is of, or neither."""
    both = Q(model__isnull=False, embedding__isnull=False)
    return models.CheckConstraint(condition=Q(model__isnull=True, embedding__isnull=True) | both, name=name)


class EntryIndex(models.Model):
    """The narrow row a search reads: one embedding and one keyword vector, each blended with the neighbours in the
    conversation. It holds no state; whether an entry is live is decided on the entry, in the same statement.
    *Derived.*
    """

    table = Table(chapter=Chapter.SEARCHED, fate=Fate.ALONG)

    entry = models.OneToOneField(Entry, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="index")
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    scope = models.ForeignKey(Scope, models.DO_NOTHING, db_constraint=False, related_name="+")
    model = models.ForeignKey(EmbeddingModel, models.DO_NOTHING, null=True, db_index=False, related_name="+")
    embedding = HalfVectorField(null=True)
    keywords = SparseVectorField()
    is_echo = models.BooleanField(
        default=False, db_default=False, help_text=_("Tells nothing new: searched where it is asked what was asked.")
    )

    class Meta:
        verbose_name = _("search row")
        verbose_name_plural = _("search rows")
        constraints = [
            embedding_has_a_model("entryindex_embedding_has_a_model"),
            InsideWorkspace("entry", name="entryindex_entry_in_its_workspace", cascade=True),
            InsideWorkspace("scope", name="entryindex_scope_in_its_workspace", cascade=True),
            WorkspacePolicy(name="entryindex_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return str(self.entry_id)


class StagedVector(models.Model):
    """A search row's embedding by the model its workspace is changing to.

    It takes the old one's place when all of them are there, and is removed. *Derived.*
    """

    table = Table(chapter=Chapter.SEARCHED, fate=Fate.ALONG)

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    entry = models.ForeignKey(Entry, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    model = models.ForeignKey(EmbeddingModel, models.DO_NOTHING, db_index=False, related_name="+")
    fingerprint = models.CharField(max_length=32, help_text=_("Of the text that was embedded."))
    embedding = HalfVectorField()

    class Meta:
        verbose_name = _("staged vector")
        verbose_name_plural = _("staged vectors")
        constraints = [
            models.UniqueConstraint(fields=["entry", "model"], name="stagedvector_once_a_model"),
            InsideWorkspace("entry", name="stagedvector_entry_in_its_workspace", cascade=True),
            WorkspacePolicy(name="stagedvector_of_the_workspaces"),
        ]
        indexes = [models.Index(fields=["workspace", "model"], name="stagedvector_of_workspace")]

    def __str__(self) -> str:
        return f"{self.entry_id} · {self.model_id}"


class IndexQueue(RetryQuerySet["IndexQueueItem"]):
    def without_vector(self) -> Self:
        """Of entries in use that were never embedded as they stand: meaning does not find them.

        The others are only blended anew, and are found as before. `memplatform_backlog` counts by the same condition.
        """
        vectors = EntryVector.objects.filter(entry=OuterRef("entry"), fingerprint=OuterRef("entry__fingerprint"))
        return self.filter(~Exists(vectors), entry__in=Entry.objects.live())


class IndexQueueItem(models.Model):
    """The embedder's work list: entries whose search row no longer matches their content.

    *Derived.* A table of its own, so that queueing neither rewrites entries nor shows in their history.
    """

    table = Table(chapter=Chapter.SEARCHED, fate=Fate.ALONG)

    entry = models.OneToOneField(Entry, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="+")
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    since = models.DateTimeField(_("since"))
    failures = models.PositiveSmallIntegerField(_("failures"), default=0)
    retry_at = models.DateTimeField(_("next try"), null=True)

    objects = IndexQueue.as_manager()

    class Meta:
        verbose_name = _("entry to index")
        verbose_name_plural = _("index queue")
        constraints = [
            InsideWorkspace("entry", name="indexqueue_entry_in_its_workspace", cascade=True),
            WorkspacePolicy(name="indexqueue_of_the_workspaces"),
        ]
        indexes = [models.Index(fields=["since", "entry"], name="indexqueue_in_order_of_arrival")]

    def __str__(self) -> str:
        return str(self.entry_id)


class ScopeTerm(models.Model):
    """In how many entries of a scope a term occurs.

    *Derived.*
    """

    table = Table(chapter=Chapter.SEARCHED, fate=Fate.COUNTED)

    pk = models.CompositePrimaryKey("scope_id", "term")
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    scope = models.ForeignKey(Scope, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    term = models.IntegerField()
    entries = models.IntegerField()

    class Meta:
        verbose_name = _("scope term")
        verbose_name_plural = _("scope terms")
        constraints = [
            InsideWorkspace("scope", name="scopeterm_scope_in_its_workspace", cascade=True),
            WorkspacePolicy(name="scopeterm_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return f"{self.scope_id}: {self.term}"


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

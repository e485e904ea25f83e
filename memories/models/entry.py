"""Entries: what is remembered, with their slots, links and counters."""

from datetime import datetime
from functools import reduce
from operator import or_
from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Func, Q
from django.utils.translation import gettext_lazy as _

from memories.choices import UNDATED, Category, Echo, EntryType, Origin, Source, Suspicion, Verification
from memories.models.change import Recorded, record_changes
from memories.models.ids import uuid7
from memories.models.state import LIVE, live_sql, mark_of
from memories.models.table import Chapter, Export, Fate, Table
from memories.models.tenancy import Scope, Workspace
from memories.models.walls import InsideWorkspace, WorkspacePolicy

#: How the subtype of a memory begins in which a secret was recognised; the kinds of it follow.
SECRET_SUBTYPE = "secret:"  # noqa: S105 (a mark)
#: Of an entry `e`, in SQL.
LIVE_SQL = live_sql("e")
#: Of each origin the least trusted source may be itself, or any less trusted one.
_NOT_ABOVE = reduce(
    or_, (Q(origin=origin, trust__in=Origin.values[rank:]) for rank, origin in enumerate(Origin.values))
)


class EntryQuerySet(models.QuerySet["Entry"]):
    def live(self) -> Self:
        """Entries in use, whether or not their time is over."""
        return self.filter(LIVE)

    def in_scope(self, scope: Scope) -> Self:
        return self.filter(scope=scope, workspace_id=scope.workspace_id)

    def about(self, *subjects: str) -> Self:
        """Entries that are about somebody or something by one of these names, as written or in another case.

        By equality alone: behind the walls between workspaces no index serves a function of a column.
        """
        cases = {form for name in subjects for form in (name, name.lower(), name.upper(), name.title())}
        return self.filter(subject__in=sorted({*cases, *(name[:1].upper() + name[1:] for name in subjects)} - {""}))

    def expired(self) -> Self:
        return self.filter(expired_at__isnull=False)

    def archived(self) -> Self:
        return self.filter(archived_at__isnull=False)


class Sourced(Recorded):
    """A text of a scope, with the messages it rests on."""

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    content = models.TextField(_("content"))
    terms = ArrayField(models.IntegerField(), default=list, editable=False, help_text=_("Own words, hashed."))
    source = models.CharField(_("source"), max_length=30, choices=Source)
    chats = ArrayField(
        models.CharField(max_length=200),
        default=list,
        blank=True,
        verbose_name=_("chats"),
        help_text=_("Every chat any part of it came from."),
    )
    origins = ArrayField(
        models.CharField(max_length=300),
        default=list,
        blank=True,
        verbose_name=_("sources of origin"),
        help_text=_("The messages it rests on."),
    )
    created_at = models.DateTimeField(_("created"))
    updated_at = models.DateTimeField(_("updated"))
    expired_at = models.DateTimeField(_("expired"), null=True, blank=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.content[:80]


class Entry(Sourced):
    """One memory.

    Live until it is expired, archived, superseded or suppressed; what is in quarantine is suppressed, with the time in
    `quarantined_at`; served until its time to live is up. Channel, chat, session, sender, speaker and thread are
    columns; other slots are rows of `memories_slot`. An entry is written through `memories.entries` and by no other
    code; out of use it is kept, unseen, until it is purged.

    - `entry_in_workspace`: the pair others point to.
    - `entry_verification_known`: `quoted`, `verified`, or empty for what no model wrote.
    - `entry_suspect_known`: how a text speaks to a model, or empty.
    - `entry_tier_of_facts_only`: a fact has tier 1 or 2, nothing else has a tier.
    - `entry_trust_not_above_origin`: no memory is trusted more than who it comes from.
    """

    table = Table(
        chapter=Chapter.REMEMBERED,
        fate=Fate.REMOVED,
        export=Export(
            "entry",
            leaves_out=("terms", "length", "fingerprint", "quarantined_at"),
            refers={"scope": "scope", "superseded_by": "entry"},
            later={
                **{"names": [], "read_at": None, "suspect": ""},
                **{"origin": Origin.IMPORT, "trust": Origin.IMPORT, "subject": ""},
            },
        ),
    )

    scope = models.ForeignKey(Scope, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="entries")
    type = models.CharField(_("type"), max_length=20, choices=EntryType)
    subtype = models.CharField(_("subtype"), max_length=40, blank=True, default="")
    tier = models.PositiveSmallIntegerField(_("tier"), null=True, blank=True)
    category = models.CharField(_("category"), max_length=20, choices=Category, blank=True, default="")
    project = models.CharField(_("project"), max_length=100, blank=True, default="")
    topic = models.CharField(_("topic"), max_length=100, blank=True, default="")
    names = ArrayField(
        models.CharField(max_length=100),
        default=list,
        blank=True,
        verbose_name=_("names"),
        help_text=_("What it is about, and its other names: Kubernetes, k8s. A question that says one is about it."),
    )
    length = models.PositiveIntegerField(default=0, editable=False, help_text=_("Own words, with repeats."))
    fingerprint = models.CharField(max_length=32, editable=False, help_text=_("Hash of the normalised content."))
    importance = models.FloatField(_("importance"), default=0.5)

    # the address: slots that are used so often that they are columns
    channel = models.CharField(_("channel"), max_length=40, blank=True, default="")
    chat_id = models.CharField(_("chat"), max_length=200, blank=True, default="")
    session_id = models.CharField(_("session"), max_length=200, blank=True, default="")
    sender_id = models.CharField(_("sender"), max_length=200, blank=True, default="")
    speaker = models.CharField(_("speaker"), max_length=200, blank=True, default="")
    thread_id = models.CharField(_("thread"), max_length=200, blank=True, default="")

    stated_at = models.DateTimeField(
        _("last stated"), help_text=_("Created, merged or repeated; time to live runs from here.")
    )
    read_at = models.DateTimeField(
        _("read"),
        null=True,
        blank=True,
        help_text=_("Of a turn: when a model drew facts from it; its term runs from here."),
    )
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True, help_text=_("Wins over the policy."))
    review_at = models.DateTimeField(
        _("review by"), null=True, blank=True, help_text=_("Stays in use; it is listed as due from then on.")
    )
    archived_at = models.DateTimeField(_("archived"), null=True, blank=True)
    superseded_by = models.ForeignKey(
        "self",
        models.DO_NOTHING,
        db_constraint=False,
        db_index=False,  # entry_by_successor holds the few that have one
        null=True,
        blank=True,
        related_name="supersedes",
    )
    suppressed_at = models.DateTimeField(_("suppressed"), null=True, blank=True)
    quarantined_at = models.DateTimeField(
        _("in quarantine"), null=True, blank=True, help_text=_("People look through what rests on a source.")
    )
    pinned = models.BooleanField(_("pinned"), default=False)
    echo = models.CharField(
        _("echo"),
        max_length=10,
        choices=Echo,
        null=True,  # nobody has looked at it yet (memories.lifecycle.old_entries)
        blank=True,
        default=Echo.NONE,
        editable=False,
        help_text=_("What of a turn tells nothing new: it was only asked, repeated from memory, or not known."),
    )
    verification = models.CharField(
        _("verification"),
        max_length=10,
        choices=Verification,
        blank=True,
        default=Verification.NONE,
        editable=False,
        help_text=_("Of a model's fact: whether a second reading found it borne out by the words it quotes."),
    )
    suspect = models.CharField(
        _("suspect"),
        max_length=10,
        choices=Suspicion,
        blank=True,
        default=Suspicion.NONE,
        editable=False,
        help_text=_("It speaks to the model that reads it: no group is told it, and no profile is made of it."),
    )
    verified_at = models.DateTimeField(_("verified"), null=True, blank=True)
    verified_by = models.CharField(_("verified by"), max_length=200, blank=True, default="")
    origin = models.CharField(
        _("comes from"), max_length=10, choices=Origin, default=Origin.TOOL, editable=False, help_text=_("Whose words.")
    )
    trust = models.CharField(
        _("lowest source"),
        max_length=10,
        choices=Origin,
        default=Origin.TOOL,
        editable=False,
        help_text=_("The least trusted of all it rests on; what it may do is a policy."),
    )
    subject = models.CharField(
        _("about"),
        max_length=100,
        blank=True,
        default="",
        help_text=_("Whom or what it is about; empty: the person who said it, or nobody knows."),
    )
    path = models.CharField(_("path"), max_length=500, blank=True, default="")
    line_from = models.PositiveIntegerField(_("from line"), null=True, blank=True)
    line_to = models.PositiveIntegerField(_("to line"), null=True, blank=True)
    heading = models.CharField(
        _("heading"), max_length=300, blank=True, default="", help_text=_("The headings a line of a file stands under.")
    )

    objects = EntryQuerySet.as_manager()

    class Meta:
        verbose_name = _("entry")
        verbose_name_plural = _("entries")
        triggers = record_changes(along=("echo", "read_at", "updated_at", "line_from", "line_to"))
        constraints = [
            models.UniqueConstraint(fields=["id", "workspace"], name="entry_in_workspace"),
            models.CheckConstraint(condition=Q(type__in=EntryType.values), name="entry_type_known"),
            models.CheckConstraint(condition=Q(source__in=Source.values), name="entry_source_known"),
            models.CheckConstraint(condition=Q(category__in=["", *Category.values]), name="entry_category_known"),
            models.CheckConstraint(condition=Q(verification__in=Verification.values), name="entry_verification_known"),
            models.CheckConstraint(condition=Q(suspect__in=Suspicion.values), name="entry_suspect_known"),
            models.CheckConstraint(condition=Q(origin__in=Origin.values), name="entry_origin_known"),
            models.CheckConstraint(condition=_NOT_ABOVE, name="entry_trust_not_above_origin"),
            models.CheckConstraint(condition=~Q(content=""), name="entry_content_not_empty"),
            models.CheckConstraint(
                condition=Q(importance__gte=0) & Q(importance__lte=1), name="entry_importance_between_0_and_1"
            ),
            models.CheckConstraint(
                condition=Q(type=EntryType.FACT, tier__isnull=False, tier__in=[1, 2])
                | (~Q(type=EntryType.FACT) & Q(tier__isnull=True)),
                name="entry_tier_of_facts_only",
            ),
            models.CheckConstraint(
                condition=Q(superseded_by__isnull=True) | ~Q(superseded_by=F("id")),
                name="entry_not_its_own_successor",
            ),
            models.CheckConstraint(
                condition=Q(quarantined_at__isnull=True) | Q(suppressed_at__isnull=False),
                name="entry_in_quarantine_is_suppressed",
            ),
            models.CheckConstraint(
                condition=Q(line_from__isnull=True, line_to__isnull=True)
                | Q(line_from__isnull=False, line_to__isnull=False, line_from__lte=F("line_to")),
                name="entry_lines_in_order",
            ),
            InsideWorkspace("scope", name="entry_scope_in_its_workspace"),
            InsideWorkspace("superseded_by", name="entry_superseded_by_in_its_workspace"),
            WorkspacePolicy(name="entry_of_the_workspaces"),
        ]
        indexes = [
            models.Index(fields=["workspace", "-created_at", "-id"], name="entry_by_time"),
            models.Index(fields=["scope", "-created_at", "-id"], name="entry_of_scope_by_time"),
            # for owners, who see every workspace: without it their newest entries are found by sorting all
            models.Index(fields=["-created_at", "-id"], name="entry_by_time_everywhere"),
            models.Index(
                fields=["scope", "session_id", "chat_id", "created_at", "id"],
                condition=LIVE & ~Q(session_id=""),
                name="entry_neighbours",
            ),
            models.Index(fields=["scope", "fingerprint"], condition=LIVE, name="entry_live_fingerprint"),
            # the profile goes into every prompt: a hundred rows among thousands
            models.Index(
                fields=["scope", "-importance", "-stated_at", "-id"], condition=LIVE & Q(tier=1), name="entry_live_core"
            ),
            # all that recall asks of every entry of a scope: without it a question reads ten thousand wide rows
            models.Index(
                fields=["scope", "id"],
                include=[
                    *("workspace", "type", "created_at", "stated_at", "read_at", "expires_at", "pinned", "speaker"),
                ],
                condition=LIVE,
                name="entry_live_in_scope",
            ),
            models.Index(fields=["id"], condition=Q(echo__isnull=True), name="entry_echo_undecided"),
            models.Index(fields=["type", "stated_at"], condition=LIVE, name="entry_live_by_age"),
            models.Index(
                fields=["expires_at"],
                condition=LIVE & Q(expires_at__isnull=False),
                name="entry_live_by_expiry",
            ),
            models.Index(
                fields=["review_at"],
                condition=LIVE & Q(review_at__isnull=False),
                name="entry_live_by_review",
            ),
            models.Index(fields=["superseded_by"], condition=Q(superseded_by__isnull=False), name="entry_by_successor"),
            # what a group may not hear, and what nobody asked for, is looked up by every question
            models.Index(fields=["workspace", "scope"], condition=Q(category="credential"), name="entry_credentials"),
            models.Index(fields=["workspace", "scope"], condition=~Q(suspect=""), name="entry_suspects"),
            models.Index(fields=["workspace", "scope"], condition=LIVE & ~Q(names=[]), name="entry_named"),
            models.Index(fields=["scope", "path"], condition=~Q(path=""), name="entry_of_file"),
            # what anybody said of somebody, in whatever scope
            models.Index(
                fields=["workspace", "subject", "-created_at", "-id"],
                condition=~Q(subject=""),
                name="entry_by_subject",
            ),
            # and what somebody said
            models.Index(
                fields=["workspace", "sender_id", "-created_at", "-id"],
                condition=~Q(sender_id=""),
                name="entry_by_sender",
            ),
            # what operators look through: few among many, which without these are found by reading all
            models.Index(fields=["-created_at", "-id"], condition=Q(pinned=True), name="entry_pinned_by_time"),
            models.Index(
                fields=["-created_at", "-id"], condition=Q(verified_at__isnull=False), name="entry_checked_by_time"
            ),
            models.Index(
                fields=["-created_at", "-id"], condition=Q(archived_at__isnull=False), name="entry_archived_by_time"
            ),
            models.Index(
                fields=["workspace", "-created_at", "-id"],
                condition=Q(quarantined_at__isnull=False),
                name="entry_quarantined_by_time",
            ),
            GinIndex(fields=["terms"], name="entry_terms", fastupdate=False),
            GinIndex(
                Func(F("scope"), F("terms"), function="memplatform_scoped_terms"),
                condition=LIVE,
                fastupdate=False,
                name="entry_live_scoped_terms",
            ),
        ]

    @property
    def written_at(self) -> datetime | None:
        """When it was written; None: it is a line of a file that does not say so."""
        return None if self.created_at == UNDATED else self.created_at

    def is_live(self) -> bool:
        """Whether it is in use; its time may be over all the same."""
        return mark_of(self) is None


class EntryAccess(models.Model):
    """How often an entry was served and said again.

    A table of its own, so that counting leaves no trace in the history.
    """

    table = Table(chapter=Chapter.REMEMBERED, fate=Fate.ALONG, export=Export("access"))

    entry = models.OneToOneField(Entry, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="access")
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    access_count = models.PositiveIntegerField(_("times recalled"), default=0)
    last_accessed = models.DateTimeField(_("last recalled"), null=True)
    repeat_count = models.PositiveIntegerField(_("times said again"), default=0)
    last_seen = models.DateTimeField(_("last said"), null=True)

    class Meta:
        verbose_name = _("access")
        verbose_name_plural = _("accesses")
        constraints = [
            InsideWorkspace("entry", name="entryaccess_entry_in_its_workspace", cascade=True),
            WorkspacePolicy(name="entryaccess_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return f"{self.entry_id}: {self.access_count}"

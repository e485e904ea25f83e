"""Channels, each one bot account on a platform with its rules; and people, with their identities."""

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memories.choices import DmScope, GroupSessions, GroupUserRecall, NeedMode, PathMode, SecretsRule, SessionMode
from memories.conf import conf
from memories.models import Recorded, Workspace, record_changes
from memories.models.ids import uuid7
from memories.models.table import Chapter, Export, Fate, Table
from memories.models.walls import InsideWorkspace, WorkspacePolicy
from memories.tenancy.resolver import ChannelRules, key_of_peer, key_of_person

#: What a channel may say is served: nothing, a word, or from which relevance on.
SERVE = r"^(|likely|wide|0(\.[0-9]{1,4})?|1)$"
SERVE_HELP = _("Say “likely”, “wide”, or a number from 0 to 1.")


class Channel(Recorded):
    """One bot account on a platform with the rules of its conversations.

    Appears by itself when a bot first speaks from there. An empty rule means the platform's default.

    - `channel_path_mode_known`: the database, the files, or both.
    - `channel_history_has_room`: a budget is 100 tokens or more.
    - `channel_group_prefix_not_that_of_direct_chats`: no group's key can look like a person's.
    - `channel_serve_known`: `likely`, `wide`, or a number from 0 to 1.
    - `channel_in_workspace`: the pair others point to.
    """

    table = Table(
        chapter=Chapter.CHANNELS,
        fate=Fate.NOTHING,
        export=Export("channel", leaves_out=("created_at",), later={"secrets": "", "serve": ""}),
    )

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="channels")
    platform = models.CharField(_("platform"), max_length=40)
    account = models.CharField(_("account"), max_length=200, blank=True, default="")
    label = models.CharField(_("label"), max_length=200, blank=True, default="")
    dm_scope = models.CharField(_("memory of direct chats"), max_length=30, choices=DmScope, blank=True, default="")
    session_mode = models.CharField(_("sessions"), max_length=10, choices=SessionMode, default=SessionMode.STABLE)
    session_prefix = models.CharField(_("session prefix"), max_length=30, blank=True, default="")
    group_sessions = models.CharField(
        _("group sessions"), max_length=12, choices=GroupSessions, default=GroupSessions.SHARED
    )
    group_prefix = models.CharField(_("group prefix"), max_length=30, default="group_")
    capture_group_memory = models.BooleanField(_("remember for the group"), null=True, blank=True)
    group_user_recall = models.CharField(
        _("what a group may hear of a person"), max_length=10, choices=GroupUserRecall, blank=True, default=""
    )
    secrets = models.CharField(_("secrets that are told"), max_length=4, choices=SecretsRule, blank=True, default="")
    need = models.CharField(_("ask whether memory is needed"), max_length=4, choices=NeedMode, default=NeedMode.AUTO)
    serve = models.CharField(
        _("what is served"), max_length=6, blank=True, default="", validators=[RegexValidator(SERVE, SERVE_HELP)]
    )
    max_tokens = models.PositiveIntegerField(_("tokens of a history"), null=True, blank=True)
    path_mode = models.CharField(
        _("answered and stored by"), max_length=12, choices=PathMode, default=PathMode.HOOKS_ONLY
    )
    transcripts = models.BooleanField(_("transcripts in files"), null=True, blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("channel")
        verbose_name_plural = _("channels")
        triggers = record_changes()
        constraints = [
            models.UniqueConstraint(fields=["workspace", "platform", "account"], name="channel_account_once"),
            models.UniqueConstraint(fields=["id", "workspace"], name="channel_in_workspace"),
            models.CheckConstraint(condition=~Q(platform=""), name="channel_has_a_platform"),
            models.CheckConstraint(condition=Q(dm_scope__in=["", *DmScope.values]), name="channel_dm_scope_known"),
            models.CheckConstraint(
                condition=Q(group_user_recall__in=["", *GroupUserRecall.values]),
                name="channel_group_recall_known",
            ),
            models.CheckConstraint(
                condition=Q(secrets__in=["", *SecretsRule.values]), name="channel_secrets_rule_known"
            ),
            models.CheckConstraint(condition=Q(session_mode__in=SessionMode.values), name="channel_session_mode_known"),
            models.CheckConstraint(
                condition=Q(group_sessions__in=GroupSessions.values), name="channel_group_sessions_known"
            ),
            models.CheckConstraint(
                condition=~Q(group_prefix="") & ~Q(group_prefix__startswith="direct_"),
                name="channel_group_prefix_not_that_of_direct_chats",
            ),
            models.CheckConstraint(condition=Q(serve__regex=SERVE), name="channel_serve_known"),
            models.CheckConstraint(condition=Q(path_mode__in=PathMode.values), name="channel_path_mode_known"),
            models.CheckConstraint(
                condition=Q(max_tokens__isnull=True) | Q(max_tokens__gte=100), name="channel_history_has_room"
            ),
            WorkspacePolicy(name="channel_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return self.label or f"{self.platform}:{self.account}"

    def wants_transcripts(self) -> bool:
        """Whether what is said is also written to files: by its own rule, else as configured."""
        return conf.TRANSCRIPTS if self.transcripts is None else self.transcripts

    def rules(self) -> ChannelRules:
        """The rules as they travel with a request."""
        return ChannelRules(
            dm_scope=self.dm_scope or "",
            session_mode=self.session_mode,
            session_prefix=self.session_prefix,
            group_sessions=self.group_sessions,
            group_prefix=self.group_prefix,
            capture_group_memory=(
                conf.CAPTURE_GROUP_MEMORY if self.capture_group_memory is None else self.capture_group_memory
            ),
            group_user_recall=self.group_user_recall or conf.GROUP_USER_RECALL,
            secrets=self.secrets or conf.SECRETS,
            need=self.need,
            serve=self.serve,
            max_tokens=self.max_tokens,
        )


class ReplayOutcome(models.TextChoices):
    """What became of a call the journal kept."""

    APPLIED = "applied", _("Applied")
    KNOWN = "known", _("Was stored already")
    PARKED = "parked", _("Could not be applied")
    DISCARDED = "discarded", _("Given up by a person")


class ReplayedRecord(models.Model):
    """A call the journal kept while the database was away or switched off, written in the transaction of its effect:
    so none is applied twice. What could not be applied is kept with its reason.

    - `replayedrecord_outcome_known`: applied, known, parked or discarded.
    """

    table = Table(chapter=Chapter.CHANNELS, fate=Fate.SEARCHED)

    uid = models.UUIDField(_("id"), unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    platform = models.CharField(_("platform"), max_length=40)
    account = models.CharField(_("account"), max_length=200, blank=True, default="")
    kind = models.CharField(_("call"), max_length=40)
    outcome = models.CharField(_("outcome"), max_length=10, choices=ReplayOutcome)
    reason = models.TextField(_("reason"), blank=True, default="")
    body = models.JSONField(_("body"), null=True, blank=True, help_text=_("Of what could not be applied."))
    accepted_at = models.DateTimeField(_("accepted"))
    replayed_at = models.DateTimeField(_("replayed"))

    class Meta:
        verbose_name = _("replayed call")
        verbose_name_plural = _("replayed calls")
        constraints = [
            models.CheckConstraint(condition=Q(outcome__in=ReplayOutcome.values), name="replayedrecord_outcome_known"),
            WorkspacePolicy(name="replayedrecord_of_the_workspaces"),
        ]
        indexes = [
            models.Index(fields=["workspace", "-accepted_at", "-id"], name="replayedrecord_by_time"),
            models.Index(
                fields=["workspace", "accepted_at"],
                condition=Q(outcome=ReplayOutcome.PARKED),
                name="replayedrecord_parked",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.uid}"


class PathComparison(models.Model):
    """A recall of a channel under `dual_write`, asked of the files as well: what only one of the two found."""

    table = Table(chapter=Chapter.CHANNELS, fate=Fate.SEARCHED)

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    platform = models.CharField(_("platform"), max_length=40)
    account = models.CharField(_("account"), max_length=200, blank=True, default="")
    trace = models.UUIDField(_("recall"), null=True, blank=True)
    message = models.TextField(_("message"), blank=True, default="")
    both = models.PositiveSmallIntegerField(_("found by both"), default=0)
    only_database = models.JSONField(_("found only by the database"), default=list)  # [{"id", "path", "content"}]
    only_files = models.JSONField(_("found only in the files"), default=list)  # [{"path", "line", "content"}]
    created_at = models.DateTimeField(_("at"))

    class Meta:
        verbose_name = _("comparison")
        verbose_name_plural = _("comparisons")
        constraints = [
            WorkspacePolicy(name="pathcomparison_of_the_workspaces"),
        ]
        indexes = [models.Index(fields=["workspace", "-created_at", "-id"], name="pathcomparison_by_time")]

    def __str__(self) -> str:
        return f"{self.platform}:{self.account} {self.created_at:%Y-%m-%d %H:%M}"


class Person(Recorded):
    """Somebody as the operators of a workspace know them: a name, a note, and from `united_at` on one memory for all
    their identities, in channels that keep one memory a person. Who was never linked has a row only where something is
    noted of them.

    - `person_key_once_in_workspace`: the key in `direct_<key>`, told by an export and brought in as it is.
    - `person_in_workspace`: the pair others point to.
    """

    table = Table(chapter=Chapter.CHANNELS, fate=Fate.REMOVED, export=Export("person"))

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="people")
    key = models.UUIDField(_("key"), default=uuid7, editable=False)
    name = models.CharField(_("name"), max_length=200, blank=True, default="")
    note = models.TextField(_("note"), max_length=2_000, blank=True, default="")
    united_at = models.DateTimeField(_("linked"), null=True, blank=True, editable=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("person")
        verbose_name_plural = _("people")
        triggers = record_changes(ignored=("created_at",))  # it never changes; an import says it
        constraints = [
            models.UniqueConstraint(fields=["workspace", "key"], name="person_key_once_in_workspace"),
            models.UniqueConstraint(fields=["id", "workspace"], name="person_in_workspace"),
            WorkspacePolicy(name="person_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return self.name or str(self.key)

    @property
    def scope_key(self) -> str:
        """The key of the memory that all their linked identities share."""
        return key_of_person(str(self.key))


class Identity(Recorded):
    """A person as one platform knows them: the peer's id there, whichever of our accounts they write to.

    `unused_key` is the memory its turns went to until `since`; `carried_version` the version of that up to which
    everything was carried over.

    - `identity_once_in_workspace`: a peer is one person.
    """

    table = Table(
        chapter=Chapter.CHANNELS, fate=Fate.REMOVED, export=Export("identity", leaves_out=("carried_version",))
    )

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    person = models.ForeignKey(Person, models.DO_NOTHING, db_constraint=False, related_name="identities")
    platform = models.CharField(_("platform"), max_length=40)
    peer = models.CharField(_("peer"), max_length=200)
    unused_key = models.CharField(max_length=255, blank=True, default="", editable=False)
    carried_version = models.PositiveBigIntegerField(null=True, editable=False)
    since = models.DateTimeField(null=True, editable=False, help_text=_("Of that memory's end."))

    class Meta:
        verbose_name = _("identity")
        verbose_name_plural = _("identities")
        triggers = record_changes(ignored=("carried_version",))
        constraints = [
            models.UniqueConstraint(fields=["workspace", "platform", "peer"], name="identity_once_in_workspace"),
            models.UniqueConstraint(fields=["id", "workspace"], name="identity_in_workspace"),
            models.CheckConstraint(condition=~Q(platform="") & ~Q(peer=""), name="identity_names_a_peer"),
            InsideWorkspace("person", name="identity_person_in_its_workspace", cascade=True),
            WorkspacePolicy(name="identity_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return f"{self.platform}:{self.peer}"

    @property
    def own_key(self) -> str:
        """The memory of this peer alone, where one memory a person is kept."""
        return key_of_peer(self.platform, self.peer)

    @property
    def used_key(self) -> str:
        """The memory its turns go to there now."""
        return self.person.scope_key if self.person.united_at else self.own_key


class ConsentSubject(models.TextChoices):
    """What somebody may agree to."""

    MEMORY = "memory", _("Being remembered")
    MODEL = "model", _("Their words going to a model")
    LINKING = "linking", _("Their identities being linked")
    SHARING = "sharing", _("Being heard of in groups")


class Consent(Recorded):
    """That a person agreed to something, or no longer does, by whom it was noted and when.

    Rows are added; the last of a subject counts.

    - `consent_subject_known`: being remembered, their words going to a model, their identities being linked, being
      heard of in groups.
    """

    table = Table(chapter=Chapter.CHANNELS, fate=Fate.REMOVED, tied_by="person", export=Export("consent"))

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    person = models.ForeignKey(Person, models.DO_NOTHING, db_constraint=False, related_name="consents")
    subject = models.CharField(_("what for"), max_length=10, choices=ConsentSubject)
    is_given = models.BooleanField(_("given"))
    note = models.CharField(_("note"), max_length=500, blank=True, default="")
    actor = models.CharField(_("by"), max_length=200)
    at = models.DateTimeField(_("at"))

    class Meta:
        verbose_name = _("consent")
        verbose_name_plural = _("consents")
        triggers = record_changes()
        constraints = [
            models.CheckConstraint(condition=Q(subject__in=ConsentSubject.values), name="consent_subject_known"),
            InsideWorkspace("person", name="consent_person_in_its_workspace", cascade=True),
            WorkspacePolicy(name="consent_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return f"{self.subject}: {'given' if self.is_given else 'withdrawn'}"

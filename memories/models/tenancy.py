"""Workspaces with their scopes, and the bots that call."""

import hashlib
import re
import secrets
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memories import postgresql
from memories.choices import Permission, ScopeKind
from memories.exceptions import ScopeFrozen
from memories.language.text import PLAIN_HAN
from memories.models.ids import uuid7
from memories.models.table import Chapter, Export, Fate, Table
from memories.models.walls import InsideWorkspace, WorkspacePolicy
from memories.tenancy import row_level_security
from memories.tenancy.access import Caller


def validate_time_zone(name: str) -> None:
    """Raise ValidationError unless this is the name of a time zone."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValidationError(_("“%(name)s” is not a time zone, such as Asia/Shanghai.") % {"name": name}) from error


_NO_FOLDER = re.compile(rf"[^a-z0-9_{PLAIN_HAN}]+")
#: Of the name of a workspace in the name of its folder.
_FOLDER_CHARS = 40


class Workspace(models.Model):
    """A tenant.

    Nothing of one workspace is ever seen from another. Has a language, a time zone, the embedding model its memories
    are searched by, and whether canaries are planted.

    - `workspace_has_a_folder`: of its files; unique, and kept when the workspace is renamed.
    - `workspace_language_known`: `en` or `zh-hans`.
    """

    table = Table(
        chapter=Chapter.TENANTS,
        fate=Fate.NOTHING,
        export=Export("workspace", leaves_out=("uid", "folder", "is_enabled", "has_canaries", "created_at")),
    )

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    name = models.CharField(_("name"), max_length=100, unique=True)
    language = models.CharField(
        _("language"), max_length=10, default="en", choices=[("en", "English"), ("zh-hans", "简体中文")]
    )
    time_zone = models.CharField(_("time zone"), max_length=64, default="UTC", validators=[validate_time_zone])
    index_model = models.ForeignKey(
        "memories.EmbeddingModel",
        models.DO_NOTHING,
        null=True,
        editable=False,
        db_index=False,
        related_name="+",
        verbose_name=_("embedding model"),
        help_text=_("Which its memories are searched by."),
    )
    folder = models.CharField(
        _("folder"), max_length=100, unique=True, editable=False, help_text=_("Of its files, below MEMORY_FILES_ROOT.")
    )
    is_enabled = models.BooleanField(
        _("uses the database"),
        default=True,
        help_text=_("Off: its files answer and store; what is taken in meanwhile is caught up when it is on again."),
    )
    has_canaries = models.BooleanField(
        _("canaries"),
        default=False,
        help_text=_("Plants memories nobody may be shown: an answer that holds one all the same is held back."),
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("workspace")
        verbose_name_plural = _("workspaces")
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="workspace_has_a_name"),
            models.CheckConstraint(condition=~Q(folder=""), name="workspace_has_a_folder"),
            models.CheckConstraint(condition=Q(language__in=["en", "zh-hans"]), name="workspace_language_known"),
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        """A new workspace gets the folder it keeps: its name as people read it, and what tells it from all others."""
        if not self.folder:
            name = _NO_FOLDER.sub("-", unicodedata.normalize("NFKC", self.name).casefold())[:_FOLDER_CHARS].strip("-")
            is_taken = not name or Workspace.objects.filter(folder=name).exists()
            self.folder = "-".join(filter(None, [name, self.uid.hex[-12:] if is_taken else ""]))
        super().save(*args, **kwargs)

    def zone(self) -> ZoneInfo:
        """The time zone of its days; UTC when the stored name is none."""
        try:
            return ZoneInfo(self.time_zone)
        except (ZoneInfoNotFoundError, ValueError):
            return ZoneInfo("UTC")

    def caller(
        self,
        actor: str,
        *,
        permissions: Iterable[str] = (),
        scope_patterns: Iterable[str] = (),
        bot_id: int | None = None,
    ) -> Caller:
        """A caller in this workspace; without scope patterns it reaches all of it."""
        return Caller(
            workspace_id=self.pk,
            language=self.language,
            zone=self.zone(),
            actor=actor,
            permissions=tuple(permissions),
            scope_patterns=tuple(scope_patterns),
            bot_id=bot_id,
            folder=self.folder,
            uses_database=self.is_enabled,
        )


class Bot(models.Model):
    """A client of the API.

    - `bot_in_workspace`: the pair others point to.
    """

    table = Table(chapter=Chapter.TENANTS, fate=Fate.NOTHING)

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="bots")
    name = models.CharField(_("name"), max_length=100)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    disabled_at = models.DateTimeField(_("disabled"), null=True, blank=True)

    class Meta:
        verbose_name = _("bot")
        verbose_name_plural = _("bots")
        constraints = [
            models.UniqueConstraint(fields=["workspace", "name"], name="bot_name_once_in_workspace"),
            models.UniqueConstraint(fields=["id", "workspace"], name="bot_in_workspace"),
            models.CheckConstraint(condition=~Q(name=""), name="bot_has_a_name"),
            WorkspacePolicy(name="bot_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return self.name


class BotKeyQuerySet(models.QuerySet["BotKey"]):
    def admit(self, token: str, now: datetime, *, counted: datetime | None = None) -> "BotKey | None":
        """The usable key with this token, inside the wall of its workspace; None leaves the wall closed.

        The call counts in the minute that `counted` begins.
        """
        row = row_level_security.enter_by_key(BotKey.digest_of(token), now, counted=counted)
        return None if row is None else BotKey.of_row(row)

    def usable(self, now: datetime) -> Self:
        unexpired = Q(expires_at__isnull=True) | Q(expires_at__gt=now)
        return self.filter(unexpired, revoked_at__isnull=True, bot__disabled_at__isnull=True)


class BotKey(models.Model):
    """What a bot shows to be let in.

    Only its SHA-256 is kept, with permissions, scope patterns, expiry and last use. `grant`: it was made for a client
    of MCP that somebody of the staff allowed.

    - `botkey_permissions_known`: at least one, each of read, write, admin, webhooks.
    """

    table = Table(chapter=Chapter.TENANTS, fate=Fate.NOTHING)

    #: Whether it was admitted while the database was away (memories.offline.store).
    is_from_cache = False
    calls: int | None = None  # in the minute of this one, in all web processes together; None: not counted

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="keys")
    bot = models.ForeignKey(Bot, models.CASCADE, related_name="keys", db_constraint=False)
    grant = models.OneToOneField(
        "memories.OAuthGrant", models.CASCADE, null=True, related_name="key", db_constraint=False, editable=False,
        verbose_name=_("connected client"),
    )  # fmt: skip
    label = models.CharField(_("label"), max_length=100, blank=True, default="")
    prefix = models.CharField(_("prefix"), max_length=12)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    permissions = ArrayField(models.CharField(max_length=10, choices=Permission), verbose_name=_("permissions"))
    scope_patterns = ArrayField(
        models.CharField(max_length=200),
        verbose_name=_("scope patterns"),
        default=list,
        blank=True,
        help_text=_("Such as telegram:*; none means every scope of the workspace."),
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True)
    last_used_at = models.DateTimeField(_("last used"), null=True, blank=True)

    objects = BotKeyQuerySet.as_manager()

    class Meta:
        verbose_name = _("bot key")
        verbose_name_plural = _("bot keys")
        constraints = [
            models.CheckConstraint(
                condition=Q(permissions__contained_by=Permission.values) & ~Q(permissions=[]),
                name="botkey_permissions_known",
            ),
            InsideWorkspace("bot", name="botkey_bot_in_its_workspace", cascade=True),
            InsideWorkspace("grant", name="botkey_grant_in_its_workspace", cascade=True),
            WorkspacePolicy(name="botkey_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}…"

    @classmethod
    def issue(
        cls,
        bot: Bot,
        *,
        permissions: list[str],
        scope_patterns: list[str] | None = None,
        expires_at: datetime | None = None,
        label: str = "",
    ) -> tuple["BotKey", str]:
        """A new key and its token; the token is not kept and cannot be shown again."""
        token = f"mp_{secrets.token_urlsafe(32)}"
        key = cls.objects.create(
            workspace_id=bot.workspace_id,
            bot=bot,
            label=label,
            prefix=token[:10],
            digest=cls.digest_of(token),
            permissions=permissions,
            scope_patterns=scope_patterns or [],
            expires_at=expires_at,
        )
        return key, token

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> "BotKey":
        """A key, its bot and workspace as far as a call needs them, as the database or the cache tells them."""
        workspace = Workspace(**row["workspace"])
        columns = {name: row[name] for name in ("id", "digest", "prefix", "permissions", "scope_patterns")}
        ends = datetime.fromisoformat(row["expires_at"]) if row["expires_at"] else None
        key = cls(workspace=workspace, bot=Bot(workspace=workspace, **row["bot"]), expires_at=ends, **columns)
        key.calls = row.get("calls")
        return key

    @staticmethod
    def digest_of(token: str) -> str:
        """The hash a token is found by; tokens are random, so that no salt is needed."""
        return hashlib.sha256(token.encode()).hexdigest()

    def permits(self, permission: str) -> bool:
        return permission in self.permissions

    def caller(self) -> Caller:
        """The bot behind this key, limited to what the key may do and reach."""
        return self.workspace.caller(
            f"bot:{self.bot.name}",
            permissions=self.permissions,
            scope_patterns=self.scope_patterns,
            bot_id=self.bot_id,
        )


class IdempotencyKey(models.Model):
    """The answer to a write, kept so that the same call again changes nothing."""

    table = Table(chapter=Chapter.RECORDS, fate=Fate.SEARCHED)

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    bot = models.ForeignKey(Bot, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    key = models.CharField(max_length=200)
    request_hash = models.CharField(max_length=64, help_text=_("Of method, path and body."))
    status = models.PositiveSmallIntegerField(null=True)
    response = models.JSONField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name = _("idempotency key")
        verbose_name_plural = _("idempotency keys")
        constraints = [
            models.UniqueConstraint(fields=["bot", "key"], name="idempotencykey_once_a_bot"),
            InsideWorkspace("bot", name="idempotencykey_bot_in_its_workspace", cascade=True),
            WorkspacePolicy(name="idempotencykey_of_the_workspaces"),
        ]
        indexes = [models.Index(fields=["created_at"], name="idempotencykey_by_age")]

    def __str__(self) -> str:
        return self.key


class Secret(models.Model):
    """A value only the platform reads: encrypted, without history, never in a log or an answer."""

    table = Table(chapter=Chapter.RECORDS, fate=Fate.NOTHING)

    workspace = models.ForeignKey(Workspace, models.CASCADE, null=True, blank=True, related_name="secrets")
    name = models.CharField(_("name"), max_length=100)
    ciphertext = models.BinaryField()
    updated_at = models.DateTimeField(_("updated"), auto_now=True)

    class Meta:
        verbose_name = _("secret")
        verbose_name_plural = _("secrets")
        constraints = [
            models.UniqueConstraint(fields=["workspace", "name"], nulls_distinct=False, name="secret_name_once"),
            models.CheckConstraint(condition=~Q(name=""), name="secret_has_a_name"),
            WorkspacePolicy(name="secret_of_the_workspaces", of_all=True),
        ]

    def __str__(self) -> str:
        return self.name


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


#: The highest byte of an advisory lock is its kind.
SCOPE_LOCK = 1 << 56
#: The function locks first and reads then: one statement sees what was committed before it waited, and no more.
_LOCK = f"""
    SELECT locked.somebody_erased, {postgresql.columns(Scope, "(locked.scope)")}
    FROM memplatform_lock_scopes(%s::bigint, %s::bigint[]) locked ORDER BY (locked.scope).id
"""  # noqa: S608 (names of ours)


def lock_scopes(scopes: Iterable[Scope], *, frozen_too: bool = False) -> dict[int, Scope]:
    """These scopes as they are now, by id, locked until the transaction ends. Raises ScopeFrozen.

    `frozen_too`: an erasure takes from a frozen scope, too.

    They are locked in ascending order, so that no two writers wait for each other, and read after that.
    """
    scope_ids = sorted({scope.pk for scope in scopes})
    rows = postgresql.rows(_LOCK, [SCOPE_LOCK, scope_ids])
    return checked_scopes(((somebody_erased, columns) for somebody_erased, *columns in rows), frozen_too=frozen_too)


def checked_scopes(rows: Iterable[tuple[bool, Sequence[Any]]], *, frozen_too: bool = False) -> dict[int, Scope]:
    """Scopes that were locked, by id: of each whether somebody was erased, and its columns. Raises ScopeFrozen."""
    locked: dict[int, Scope] = {}
    for somebody_erased, columns in rows:
        scope = postgresql.instance(Scope, columns)
        scope.has_tombstones = somebody_erased
        locked[scope.pk] = scope
    if not frozen_too and any(scope.frozen for scope in locked.values()):
        raise ScopeFrozen
    return locked

"""Policies: numbers that operators set per workspace; without a row the built-in default holds."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories.choices import Act, EntryType, Origin, PolicyKind, ScopeKind, type_rule
from memories.conf import conf
from memories.models.change import Recorded, record_changes
from memories.models.entry import Entry
from memories.models.table import Chapter, Export, Fate, Table
from memories.models.tenancy import Workspace
from memories.models.walls import WorkspacePolicy

#: Weights an operator may set for a workspace, by the setting that holds their default.
WEIGHTS = (
    *("ALPHA", "MIN_SIMILARITY", "SPEAKER_BOOST", "DATE_BOOST", "RECENCY", "MAX_RECALLS"),
    *("RELEVANCE_LIKELY", "RELEVANCE_WIDE"),
)
#: Days a turn lives that no model has drawn facts from.
UNREAD_TURN_DAYS = "unread_turn_days"
#: What a source may not do where no policy says otherwise: what a page says corrects nobody, and says who nobody is.
NOT_TRUSTED = frozenset({(Origin.TOOL, Act.SUPERSEDE), (Origin.TOOL, Act.PROFILE)})
#: A longer life never ends: calendars do before it.
LONGEST_DAYS = 180_000
#: The term of an entry restored after its time was over, where no policy gives one.
NEW_TERM = timedelta(days=30)


#: A time to live as the reason of a batch has it, in codes; people read it in their language.
_TTL_SHORT = "{type} {days:g} d ({by})"
_TTL_READ = re.compile(r"(?P<type>[a-z_]+) (?P<days>[0-9.e+]+) d \((?:built in|policy version (?P<version>[0-9]+))\)")


def ttls_in_words(reason: str) -> str:
    """The reason of a batch as people read it: of times to live, as `describe_ttls` wrote them, in their language."""
    parts = [_TTL_READ.fullmatch(part) for part in reason.split(", ")]
    ttls = [ttl for ttl in parts if ttl and ttl["type"] in EntryType.values]
    if len(ttls) < len(parts):
        return reason
    words = []
    for ttl in ttls:
        version = ttl["version"]
        by = gettext("policy version %(version)s") % {"version": version} if version else gettext("built in")
        days = {"type": dict(EntryType.choices)[ttl["type"]], "days": ttl["days"], "by": by}
        words.append(gettext("%(type)s %(days)s d (%(by)s)") % days)
    return gettext("Times to live: %(ttls)s") % {"ttls": gettext("; ").join(words)}


def begin_of(entry: Entry) -> datetime:
    """From when on the term of an entry runs: since it was last stated, or a model read it."""
    return max(entry.stated_at, entry.read_at) if entry.read_at else entry.stated_at


#: What a policy is about: its kind, then a type of entry and a kind of scope, or the name of a weight.
Subject = tuple[str, str, str, str]


_ABOUT = ("kind", "entry_type", "scope_kind", "name")


def trust_name(trust: str, act: str) -> str:
    """The name of the policy of a source and what it may do."""
    return f"{trust}_{act}"


TRUST_NAMES = [trust_name(origin, act) for origin in Origin for act in Act]


class Policies:
    """The policies of a workspace, over the built-in defaults."""

    def __init__(self, rows: "list[Policy]") -> None:
        self._rows: dict[Subject, float | None] = {row.subject: row.value for row in rows}
        self._versions = {(row.entry_type, row.scope_kind): row.version for row in rows if row.kind == PolicyKind.TTL}

    @classmethod
    def of_values(cls, values: Mapping[Subject, float | None]) -> "Policies":
        """Policies nobody has saved; None: without limit."""
        policies = cls([])
        policies._rows = dict(values)
        return policies

    @property
    def values(self) -> dict[Subject, float | None]:
        """What is set, by what it is about; all else is as built in."""
        return dict(self._rows)

    def fingerprint(self) -> frozenset[tuple[Subject, float | None]]:
        """A value that changes when an operator changes a policy."""
        return frozenset(self._rows.items())

    def ttl(self, entry_type: str, scope_kind: str) -> timedelta | None:
        """Time to live of a kind of entry; None: never ends by itself (A9)."""
        key = (PolicyKind.TTL, entry_type, scope_kind, "")
        if key in self._rows:
            days = self._rows[key]
            return None if days is None or days > LONGEST_DAYS else timedelta(days=days)
        return type_rule(entry_type).ttls.get(scope_kind)

    def unread_ttl(self, scope_kind: str) -> timedelta | None:
        """Time to live of a turn that no model has drawn facts from: what it says stands nowhere else (A9).

        A workspace that says how long turns live means all of them, unless it says this as well.
        """
        own = self._rows.get((PolicyKind.WEIGHT, "", "", UNREAD_TURN_DAYS))
        if own is not None:
            return None if own > LONGEST_DAYS else timedelta(days=own)
        ttl = self.ttl(EntryType.CHAT_TURN, scope_kind)
        if ttl is None or (PolicyKind.TTL, EntryType.CHAT_TURN, scope_kind, "") in self._rows:
            return ttl
        return max(ttl, conf.UNREAD_TURN_TTL)

    def describe_ttls(self, scope_kind: str) -> str:
        """The times to live of a kind of scope, each with the version of its policy, for the reason of a batch."""
        ttls = []
        for entry_type in EntryType:
            ttl, version = self.ttl(entry_type, scope_kind), self._versions.get((entry_type, scope_kind))
            if ttl is not None:
                by = f"policy version {version}" if version else "built in"
                ttls.append(_TTL_SHORT.format(type=entry_type.value, days=ttl / timedelta(days=1), by=by))
        return ", ".join(ttls)

    def ends_at(self, entry: Entry, begins: datetime) -> datetime | None:
        """The end of an entry whose term runs from a moment; None: never."""
        is_unread = entry.type == EntryType.CHAT_TURN and entry.read_at is None
        ttl = self.unread_ttl(entry.scope.kind) if is_unread else self.ttl(entry.type, entry.scope.kind)
        return None if ttl is None else begins + ttl

    def over(self, now: datetime, *, scope_kind: str = "") -> Q:
        """The condition that an entry's time is over, of one kind of scope or all; recall serves it until then.

        Its own term wins; a pinned entry without a term never ends (A9).
        """
        over = Q(expires_at__isnull=False, expires_at__lte=now)
        for kind in [scope_kind] if scope_kind else ScopeKind.values:
            about = {} if scope_kind else {"scope__kind": kind}
            for entry_type in EntryType:
                own = Q(expires_at__isnull=True, pinned=False, type=entry_type, **about)
                ttl = self.ttl(entry_type, kind)
                if entry_type != EntryType.CHAT_TURN:
                    if ttl is not None:
                        over |= Q(stated_at__lte=now - ttl) & own
                    continue
                if ttl is not None:
                    over |= Q(read_at__lte=now - ttl, stated_at__lte=now - ttl) & own
                if (unread := self.unread_ttl(kind)) is not None:
                    over |= Q(read_at__isnull=True, stated_at__lte=now - unread) & own
        return over

    def end_of(self, entry: Entry) -> datetime | None:
        """The end of an entry: its own term wins; a pinned entry without a term never ends (A9)."""
        if entry.expires_at or entry.pinned:
            return entry.expires_at
        return self.ends_at(entry, begin_of(entry))

    def end_of_restored(self, entry: Entry, now: datetime) -> datetime | None:
        """The term of a restored entry: as long as a new one's, if its time is over, else None.

        When it was stated does not change, so that later statements stay newer.
        """
        ends = self.ends_at(entry, begin_of(entry))
        return None if ends is None or ends > now else now + (ends - begin_of(entry))

    def end_of_undone(self, entry: Entry, now: datetime) -> datetime:
        """The term of an entry whose expiry is undone after its time: as long as a new one's, or NEW_TERM."""
        return self.ends_at(entry, now) or now + NEW_TERM

    def quota(self, entry_type: str, scope_kind: str) -> int | None:
        """How many of a kind one recall serves before the fill; None: as many as there are (A8)."""
        key = (PolicyKind.QUOTA, entry_type, scope_kind, "")
        if key in self._rows:
            limit = self._rows[key]
            return None if limit is None else int(limit)
        return type_rule(entry_type).quotas.get(scope_kind)

    def may(self, trust: str, act: Act) -> bool:
        """Whether what rests on a source may do something (A20)."""
        value = self._rows.get((PolicyKind.TRUST, "", "", trust_name(trust, act)))
        return (trust, act) not in NOT_TRUSTED if value is None else bool(value)

    def denied(self, act: Act) -> list[str]:
        """The sources that may not do something, the most trusted first."""
        return [origin.value for origin in Origin if not self.may(origin, act)]

    def feature(self, name: str, fitted: float) -> float:
        """The weight of a feature of the ranking; as it was fitted, where no policy says otherwise."""
        value = self._rows.get((PolicyKind.WEIGHT, "", "", f"feature_{name}"))
        return fitted if value is None else value

    def weight(self, name: str) -> float:
        """A weight of the ranking, by the name of its setting."""
        value = self._rows.get((PolicyKind.WEIGHT, "", "", name.lower()))
        return float(getattr(conf, name)) if value is None else value


class PolicyQuerySet(models.QuerySet["Policy"]):
    def of(self, workspace_id: int) -> Policies:
        """The policies of a workspace, read at every use, so that a change holds from the next call on."""
        return Policies(list(self.filter(workspace_id=workspace_id)))

    def put(self, workspace_id: int, values: Mapping[Subject, float | None], *, reason: str) -> int:
        """Make these the policies of a workspace, and no others; how many rows were set, changed or removed.

        In the transaction of whoever acts: the history keeps what was, and the reason.
        """
        rows = {row.subject: row for row in self.select_for_update().filter(workspace_id=workspace_id)}
        count = 0
        for subject in rows.keys() | values.keys():
            row, is_set = rows.get(subject), subject in values
            if row is not None and is_set and row.value == values[subject]:
                continue
            row = row or Policy(workspace_id=workspace_id, **dict(zip(_ABOUT, subject, strict=True)))
            row.value, row.reason = values.get(subject, row.value), reason
            row.save()
            if not is_set:  # saved first, so that its history says why it went
                row.delete()
            count += 1
        return count

    def of_each(self, workspace_ids: Iterable[int]) -> dict[int, Policies]:
        """The policies of each of these workspaces, in one query."""
        rows: dict[int, list[Policy]] = {pk: [] for pk in workspace_ids}
        for row in self.filter(workspace_id__in=rows):
            rows[row.workspace_id].append(row)
        return {pk: Policies(policies) for pk, policies in rows.items()}

    def over(self, now: datetime) -> Q:
        """The condition that an entry's time is over by the policies of its workspace."""
        return self.over_at([now])[0]

    def over_at(self, moments: Iterable[datetime]) -> list[Q]:
        """The same at each of these moments, by policies that are read once."""
        apart = self.of_each(self.filter(kind=PolicyKind.TTL).values_list("workspace_id", flat=True).distinct())
        conditions = []
        for now in moments:
            over = Policies([]).over(now) & ~Q(workspace_id__in=apart)
            for workspace, policies in apart.items():
                over |= policies.over(now) & Q(workspace_id=workspace)
            conditions.append(over)
        return conditions


class Policy(Recorded):
    """One number an operator set for a workspace: a time to live, a quota, a weight, or whether memories of a source
    may do something (1 or 0), and why it was last changed.

    No row means the built-in default. An empty value means without limit.

    - `policy_says_what_it_is_about`: a weight names its setting; a time to live or a quota names type and scope kind.
    - `policy_of_trust_is_yes_or_no`: it names a source and what memories of it may do.
    """

    table = Table(
        chapter=Chapter.RECORDS,
        fate=Fate.NOTHING,
        export=Export("policy", leaves_out=("updated_at",), later={"reason": ""}),
    )

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="policies")
    kind = models.CharField(_("kind"), max_length=10, choices=PolicyKind)
    entry_type = models.CharField(_("type"), max_length=20, choices=EntryType, blank=True, default="")
    scope_kind = models.CharField(_("scope kind"), max_length=10, choices=ScopeKind, blank=True, default="")
    name = models.CharField(_("weight"), max_length=40, blank=True, default="")
    value = models.FloatField(_("value"), null=True, blank=True)
    reason = models.TextField(_("reason"), blank=True, default="", help_text=_("Why it was last changed."))
    updated_at = models.DateTimeField(_("updated"), auto_now=True)

    objects = PolicyQuerySet.as_manager()

    class Meta:
        verbose_name = _("policy")
        verbose_name_plural = _("policies")
        triggers = record_changes(along=("updated_at", "reason"))
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "kind", "entry_type", "scope_kind", "name"], name="policy_once_a_subject"
            ),
            models.CheckConstraint(condition=Q(kind__in=PolicyKind.values), name="policy_kind_known"),
            models.CheckConstraint(
                condition=(Q(kind=PolicyKind.WEIGHT, entry_type="", scope_kind="") & ~Q(name=""))
                | (
                    Q(kind__in=[PolicyKind.TTL, PolicyKind.QUOTA], name="")
                    & Q(entry_type__in=EntryType.values, scope_kind__in=ScopeKind.values)
                )
                | Q(kind=PolicyKind.TRUST),
                name="policy_says_what_it_is_about",
            ),
            models.CheckConstraint(condition=Q(value__isnull=True) | Q(value__gte=0), name="policy_value_not_negative"),
            models.CheckConstraint(
                condition=~Q(kind=PolicyKind.TRUST)
                | Q(name__in=TRUST_NAMES, value__isnull=False, value__in=[0, 1], entry_type="", scope_kind=""),
                name="policy_of_trust_is_yes_or_no",
            ),
            WorkspacePolicy(name="policy_of_the_workspaces"),
        ]

    @property
    def subject(self) -> Subject:
        """What it is about, by which there is one in a workspace."""
        return self.kind, self.entry_type, self.scope_kind, self.name

    def __str__(self) -> str:
        return f"{self.kind} {self.name or f'{self.entry_type}/{self.scope_kind}'}"

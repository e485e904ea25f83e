"""Closed vocabularies, each with the behaviour that depends on it alone.

The kinds of memory come first: whose it is, its type and its category, with one rule for each type and category.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

T = TypeVar("T")
#: When a line of a file was written that does not say so: before all that is dated, so that no time speaks for it.
UNDATED = datetime(1970, 1, 1, tzinfo=UTC)


class ScopeKind(TextChoices):
    """Whose memory a scope is."""

    USER = "user", _("User")
    CHAT = "chat", _("Chat")


@dataclass(frozen=True)
class TypeRule:
    """The defaults of a type of entry, by kind of scope; policies of a workspace override them."""

    quotas: Mapping[str, int]  # how many a recall serves before the best of the rest fill up (A8)
    ttls: Mapping[str, timedelta] = field(default_factory=dict)  # not listed: never ends by itself (A9)
    is_merged: bool = True  # near-duplicates become one; lines of files never do (C2)


def _by_scope(user: T, chat: T) -> dict[str, T]:
    return {ScopeKind.USER: user, ScopeKind.CHAT: chat}


class EntryType(TextChoices):
    """The type of an entry, which sets its time to live and how many are served."""

    rule: TypeRule

    def __new__(cls, value: str, rule: TypeRule) -> "EntryType":
        member = str.__new__(cls, value)
        member._value_, member.rule = value, rule
        return member

    CHAT_TURN = (
        "chat_turn",
        TypeRule(_by_scope(2, 2), _by_scope(timedelta(days=30), timedelta(days=14))),
        _("Chat turn"),
    )
    AUTO_CAPTURE = (
        "auto_capture",
        TypeRule(_by_scope(3, 1), _by_scope(timedelta(days=90), timedelta(days=90))),
        _("Auto capture"),
    )
    WORKFLOW_TRACE = (
        "workflow_trace",
        TypeRule(_by_scope(1, 1), _by_scope(timedelta(days=180), timedelta(days=180))),
        _("Workflow trace"),
    )
    USER_EXPLICIT = "user_explicit", TypeRule(_by_scope(2, 2)), _("User explicit")
    FACT = "fact", TypeRule(_by_scope(5, 5)), _("Fact")
    NOTE = "note", TypeRule(_by_scope(2, 2), is_merged=False), _("Note")


_TYPE_RULES = {entry_type.value: entry_type.rule for entry_type in EntryType}


def type_rule(entry_type: str) -> TypeRule:
    """The rule of a type by its stored value. Raises KeyError."""
    return _TYPE_RULES[entry_type]


@dataclass(frozen=True)
class Curve:
    """`floor + (1 - floor)·e^(-rate·days)`: what is left of a memory so many days after it was last used (D4)."""

    floor: float
    rate: float  # per day

    def at(self, days: float) -> float:
        return self.floor + (1 - self.floor) * math.exp(-self.rate * max(days, 0.0))


_STEADY = Curve(1.0, 0.0)
_SLOW = Curve(0.3, 0.004)
_MEDIUM = Curve(0.1, 0.023)
_FAST = Curve(0.0, 0.099)


@dataclass(frozen=True)
class CategoryRule:
    """Everything that is decided by what a memory is about."""

    curve: Curve
    importance: float  # where nobody says one (D2)
    passes: int = 0  # archived without a person when a scope is full: 1 first, and where it has faded; 0 never (D1)
    lasts: bool = False  # it holds until a newer fact contradicts it; what happened, happened
    is_flushed: bool = False  # asked for when a conversation is flushed: no secrets, no chatter
    is_secret: bool = False  # kept from groups, profiles and merges


class Category(TextChoices):
    """What a memory is about, which sets how fast it fades."""

    rule: CategoryRule

    def __new__(cls, value: str, rule: CategoryRule) -> "Category":
        member = str.__new__(cls, value)
        member._value_, member.rule = value, rule
        return member

    IDENTITY = "identity", CategoryRule(_STEADY, 1.0, lasts=True, is_flushed=True), _("Identity")
    CONFIG = "config", CategoryRule(_STEADY, 0.8, lasts=True, is_flushed=True), _("Configuration")
    CREDENTIAL = "credential", CategoryRule(_STEADY, 0.8, lasts=True, is_secret=True), _("Credential")
    DECISION = "decision", CategoryRule(_SLOW, 0.8, lasts=True, is_flushed=True), _("Decision")
    SOLUTION = "solution", CategoryRule(_SLOW, 0.8, lasts=True, is_flushed=True), _("Solution")
    EVENT = "event", CategoryRule(_MEDIUM, 0.5, passes=2, is_flushed=True), _("Event")
    CONVERSATION = "conversation", CategoryRule(_MEDIUM, 0.5, passes=2), _("Conversation")
    TEMP = "temp", CategoryRule(_FAST, 0.2, passes=1), _("Temporary")
    DEBUG = "debug", CategoryRule(_FAST, 0.2, passes=1), _("Debug")


#: Of a memory without a category.
_UNSORTED = CategoryRule(_STEADY, 0.5)
_CATEGORY_RULES = {category.value: category.rule for category in Category}
SECRET = tuple(category for category in Category if category.rule.is_secret)
LASTING = tuple(category for category in Category if category.rule.lasts)
FLUSHED = tuple(category for category in Category if category.rule.is_flushed)
#: Categories that are archived when a scope is full, in order; those of one place have one curve.
PASSING = tuple(
    tuple(category for category in Category if category.rule.passes == turn)
    for turn in sorted({category.rule.passes for category in Category} - {0})
)


def category_rule(category: str) -> CategoryRule:
    """The rule of a category by its stored value; no category has one too."""
    return _CATEGORY_RULES.get(category, _UNSORTED)


#: Days a turn counts in full that no model has drawn facts from.
FRESH_DAYS = 30


def unread_decay(days: float) -> float:
    """What is left, 0–1, of a turn that no model has drawn facts from: it stays, and sinks."""
    return _SLOW.at(days - FRESH_DAYS)


def decay(category: str, days: float) -> float:
    """What is left of a memory, 0–1, so many days after it was last used (D4)."""
    return category_rule(category).curve.at(days)


class Source(TextChoices):
    """What wrote an entry."""

    CONVERSATION_CAPTURE = "conversation_capture", _("Conversation capture")
    MEMORY_CAPTURE = "memory_capture", _("Memory capture")
    TOOL = "tool", _("Tool")
    EXTRACTION = "extraction", _("Extraction")
    COMPRESSION = "compression", _("Compression")
    MANUAL = "manual", _("Manual")
    MIGRATION = "migration", _("Migration")
    FILE = "file", _("File")


#: Sources by which machines write; their drafts pass the suppressions of people (A15).
MACHINE_SOURCES = frozenset(
    {
        Source.CONVERSATION_CAPTURE,
        Source.MEMORY_CAPTURE,
        Source.EXTRACTION,
        Source.COMPRESSION,
        Source.MIGRATION,
        Source.FILE,
    }
)


class Origin(TextChoices):
    """Who a memory comes from, the most trusted first (A19)."""

    OPERATOR = "operator", _("An operator")
    SELF = "self", _("The person, of themselves")
    OTHER = "other", _("The person, of somebody or something else")
    MEMBER = "member", _("Another member")
    FILE = "file", _("A file")
    IMPORT = "import", _("An import")
    BOT = "bot", _("The bot")
    TOOL = "tool", _("A tool or page")

    @classmethod
    def lowest(cls, origins: Iterable[str]) -> "Origin":
        """The least trusted of some. Raises ValueError of none."""
        return max(map(cls, origins), key=_RANKS.__getitem__)

    @classmethod
    def highest(cls, origins: Iterable[str]) -> "Origin":
        """The most trusted of some. Raises ValueError of none."""
        return min(map(cls, origins), key=_RANKS.__getitem__)


_RANKS = {origin: rank for rank, origin in enumerate(Origin)}


class Act(TextChoices):
    """What a memory may do, by the least trusted of all it rests on (A20)."""

    DIRECT = "direct", _("Served to one person")
    GROUP = "group", _("Served in groups")
    SUPERSEDE = "supersede", _("Takes the place of others")
    PROFILE = "profile", _("Enters the profile")


#: Subtypes of summaries of closed or flushed conversations, which repeat what turns hold (B4, C7).
SESSION_EXPIRED = "session_expired"
SUMMARY_SUBTYPES = (SESSION_EXPIRED, "session_flush")


class Outcome(TextChoices):
    """The result of writing a draft (A10)."""

    CREATED = "created", _("Created")
    MERGED = "merged", _("Merged")
    SKIPPED = "skipped", _("Skipped")
    SUPPRESSED = "suppressed", _("Suppressed")


class LinkKind(TextChoices):
    """How one entry relates to another; read «from is … of to»."""

    SOURCE_OF = "source_of", _("Source of")
    SUPERSEDES = "supersedes", _("Supersedes")
    ALIKE = "alike", _("Alike")
    MERGED_FROM = "merged_from", _("Merged from")


class DmScope(TextChoices):
    """How far memories of direct chats are kept apart (E1)."""

    MAIN = "main", _("One memory for all direct chats")
    PER_PEER = "per-peer", _("One per person")
    PER_CHANNEL_PEER = "per-channel-peer", _("One per platform and person")
    PER_ACCOUNT_CHANNEL_PEER = "per-account-channel-peer", _("One per platform, account and person")


class GroupUserRecall(TextChoices):
    """Which of a member's own memories a group may be served (A3)."""

    NONE = "none", _("Nothing")
    SAME_CHAT = "same_chat", _("Only what was said in that chat")
    ALL = "all", _("Everything")


class SecretsRule(TextChoices):
    """What becomes of a secret that somebody says in a conversation."""

    KEEP = "keep", _("Kept apart, for its owner")
    MASK = "mask", _("Not stored")
    OFF = "off", _("Stored as it was said")


class SessionMode(TextChoices):
    """Whether a chat keeps its session (B1)."""

    STABLE = "stable", _("One session a chat")
    FRESH = "fresh", _("A new session every message")


class PathMode(TextChoices):
    """What answers and stores the messages of a channel (A4)."""

    HOOKS_ONLY = "hooks_only", _("The database")
    LEGACY_ONLY = "legacy_only", _("The files")
    DUAL_WRITE = "dual_write", _("Both store, the database answers")


class GroupSessions(TextChoices):
    """Who shares a session in a group (B8)."""

    SHARED = "shared", _("All members")
    PER_MEMBER = "per_member", _("One per member")


class Permission(TextChoices):
    """What a bot key may do."""

    READ = "read", _("Read")
    WRITE = "write", _("Write")
    ADMIN = "admin", _("Administer")
    WEBHOOKS = "webhooks", _("Webhooks: receive what all bots do")


class BatchState(TextChoices):
    """The life of a bundle of changes (F3)."""

    PROPOSED = "proposed", _("Proposed")
    APPLYING = "applying", _("Applying")
    APPLIED = "applied", _("Applied")
    UNDONE = "undone", _("Undone")
    REFUSED = "refused", _("Refused")


class BatchVerb(TextChoices):
    """What one row of a batch does."""

    CREATE = "create", _("Create")
    CHANGE = "change", _("Change")
    MERGE = "merge", _("Merge")
    EXPIRE = "expire", _("Expire")
    ARCHIVE = "archive", _("Archive")
    RESTORE = "restore", _("Restore")
    SUPERSEDE = "supersede", _("Supersede")
    UNDO = "undo", _("Put back")
    QUARANTINE = "quarantine", _("Put into quarantine")
    PURGE = "purge", _("Remove for good")
    TELL = "tell", _("Tell of a day")
    POLICY = "policy", _("Set a policy")


class ChangeState(TextChoices):
    """The state of one row of a batch."""

    PLANNED = "planned", _("Planned")
    APPLIED = "applied", _("Applied")
    LEFT = "left", _("Left alone")
    UNDONE = "undone", _("Undone")


class SkipReason(TextChoices):
    """Why a planned change was skipped, or not undone."""

    CHANGED = "changed", _("It was changed meanwhile.")
    GONE = "gone", _("It is no longer there.")
    ALREADY = "already", _("It was so already.")
    REMOVED = "removed", _("A person took it out of the plan.")
    SUPPRESSED = "suppressed", _("People had taken this out before.")
    ERASED = "erased", _("It belongs to a person who was erased.")
    UNSTORABLE = "unstorable", _("It cannot be stored like this.")
    NO_SUCCESSOR = "no_successor", _("What it was to become part of is not in use.")
    QUARANTINED = "quarantined", _("It is in quarantine: it is let back from there.")
    STANDS = "stands", _("It has taken the place of others since. First undo what had it do so: %(batches)s.")


class HoldReason(TextChoices):
    """Why a batch waits for approval (F4)."""

    SHARE = "share", _("It would take %(retired)d of %(live)d memories out of use, more than %(percent)d %%.")
    DRAINED = (
        "drained",
        _(
            "With it, machines would have taken %(retired)d of %(live)d memories out of use within %(days)d days,"
            " more than %(percent)d %%."
        ),
    )
    PINNED = "pinned", _("Pinned memories it would change: %(pinned)d.")
    CONTRADICTED = (
        "contradicted",
        _("Something said at another time contradicts %(rows)d memories; which of it holds, a person knows."),
    )
    UNREADABLE = "unreadable", _("It rests on an answer of the model that could not be read: %(problem)s")
    DOUBTFUL = "doubtful", _("The model would take %(rows)d memories out of use, and nothing newer says why.")
    REWORDED = (
        "reworded",
        _("%(merges)d merges are in words of the model's own; whether they say what was said, a person knows."),
    )
    CROWDED = (
        "crowded",
        _("The scope holds %(facts)d facts, at most %(most)d; which of these may go, no machine decides."),
    )
    PURGE = "purge", _("It would remove %(purged)d memories for good, with their history. It cannot be undone.")


class BufferState(TextChoices):
    """The state of an extraction batch (D5)."""

    WAITING = "waiting", _("Waiting")
    CLAIMED = "claimed", _("Being worked on")
    PARKED = "parked", _("Parked")


class Operation(TextChoices):
    """What happened to a row, as its history says."""

    INSERT = "I", _("Added")
    UPDATE = "U", _("Changed")
    DELETE = "D", _("Removed")


class PolicyKind(TextChoices):
    """What a policy row sets."""

    TTL = "ttl", _("Time to live, days")
    QUOTA = "quota", _("Quota of a recall")
    WEIGHT = "weight", _("Weight of the ranking")
    TRUST = "trust", _("What a source may do")


class JobState(TextChoices):
    """The state of a run of a job."""

    QUEUED = "queued", _("Queued")
    RUNNING = "running", _("Running")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")


class Due(TextChoices):
    """Why an entry in use is due for a look (A9)."""

    OVER = "over", _("Its time is over")
    SOON = "soon", _("Its time is over within a week")
    REVIEW = "review", _("Its date of review has come")


class Fusion(TextChoices):
    """How the scores of the retrievers are fused (A7)."""

    RELATIVE = "relative", _("Relative scores")
    RRF = "rrf", _("Reciprocal ranks")


class Echo(TextChoices):
    """What of a turn tells nothing new (A7)."""

    NONE = "", _("Nothing")
    ANSWER = "answer", _("The answer")
    TURN = "turn", _("The whole turn")


class Verification(TextChoices):
    """How well the words a model's statement rests on bear it out (D5)."""

    NONE = "", _("Not a model's")
    QUOTED = "quoted", _("Quoted")
    VERIFIED = "verified", _("Verified")


class Suspicion(TextChoices):
    """How a text speaks to the model that reads it, instead of about the world (A18)."""

    NONE = "", _("Speaks of the world")
    FORGED = "forged", _("Passes for a part of the prompt")
    LINK = "link", _("Has something fetched")
    OVERRIDE = "override", _("Sets aside what the model was told")
    ORDER = "order", _("Gives the model a standing order")


class Refusal(TextChoices):
    """Why a statement of a model was not kept (D5)."""

    INVALID = "invalid", _("It could not be read.")
    NO_QUOTE = "no_quote", _("The words it quotes are not in the message.")
    BOT = "bot", _("Only the bot said it.")
    AMOUNT = "amount", _("Nobody said a number or date of it.")
    CODE = "code", _("Nobody said an address or code of it.")
    NAME = "name", _("Nobody said a name in it.")
    SUBJECT = "subject", _("The words speak of somebody else.")
    NO_SCOPE = "no_scope", _("No memory may hold it: it rests on the words of several.")
    CONTRADICTED = "contradicted", _("The second reading says that the words contradict it.")
    NOT_STATED = "not_stated", _("The second reading says that the words do not state it.")

    @property
    def is_doubt(self) -> bool:
        """Whether a believed reader may overrule it: a date may be reckoned, «he» may be somebody who was named."""
        return self in (Refusal.AMOUNT, Refusal.NAME, Refusal.SUBJECT)


class Reading(TextChoices):
    """What the second reading says of a statement and the words it rests on (D5)."""

    ENTAILED = "entailed", _("Entailed")
    CONTRADICTED = "contradicted", _("Contradicted")
    NOT_STATED = "not_stated", _("Not stated")
    UNSURE = "unsure", _("Unsure")


class NeedMode(TextChoices):
    """The mode of the retrieval gate (D3)."""

    AUTO = "auto", _("By rules")
    OFF = "off", _("Always recall")


class Verdict(TextChoices):
    """Whether the results of a recall are enough to answer with (C3)."""

    FOUND = "found", _("Found")
    WEAK = "weak", _("Perhaps")
    NONE = "none", _("Not enough")

"""What calls take and answer. Made by generate.py from the API's description."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar

T = TypeVar("T")


class Page(TypedDict, Generic[T]):
    """A part of a list; `cursor` asks for the next one, and is None on the last."""

    results: list[T]
    next: str | None
    cursor: str | None


BatchChangeAnswerVerbEnum = Literal[
    "create",
    "change",
    "merge",
    "expire",
    "archive",
    "restore",
    "supersede",
    "undo",
    "quarantine",
    "purge",
    "tell",
    "policy",
]
BatchState = Literal["proposed", "applying", "applied", "undone", "refused"]
CategoryEnum = Literal[
    "identity", "config", "credential", "decision", "solution", "event", "conversation", "temp", "debug"
]
ChangeState = Literal["planned", "applied", "left", "undone"]
CopiesEnum = Literal["all", "none"]
DeliveryAnswerStateEnum = Literal["waiting", "sent", "failed"]
DmScopeEnum = Literal["main", "per-peer", "per-channel-peer", "per-account-channel-peer"]
EntryState = Literal["live", "due", "expired", "archived", "superseded", "quarantined", "suppressed"]
EntryType = Literal["chat_turn", "auto_capture", "workflow_trace", "user_explicit", "fact", "note"]
ErrorType = Literal["validation_error", "client_error", "server_error"]
EventEnum = Literal[
    "memory.created", "memory.updated", "memory.expired", "review.due", "batch.held", "job.failed", "degraded", "test"
]
EventsEnum = Literal[
    "memory.created", "memory.updated", "memory.expired", "review.due", "batch.held", "job.failed", "degraded"
]
EvidenceEnum = Literal["found", "weak", "none"]
FormEnum = Literal["openai", "openai_responses", "anthropic", "mcp"]
FormatEnum = Literal["memplatform", "mem0"]
GroupSessionsEnum = Literal["shared", "per_member"]
GroupUserRecallEnum = Literal["none", "same_chat", "all"]
ListedFileAnswerKindEnum = Literal["note", "transcript"]
MessageRole = Literal["user", "assistant", "tool", "summary"]
ModeEnum = Literal["hybrid", "vector", "keyword", "fts"]
NeedEnum = Literal["auto", "off"]
NewBatchVerbEnum = Literal["expire", "archive", "restore", "merge", "change"]
NewCandidateTypeEnum = Literal["fact", "auto_capture"]
NewEventKindEnum = Literal["user", "assistant", "tool", "ambient"]
NoteEnum = Literal[
    "changed",
    "gone",
    "already",
    "removed",
    "suppressed",
    "erased",
    "unstorable",
    "no_successor",
    "quarantined",
    "stands",
    "merged",
    "skipped",
    "note",
]
OperationEnum = Literal["created", "changed"]
OriginEnum = Literal["operator", "self", "other", "member", "file", "import", "bot", "tool"]
OutcomeEnum = Literal["created", "merged", "skipped", "suppressed"]
PathModeEnum = Literal["hooks_only", "legacy_only", "dual_write"]
ProblemEnum = Literal["answer", "timeout", "connection", "unknown_host", "private", "unencrypted", "secret", "gone"]
ReadRole = Literal["user", "assistant", "tool"]
ReasonEnum = Literal["taken_out", "erased", "quarantined"]
RecalledEventKindEnum = Literal["session_event", "daily_event"]
RecalledEventRoleEnum = Literal["user", "assistant", "summary"]
RecentMessageRoleEnum = Literal["user", "assistant"]
RelativeKindEnum = Literal["merged_from", "supersedes", "source_of"]
ReplyEnum = Literal["NO_REPLY"]
SavedOutcome = Literal["created", "brought_back", "pending", "known"]
ScopeKindEnum = Literal["user", "chat"]
SearchSource = Literal["notes", "entries", "daily_events", "session_events"]
SecretsEnum = Literal["keep", "mask", "off"]
SessionEventAnswerKindEnum = Literal["user", "assistant", "tool", "summary", "ambient"]
SessionModeEnum = Literal["stable", "fresh"]
SourceEnum = Literal[
    "conversation_capture", "memory_capture", "tool", "extraction", "compression", "manual", "migration", "file"
]
SuspectEnum = Literal["forged", "link", "override", "order"]
TargetEnum = Literal["daily", "long-term"]
UpdatedMemoryAnswerOutcomeEnum = Literal["updated", "unchanged"]
VerificationEnum = Literal["quoted", "verified"]
WithheldEnum = Literal["gone", "taken_out"]


class AddressField(TypedDict):
    """Where a message comes from, as the bot's platform names it."""

    platform: str
    account: NotRequired[str | None]
    peer: NotRequired[str | None]
    chat: NotRequired[str | None]
    is_group: NotRequired[bool]
    thread: NotRequired[str | None]


class AddressRequest(TypedDict):
    """An address to be resolved."""

    address: AddressField


class AppendedAnswer(TypedDict):
    """The messages that were appended, without those that were there already."""

    session: SessionAnswer | None
    events: list[SessionEventAnswer]
    directives: list[DirectiveAnswer]
    degraded: list[str]


class BatchAnswer(TypedDict):
    """A bundle of changes made by one run or one action."""

    id: str
    scope: str | None
    name: str
    run: str
    by: str
    reason: str
    state: BatchState
    held_because: list[HeldReason]
    decided_by: str
    counts: Any
    cost: Any
    undoes: str | None
    created_at: str
    applied_at: str | None
    closed_at: str | None


class BatchChangeAnswer(TypedDict):
    """What one row of a batch does to its entry."""

    position: int
    verb: BatchChangeAnswerVerbEnum
    entry: str | None
    event: str | None
    expected_version: int | None
    state: ChangeState
    note: NoteEnum | None
    note_details: RowNoteDetails | None
    draft: Any
    content: str | None
    diff: list[list[str]] | None
    changes: list[ColumnChange]
    slots: list[SlotChange]
    into: str | None
    into_position: int | None
    sources: list[str]


class BatchWithChanges(TypedDict):
    """A batch and a page of its changes."""

    id: str
    scope: str | None
    name: str
    run: str
    by: str
    reason: str
    state: BatchState
    held_because: list[HeldReason]
    decided_by: str
    counts: Any
    cost: Any
    undoes: str | None
    created_at: str
    applied_at: str | None
    closed_at: str | None
    undone_by: list[str]
    changes: BatchChangePage


class BelievedMessage(TypedDict):
    """A message as the client remembers it."""

    role: MessageRole
    content: str


class Boosts(TypedDict):
    """What was added because the question names who said it, or when."""

    speaker: float
    date: float


class CandidateAnswer(TypedDict):
    """What became of a candidate; without an id it was left out, and `reason` says why."""

    id: str | None
    type: EntryType | None
    scope: str | None
    outcome: OutcomeEnum | None
    reason: str | None


class CapturedEntry(TypedDict):
    """What became of a turn in one scope."""

    id: str
    type: EntryType
    scope: str
    outcome: OutcomeEnum
    kept: bool
    reason: ReasonEnum | None
    brought_back: bool


class ChangedAttributes(TypedDict):
    """What many entries may be given at once."""

    category: NotRequired[CategoryEnum | Literal[""]]
    project: NotRequired[str]
    topic: NotRequired[str]
    importance: NotRequired[float]
    pinned: NotRequired[bool]
    expires_at: NotRequired[datetime | str | None]


class ChannelAnswer(TypedDict):
    """A channel with its rules."""

    id: str
    platform: str
    account: str
    label: str
    dm_scope: DmScopeEnum | Literal[""]
    session_mode: SessionModeEnum
    session_prefix: str
    max_tokens: int | None
    group_sessions: GroupSessionsEnum
    group_prefix: str
    capture_group_memory: bool | None
    group_user_recall: GroupUserRecallEnum | Literal[""]
    secrets: SecretsEnum | Literal[""]
    need: NeedEnum
    serve: Literal["likely", "wide"] | float | None
    path_mode: PathModeEnum
    transcripts: bool | None
    version: int
    created_at: str


class ChatMessageAnswer(TypedDict):
    """A message of the group that was not meant for the bot."""

    sender: str
    sender_name: str | None
    content: str
    at: str


class ColumnChange(TypedDict):
    """One column before and after; of the content also word by word."""

    column: str
    old: Any
    new: Any
    diff: NotRequired[list[list[str]]]


class CompactAnswer(TypedDict):
    """The worker will compact the conversation."""

    session: SessionAnswer
    queued: bool


class ComparisonAnswer(TypedDict):
    """How the two ways to recall compare."""

    recalls: int
    differing: int
    both: int
    only_database: int
    only_files: int
    examples: list[ComparisonExample]


class ComparisonExample(TypedDict):
    """A recall for which the two differ."""

    at: str
    platform: str
    account: str
    recall_id: str | None
    message: str
    both: int
    only_database: list[OnlyInDatabase]
    only_files: list[OnlyInFiles]


class ContextAnswer(TypedDict):
    """Everything that was found worth a place in the prompt; never more than the budget."""

    stale: NotRequired[bool]
    replayed_at: NotRequired[str]
    recall_id: str | None
    session: ContextSession
    need: NeedAnswer
    evidence: EvidenceEnum
    in_history: bool
    profile: list[ProfileFactAnswer]
    memories: list[RecalledMemory]
    events: list[RecalledEvent]
    notes: list[NoteAnswer]
    recent_chat: list[ChatMessageAnswer]
    history: list[ContextMessageAnswer]
    directives: list[DirectiveAnswer]
    reply: str | None
    text: str
    tokens: int
    degraded: list[str]


class ContextMessageAnswer(TypedDict):
    """One message of the history."""

    position: int
    role: MessageRole
    sender: str
    sender_name: str | None
    content: str
    at: str


class ContextRequest(TypedDict):
    """A message that is about to be answered."""

    address: AddressField
    message: str
    token_budget: NotRequired[int]
    limit: NotRequired[int | None]
    need: NotRequired[NeedEnum]
    serve: NotRequired[Literal["likely", "wide"] | float | None]
    include_session_events: NotRequired[bool]
    max_tokens: NotRequired[int | None]
    recent: NotRequired[list[RecentMessage] | None]
    client_history: NotRequired[list[RecentMessage] | None]
    tools: NotRequired[bool]


class ContextSession(TypedDict):
    """The conversation the message belongs to; without an id it has not been heard of."""

    id: str | None
    key: str
    conversation: int | None
    tokens: int
    max_tokens: int
    is_first_turn: bool | None


class CopyAnswer(TypedDict):
    """Another entry that rests on the same messages, as it stands now."""

    id: str
    scope: str
    type: EntryType
    state: EntryState


class DailyEventAnswer(TypedDict):
    """What happened on one local day, as far as one conversation tells."""

    id: str
    scope: str
    date: str
    content: str
    source: SourceEnum
    chats: list[str]
    version: int
    created_at: str
    updated_at: str
    trust: OriginEnum | None


class DeliveryAnswer(TypedDict):
    """One event for one webhook."""

    id: str
    webhook: str
    event: EventEnum
    subject: str | None
    version: int
    by: str
    details: dict[str, Any]
    state: DeliveryAnswerStateEnum
    attempts: int
    status: int | None
    problem: ProblemEnum | Literal[""]
    problem_text: str
    at: str
    queued_at: str
    retry_at: str | None
    sent_at: str | None


class DirectiveAnswer(TypedDict):
    """What the bot is to do next."""

    kind: str
    instruction: str


class EntryAnswer(TypedDict):
    """A memory."""

    id: str
    scope: str
    type: EntryType
    subtype: str
    tier: int | None
    category: CategoryEnum | Literal[""]
    project: str
    topic: str
    names: list[str]
    content: str
    slots: dict[str, str]
    contradicted_by: str | None
    verification: VerificationEnum | Literal[""]
    suspect: SuspectEnum | Literal[""]
    evidence: list[EvidenceAnswer]
    path: str
    line_from: int | None
    line_to: int | None
    heading: str
    importance: float
    source: SourceEnum
    origin: OriginEnum
    trust: OriginEnum
    subject: str
    state: EntryState
    pinned: bool
    version: int
    created_at: str
    stated_at: str
    updated_at: str
    expires_at: str | None
    review_at: str | None
    expired_at: str | None
    archived_at: str | None


class EntryWithCopies(TypedDict):
    """A memory, and the copies of it that went or came with it, or stayed."""

    id: str
    scope: str
    type: EntryType
    subtype: str
    tier: int | None
    category: CategoryEnum | Literal[""]
    project: str
    topic: str
    names: list[str]
    content: str
    slots: dict[str, str]
    contradicted_by: str | None
    verification: VerificationEnum | Literal[""]
    suspect: SuspectEnum | Literal[""]
    evidence: list[EvidenceAnswer]
    path: str
    line_from: int | None
    line_to: int | None
    heading: str
    importance: float
    source: SourceEnum
    origin: OriginEnum
    trust: OriginEnum
    subject: str
    state: EntryState
    pinned: bool
    version: int
    created_at: str
    stated_at: str
    updated_at: str
    expires_at: str | None
    review_at: str | None
    expired_at: str | None
    archived_at: str | None
    copies: list[CopyAnswer]


class EntryWithLineage(TypedDict):
    """A memory, what it was made from, and what it became."""

    id: str
    scope: str
    type: EntryType
    subtype: str
    tier: int | None
    category: CategoryEnum | Literal[""]
    project: str
    topic: str
    names: list[str]
    content: str
    slots: dict[str, str]
    contradicted_by: str | None
    verification: VerificationEnum | Literal[""]
    suspect: SuspectEnum | Literal[""]
    evidence: list[EvidenceAnswer]
    path: str
    line_from: int | None
    line_to: int | None
    heading: str
    importance: float
    source: SourceEnum
    origin: OriginEnum
    trust: OriginEnum
    subject: str
    state: EntryState
    pinned: bool
    version: int
    created_at: str
    stated_at: str
    updated_at: str
    expires_at: str | None
    review_at: str | None
    expired_at: str | None
    archived_at: str | None
    sources: list[Relative]
    became: list[Relative]
    origins: list[str]
    times_recalled: int
    last_recalled_at: str | None
    times_repeated: int


class ErrorAnswer(TypedDict):
    """What every error looks like."""

    type: ErrorType
    errors: list[ErrorItem]


class ErrorItem(TypedDict):
    """One thing that is wrong."""

    code: str
    detail: str
    attr: str | None


class EventOfTrace(TypedDict):
    """A session event a past recall found; its words are in its session."""

    path: str
    score: float
    memory: str | None
    words: float | None
    similarity: float | None
    version: int | None


class EvidenceAnswer(TypedDict):
    """Words of a message a fact rests on."""

    quote: str
    event: str
    at: str
    speaker: str


ExcerptAnswer = TypedDict(
    "ExcerptAnswer",
    {
        "path": "str",
        "source": "SearchSource",
        "lines": "int",
        "text": "str",
        "found": "bool",
        "truncated": "bool",
        "next": "int | None",
        "at": "str | None",
        "speaker": "str",
        "note": "str",
        "degraded": "list[str]",
        "from": "int",
    },
)


class Feedback(TypedDict):
    """The served entries an answer used; none of them: an empty list."""

    used: list[str]
    note: NotRequired[str]


class FeedbackAnswer(TypedDict):
    """The feedback on a recall."""

    recall_id: str
    used: list[str]
    note: str


class FileListAnswer(TypedDict):
    """Files, those changed last first."""

    files: list[ListedFileAnswer]
    total: int
    next: int | None
    degraded: list[str]


class FlushAnswer(TypedDict):
    """A flush that is recorded."""

    session: SessionAnswer
    id: str | None
    up_to: int
    counts: dict[str, int]
    candidates: list[CandidateAnswer]
    queued: bool


class HeldReason(TypedDict):
    """Why a batch waits for a person."""

    code: str
    figures: dict[str, Any]
    text: str


class HistoryLine(TypedDict):
    """One message of the history, as models take it."""

    role: str
    content: str


class HistoryMessageAnswer(TypedDict):
    """One message of a history."""

    position: int
    role: MessageRole
    sender: str
    content: str
    data: dict[str, Any]
    at: str


class LeftOutMemory(TypedDict):
    """A candidate that was not served, and why."""

    id: str | None
    type: EntryType | None
    scope: str | None
    content: str | None
    suspect: SuspectEnum | Literal[""] | None
    sender: str | None
    sender_name: str | None
    slots: dict[str, str] | None
    origin: OriginEnum | None
    trust: OriginEnum | None
    created_at: str | None
    score: float | None
    relevance: float | None
    superseded_by_newer: str | None
    why: Why | None
    reason: str


class ListedFileAnswer(TypedDict):
    """A file that can be read."""

    path: str
    kind: ListedFileAnswerKindEnum
    scope: str
    bytes: int
    at: str


class MemoryAppendRequest(TypedDict):
    """Add lines to the end of a note of memory, today's unless you name another. Nothing that stands there
    is changed. For a running list or a log kept in a note of its own; to simply remember something use
    memory_save."""

    address: NotRequired[AddressField]
    scope: NotRequired[str]
    content: str
    path: NotRequired[str | None]


class MemoryGetRequest(TypedDict):
    """Read what a path of memory_search leads to, word for word: lines of a note, a memory, a day, or one
    earlier message. Call it BEFORE you give an exact figure, date, setting or quote, and when a result
    was cut. Only paths that memory_search or the context gave you; never make one up."""

    address: NotRequired[AddressField]
    scope: NotRequired[str]
    path: str
    from_: NotRequired[int | None]
    lines: NotRequired[int | None]


class MemoryListRequest(TypedDict):
    """List the files of memory that can be read here, changed last first, each with its path, its size and
    when it was changed. Call it when the user asks which notes there are, or before lines are added to
    a note whose path you do not know. To find something in them use memory_search."""

    address: NotRequired[AddressField]
    scope: NotRequired[str]
    from_: NotRequired[int | None]


class MemorySaveRequest(TypedDict):
    """Save something to long-term memory. Call it when the user asks to remember, note or save something,
    and when they settle what will still matter later: a decision, a preference, a plan. Save what was
    said, in one or two full sentences that stand by themselves; nothing guessed, no passwords unless
    the user insists. Say that it is remembered only after this tool has said «Saved»."""

    address: NotRequired[AddressField]
    scope: NotRequired[str]
    content: str
    target: NotRequired[TargetEnum]


class MemorySearchRequest(TypedDict):
    """Search long-term memory: notes, remembered facts, what happened on past days, and what was said
    earlier, word for word. Call it BEFORE you answer anything about the past: earlier work, decisions,
    preferences, people, dates, plans, to-dos, or when the user says «last time», «yesterday», «do you
    remember». The conversation you see is not all of it. If nothing is found, or not enough, say that
    you searched and did not find it. Never present a guess as a memory."""

    address: NotRequired[AddressField]
    scope: NotRequired[str]
    query: str
    max_results: NotRequired[int | None]
    min_score: NotRequired[float | None]
    mode: NotRequired[ModeEnum | None]
    include_session_events: NotRequired[bool | None]


class MemoryUpdateRequest(TypedDict):
    """Correct one line of a note, or a memory that was saved, where it stands. Call it when the user says
    that something remembered is wrong or has changed, and memory_search or memory_get has shown where
    it stands; say what you changed. The words before are kept in its history. What is no longer wanted
    at all is not for this tool, and new things go to memory_save."""

    address: NotRequired[AddressField]
    scope: NotRequired[str]
    path: str
    content: str


class MessageAddress(TypedDict):
    """Where a message was written: to be given back as it is with calls about it."""

    platform: str
    account: str
    peer: str
    chat: str
    is_group: bool
    thread: str


class MessageContext(TypedDict):
    """What memory knows on a message, as POST /context tells it."""

    recall_id: str | None
    text: str
    history: list[HistoryLine]


class MessageReply(TypedDict):
    """The bot's answer; empty: it says nothing."""

    text: str


class NeedAnswer(TypedDict):
    """Whether the message needed memory, and by which rule."""

    retrieve: bool
    rule: str


class NewBatch(TypedDict):
    """What is to become of entries of one scope."""

    scope: str
    verb: NewBatchVerbEnum
    entries: list[str]
    into: NotRequired[str]
    content: NotRequired[str]
    columns: NotRequired[ChangedAttributes]
    slots: NotRequired[dict[str, str | None]]
    term_days: NotRequired[int | None]
    reason: NotRequired[str]
    dry_run: NotRequired[bool]


class NewCandidate(TypedDict):
    """What is worth remembering, and the positions of the messages it rests on."""

    category: NotRequired[CategoryEnum | Literal[""]]
    importance: NotRequired[float | None]
    project: NotRequired[str]
    topic: NotRequired[str]
    content: str
    type: NotRequired[NewCandidateTypeEnum]
    rests_on: NotRequired[list[int]]
    quote: NotRequired[list[str]]
    subject: NotRequired[str]
    slots: NotRequired[dict[str, str]]


class NewEntry(TypedDict):
    """A memory a bot saves on purpose: into a scope, or from where somebody asked for it."""

    category: NotRequired[CategoryEnum | Literal[""]]
    importance: NotRequired[float | None]
    project: NotRequired[str]
    topic: NotRequired[str]
    scope: NotRequired[str]
    address: NotRequired[AddressField]
    scope_kind: NotRequired[ScopeKindEnum | None]
    type: NotRequired[EntryType]
    content: str
    names: NotRequired[list[str]]
    slots: NotRequired[dict[str, str]]
    tier: NotRequired[int | None]
    source: NotRequired[SourceEnum]
    origin: NotRequired[OriginEnum]
    subject: NotRequired[str]
    pinned: NotRequired[bool]
    expires_at: NotRequired[datetime | str | None]
    at: NotRequired[datetime | str | None]


class NewEvent(TypedDict):
    """A message as a bot reports it."""

    kind: NewEventKindEnum
    content: str
    sender: NotRequired[str]
    sender_name: NotRequired[str | None]
    at: NotRequired[datetime | str | None]
    data: NotRequired[dict[str, Any]]


class NewEvents(TypedDict):
    """Messages to append, and the history the client believes to come before them."""

    events: NotRequired[list[NewEvent]]
    history: NotRequired[list[BelievedMessage] | None]
    max_tokens: NotRequired[int | None]


class NewFlush(TypedDict):
    """What a bot took out of a conversation; with neither, the platform does it itself."""

    version: int
    reply: NotRequired[ReplyEnum | None]
    candidates: NotRequired[list[NewCandidate]]
    continue_: NotRequired[str | None]


class NewRules(TypedDict):
    """The rules that are to hold; what is not named stays. Empty or null: the platform's default."""

    label: NotRequired[str]
    dm_scope: NotRequired[DmScopeEnum | Literal[""] | None]
    session_mode: NotRequired[SessionModeEnum]
    session_prefix: NotRequired[str]
    max_tokens: NotRequired[int | None]
    group_sessions: NotRequired[GroupSessionsEnum]
    group_prefix: NotRequired[str]
    capture_group_memory: NotRequired[bool | None]
    group_user_recall: NotRequired[GroupUserRecallEnum | Literal[""] | None]
    secrets: NotRequired[SecretsEnum | Literal[""] | None]
    need: NotRequired[NeedEnum]
    serve: NotRequired[Literal["likely", "wide"] | float | None]
    path_mode: NotRequired[PathModeEnum]
    transcripts: NotRequired[bool | None]


class NewToolCall(TypedDict):
    """A tool the bot used to answer."""

    name: str
    arguments: NotRequired[Any]
    result: NotRequired[Any]


class NewTurn(TypedDict):
    """A finished turn."""

    address: AddressField
    user: NotRequired[str]
    assistant: NotRequired[str]
    at: NotRequired[datetime | str | None]
    tool_calls: NotRequired[list[NewToolCall] | None]
    outcome: NotRequired[str | None]
    recall_id: NotRequired[str | None]
    used: NotRequired[list[str] | None]
    sender_name: NotRequired[str | None]
    slots: NotRequired[dict[str, str]]
    max_tokens: NotRequired[int | None]


class NewWebhook(TypedDict):
    """Where to send what."""

    url: str
    events: list[EventsEnum]
    name: NotRequired[str]
    with_content: NotRequired[bool]
    format: NotRequired[FormatEnum]
    is_enabled: NotRequired[bool]


class NextMessage(TypedDict):
    """Of which connection the next message is wanted."""

    platform: str
    account: NotRequired[str]


class NextMessageAnswer(TypedDict):
    """The next message, if there is one."""

    message: OfferedMessage | None


class NoteAnswer(TypedDict):
    """What is noted of one local day."""

    date: str
    scope: str
    content: str
    cut: bool


class OfferedMessage(TypedDict):
    """A message that waits for an answer."""

    id: str
    at: str
    address: MessageAddress
    sender_name: str
    message: str
    context: MessageContext


class OnlyInDatabase(TypedDict):
    """A memory the files did not give."""

    id: str
    path: str
    line: int | None
    content: str


class OnlyInFiles(TypedDict):
    """A line of a file the database did not give."""

    path: str
    line: int
    content: str


class PatchedEntryChange(TypedDict):
    """What is to change; what is not named stays. A slot is taken away by null."""

    category: NotRequired[CategoryEnum | Literal[""]]
    project: NotRequired[str]
    topic: NotRequired[str]
    importance: NotRequired[float]
    pinned: NotRequired[bool]
    expires_at: NotRequired[datetime | str | None]
    content: NotRequired[str]
    names: NotRequired[list[str]]
    subject: NotRequired[str]
    review_at: NotRequired[datetime | str | None]
    slots: NotRequired[dict[str, str | None]]


class PatchedRowChange(TypedDict):
    """Other words for a row of a plan, or its removal from it."""

    content: NotRequired[str]
    removed: NotRequired[bool]


class PatchedWebhookChange(TypedDict):
    """What of a webhook is to be another."""

    url: NotRequired[str]
    events: NotRequired[list[EventsEnum]]
    name: NotRequired[str]
    with_content: NotRequired[bool]
    format: NotRequired[FormatEnum]
    is_enabled: NotRequired[bool]


class ProfileFactAnswer(TypedDict):
    """A line of the profile."""

    id: str
    scope: str
    category: CategoryEnum | Literal[""]
    content: str


class ReadEventAnswer(TypedDict):
    """One message, unabridged; without content when there is none that may be shown."""

    path: str
    found: bool
    scope: str
    role: ReadRole | None
    sender: str
    content: str
    at: str | None


class RecallAnswer(TypedDict):
    """The memories that bear on a message."""

    stale: NotRequired[bool]
    replayed_at: NotRequired[str]
    recall_id: str | None
    need: NeedAnswer
    evidence: EvidenceEnum
    memories: list[RecalledMemory]
    events: list[RecalledEvent]
    context: str
    tokens: int
    degraded: list[str]
    cached: bool
    as_of: str | None
    erased_since: int | None
    left_out: NotRequired[list[LeftOutMemory]]


class RecallRequest(TypedDict):
    """A question to memory: from an address, or about one scope."""

    address: NotRequired[AddressField]
    scope: NotRequired[str]
    message: str
    limit: NotRequired[int | None]
    mode: NotRequired[ModeEnum]
    types: NotRequired[list[EntryType] | None]
    filters: NotRequired[dict[str, str] | None]
    project: NotRequired[str | None]
    topic: NotRequired[str | None]
    since: NotRequired[datetime | str | None]
    until: NotRequired[datetime | str | None]
    as_of: NotRequired[datetime | str | None]
    need: NotRequired[NeedEnum]
    serve: NotRequired[Literal["likely", "wide"] | float | None]
    quotas: NotRequired[bool]
    token_budget: NotRequired[int]
    include_session_events: NotRequired[bool]
    explain: NotRequired[bool]
    cache: NotRequired[bool]
    recent: NotRequired[list[RecentMessage] | None]


class RecallTraceAnswer(TypedDict):
    """A past recall: its message, what was served and left out, and why."""

    recall_id: str
    message: str
    at: str
    bot: str | None
    scopes: list[str]
    session_key: str
    mode: str
    asked: dict[str, Any]
    rule: str
    evidence: dict[str, Any]
    memories: list[RecordedMemory]
    left_out: list[RecordedLeftOut]
    events: list[EventOfTrace]
    sampled: bool
    weights: dict[str, float]
    cached_from: str | None
    timings: dict[str, float]
    tokens: int
    degraded: list[str]
    used: list[str] | None
    pointed_to: list[str] | None
    note: str


class RecalledEvent(TypedDict):
    """A message, or an event of a day, with the path that proves it."""

    kind: RecalledEventKindEnum
    path: str
    scope: str
    role: RecalledEventRoleEnum
    sender: str
    sender_name: str | None
    content: str
    cut: bool
    at: str
    score: float
    words: float
    similarity: float | None
    memory: str | None


class RecalledMemory(TypedDict):
    """A memory that bears on the message."""

    id: str | None
    type: EntryType
    scope: str
    content: str
    sender: str | None
    sender_name: str | None
    slots: dict[str, str]
    origin: OriginEnum
    trust: OriginEnum
    verification: VerificationEnum | Literal[""]
    suspect: SuspectEnum | Literal[""]
    evidence: list[EvidenceAnswer]
    created_at: str | None
    score: float
    relevance: float | None
    superseded_by_newer: str | None
    why: Why


class RecentMessage(TypedDict):
    """A message just before the one that is asked; of a long one its beginning and its end are read."""

    role: RecentMessageRoleEnum
    content: str


class RecordedLeftOut(TypedDict):
    """A candidate that was not served, in the words it had then, and why."""

    id: str | None
    type: EntryType | None
    scope: str | None
    content: str | None
    suspect: SuspectEnum | Literal[""] | None
    sender: str | None
    sender_name: str | None
    slots: dict[str, str] | None
    origin: OriginEnum | None
    trust: OriginEnum | None
    created_at: str | None
    score: float | None
    relevance: float | None
    superseded_by_newer: str | None
    why: Why | None
    version: int | None
    reworded_since: bool | None
    withheld: WithheldEnum | None
    links: ThenAndNow | None
    reason: str


class RecordedMemory(TypedDict):
    """A memory of a past recall, in the words it had then."""

    id: str | None
    type: EntryType | None
    scope: str | None
    content: str | None
    suspect: SuspectEnum | Literal[""] | None
    sender: str | None
    sender_name: str | None
    slots: dict[str, str] | None
    origin: OriginEnum | None
    trust: OriginEnum | None
    created_at: str | None
    score: float | None
    relevance: float | None
    superseded_by_newer: str | None
    why: Why | None
    version: int | None
    reworded_since: bool | None
    withheld: WithheldEnum | None
    links: ThenAndNow | None


class Relative(TypedDict):
    """An entry another was made from, or became."""

    id: str
    kind: RelativeKindEnum
    content: str
    at: str


class Rerank(TypedDict):
    """What the owner's reranker made of a memory."""

    rank_before: int
    rank_after: int
    score: float


class ResetAnswer(TypedDict):
    """A conversation that was closed."""

    session: SessionAnswer
    reply: str


class ResolvedAnswer(TypedDict):
    """What an address means."""

    session_key: str
    user_scope: str | None
    chat_scope: str | None
    recall: list[str]


class RevertRequest(TypedDict):
    """The version whose words, attributes and slots are to hold again."""

    version: int
    only: NotRequired[list[str] | None]


class RevisionAnswer(TypedDict):
    """What somebody changed at once."""

    version: int
    at: str
    by: str
    operation: OperationEnum
    batch: str | None
    run: str
    changes: list[ColumnChange]
    slots: list[SlotChange]


class RowNoteDetails(TypedDict):
    """The note of a row for people, and what to do first."""

    text: str
    batches: list[str]


class SavedEntry(TypedDict):
    """A memory as it stands after it was saved, and what became of what was sent."""

    id: str
    scope: str
    type: EntryType
    subtype: str
    tier: int | None
    category: CategoryEnum | Literal[""]
    project: str
    topic: str
    names: list[str]
    content: str
    slots: dict[str, str]
    contradicted_by: str | None
    verification: VerificationEnum | Literal[""]
    suspect: SuspectEnum | Literal[""]
    evidence: list[EvidenceAnswer]
    path: str
    line_from: int | None
    line_to: int | None
    heading: str
    importance: float
    source: SourceEnum
    origin: OriginEnum
    trust: OriginEnum
    subject: str
    state: EntryState
    pinned: bool
    version: int
    created_at: str
    stated_at: str
    updated_at: str
    expires_at: str | None
    review_at: str | None
    expired_at: str | None
    archived_at: str | None
    outcome: OutcomeEnum
    reason: ReasonEnum | None
    linked: list[str]
    brought_back: bool


class SavedLineAnswer(TypedDict):
    """A line that was saved."""

    path: str
    line: int
    entry: str | None
    scope: str
    outcome: SavedOutcome
    degraded: list[str]


class SearchAnswer(TypedDict):
    """What was found, best first."""

    stale: NotRequired[bool]
    replayed_at: NotRequired[str]
    recall_id: str | None
    evidence: EvidenceEnum
    results: list[SearchResult]
    note: str
    text: str
    degraded: list[str]


class SearchResult(TypedDict):
    """Something that was found."""

    path: str
    line: int
    score: float
    snippet: str
    cut: bool
    source: SearchSource
    kind: str
    scope: str
    at: str | None
    heading: str
    speaker: str
    evidence: list[str]


class SentAgain(TypedDict):
    """How many deliveries are sent again."""

    count: int


class SessionAnswer(TypedDict):
    """A chat's running conversation."""

    id: str
    key: str
    platform: str
    account: str
    chat: str
    peer: str
    is_group: bool
    user_scope: str | None
    chat_scope: str | None
    conversation: int
    is_empty: bool
    tokens: int
    max_tokens: int
    cycle: int
    flushed_to: int
    summarised_to: int
    last_position: int
    started_at: str
    last_at: str


class SessionEventAnswer(TypedDict):
    """A message of a session."""

    id: int
    conversation: int
    position: int
    kind: SessionEventAnswerKindEnum
    sender: str
    content: str
    data: dict[str, Any]
    tokens: int
    at: str
    trust: OriginEnum


class SessionHistoryAnswer(TypedDict):
    """The open conversation as it goes to a model: a summary of older turns, if there is one, and the
    newest."""

    session: SessionAnswer
    messages: list[HistoryMessageAnswer]
    tokens: int
    is_cut: bool


class SlotChange(TypedDict):
    """One slot before and after; null where there was or is none."""

    name: str
    old: str | None
    new: str | None


class Term(TypedDict):
    """For how long an entry is brought back; null: for as long as its policy says."""

    term_days: NotRequired[int | None]
    copies: NotRequired[CopiesEnum]


class ThenAndNow(TypedDict):
    """Where an entry can be read as it is now, and as it was."""

    now: str
    then: str


class ToolCallRequest(TypedDict):
    """Calls of a model, and whose memory they are about."""

    address: NotRequired[AddressField]
    scope: NotRequired[str]
    call: NotRequired[dict[str, Any]]
    calls: NotRequired[list[dict[str, Any]]]


class ToolCallResult(TypedDict):
    """What became of one call of a model."""

    id: str
    name: str
    is_error: bool
    message: dict[str, Any]
    result: dict[str, Any] | None
    errors: list[ErrorItem]


class ToolCallsAnswer(TypedDict):
    """What became of a model's calls."""

    answers: list[ToolCallResult]
    messages: list[dict[str, Any]]


class ToolsAnswer(TypedDict):
    """The tools, to be passed on to a model as they are."""

    form: FormEnum
    language: str
    tools: list[dict[str, Any]]
    address: dict[str, Any] | None


class TurnAnswer(TypedDict):
    """A turn taken in."""

    session: TurnSession
    entries: list[CapturedEntry]
    directives: list[DirectiveAnswer]
    reply: str | None
    degraded: list[str]


class TurnSession(TypedDict):
    """The session a turn went to."""

    id: str | None
    key: str
    conversation: int | None
    tokens: int | None


class UndoRequest(TypedDict):
    """What of a batch is to be taken back, and whether also where others have changed it since."""

    positions: NotRequired[list[int] | None]
    force: NotRequired[bool]
    reason: NotRequired[str]


class UpdatedMemoryAnswer(TypedDict):
    """A memory with its new words."""

    path: str
    line: int | None
    entry: str
    scope: str
    before: str
    content: str
    outcome: UpdatedMemoryAnswerOutcomeEnum
    batch: str | None


class WebhookAnswer(TypedDict):
    """An address that receives what happens in a workspace."""

    id: str
    name: str
    url: str
    events: list[EventsEnum]
    with_content: bool
    format: FormatEnum
    is_enabled: bool
    failures: int
    rests_until: str | None
    created_at: str


class WebhookWithSecret(TypedDict):
    """A webhook with its new secret."""

    id: str
    name: str
    url: str
    events: list[EventsEnum]
    with_content: bool
    format: FormatEnum
    is_enabled: bool
    failures: int
    rests_until: str | None
    created_at: str
    secret: str | None


class Why(TypedDict):
    """How a memory was ranked; what is not known is null."""

    keyword: float | None
    keyword_rank: int | None
    vector: float | None
    vector_rank: int | None
    similarity: float | None
    date: float | None
    speaker_named: bool
    boosts: Boosts
    fused: float | None
    decay: float | None
    recency: float | None
    whose: float | None
    relevance: float | None
    signs: dict[str, float]
    features: dict[str, float]
    rerank: Rerank | None
    in_context: bool | None


BatchChangePage = Page["BatchChangeAnswer"]
BatchPage = Page["BatchAnswer"]
DailyEventPage = Page["DailyEventAnswer"]
DeliveryPage = Page["DeliveryAnswer"]
EntryPage = Page["EntryAnswer"]
RevisionPage = Page["RevisionAnswer"]
SessionEventPage = Page["SessionEventAnswer"]
SessionPage = Page["SessionAnswer"]
WebhookPage = Page["WebhookAnswer"]

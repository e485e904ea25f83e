/** What calls take and answer. Made by generate_typescript.py from the API's description. */

/** A part of a list; `cursor` asks for the next one, and is null on the last. */
export interface Page<T> {
  results: T[];
  next: string | null;
  cursor: string | null;
}

/** Where a message comes from, as the bot's platform names it. */
export interface AddressField {
  /**
   * One of cli, dingtalk, discord, email, lark, line, matrix, mem0, messenger, qq, signal, slack, sms, teams,
   * telegram, web, wechat, wecom, whatsapp; or another that has a channel of its own.
   */
  platform: string;
  account?: string | null;
  /** Who speaks, by an id. Without it a direct chat is with whom it was before, else it is refused. */
  peer?: string | null;
  chat?: string | null;
  /** Default: `false`. */
  is_group?: boolean;
  thread?: string | null;
}

/** An address to be resolved. */
export interface AddressRequest {
  address: AddressField;
}

/** The messages that were appended, without those that were there already. */
export interface AppendedAnswer {
  /** null: only the database knows. */
  session: SessionAnswer | null;
  events: SessionEventAnswer[];
  directives: DirectiveAnswer[];
  /** `database`: accepted, and in the database once that is back; `files`: the channel's files have it. */
  degraded: string[];
}

/** A bundle of changes made by one run or one action. */
export interface BatchAnswer {
  id: string;
  scope: string | null;
  name: string;
  run: string;
  by: string;
  reason: string;
  state: BatchState;
  held_because: HeldReason[];
  /** Who approved or refused it. */
  decided_by: string;
  counts: unknown;
  cost: unknown;
  undoes: string | null;
  created_at: string;
  applied_at: string | null;
  closed_at: string | null;
}

/** What one row of a batch does to its entry. */
export interface BatchChangeAnswer {
  position: number;
  verb: BatchChangeAnswerVerbEnum;
  entry: string | null;
  /** The event of a day, where the row is about one. */
  event: string | null;
  expected_version: number | null;
  state: ChangeState;
  /**
   * What became of a row that was not simply made.
   * * `changed` - changed
   * * `gone` - gone
   * * `already` - already
   * * `removed` - removed
   * * `suppressed` - suppressed
   * * `erased` - erased
   * * `unstorable` - unstorable
   * * `no_successor` - no_successor
   * * `quarantined` - quarantined
   * * `stands` - stands
   * * `merged` - merged
   * * `skipped` - skipped
   * * `note` - note
   */
  note: NoteEnum | null;
  note_details: RowNoteDetails | null;
  /** Of what is created or changed. */
  draft: unknown;
  /** The words of the entry before. */
  content: string | null;
  /** Runs of words: = stay, - go, + come. Null where the words stay. */
  diff: string[][] | null;
  changes: ColumnChange[];
  slots: SlotChange[];
  /** The entry that takes its place. */
  into: string | null;
  /** The row that makes what takes its place. */
  into_position: number | null;
  /** What becomes part of what it makes. */
  sources: string[];
}

export type BatchChangeAnswerVerbEnum = "create" | "change" | "merge" | "expire" | "archive" | "restore" | "supersede" | "undo" | "quarantine" | "purge" | "tell" | "policy";

export type BatchChangePage = Page<BatchChangeAnswer>;

export type BatchPage = Page<BatchAnswer>;

export type BatchState = "proposed" | "applying" | "applied" | "undone" | "refused";

/** A batch and a page of its changes. */
export interface BatchWithChanges {
  id: string;
  scope: string | null;
  name: string;
  run: string;
  by: string;
  reason: string;
  state: BatchState;
  held_because: HeldReason[];
  /** Who approved or refused it. */
  decided_by: string;
  counts: unknown;
  cost: unknown;
  undoes: string | null;
  created_at: string;
  applied_at: string | null;
  closed_at: string | null;
  /** Batches that took it back. */
  undone_by: string[];
  changes: BatchChangePage;
}

/** A message as the client remembers it. */
export interface BelievedMessage {
  role: MessageRole;
  content: string;
}

/** What was added because the question names who said it, or when. */
export interface Boosts {
  speaker: number;
  date: number;
}

/** What became of a candidate; without an id it was left out, and `reason` says why. */
export interface CandidateAnswer {
  id: string | null;
  type: EntryType | null;
  scope: string | null;
  outcome: OutcomeEnum | null;
  /** no_scope, out_of_reach, taken_out */
  reason: string | null;
}

/** What became of a turn in one scope. */
export interface CapturedEntry {
  id: string;
  type: EntryType;
  scope: string;
  outcome: OutcomeEnum;
  /** The user asked for it to be remembered: it has no end of its own. */
  kept: boolean;
  /**
   * Of what is suppressed: people took it out; saving it on purpose brings it back.
   * * `taken_out` - taken_out
   * * `erased` - erased
   * * `quarantined` - quarantined
   */
  reason: ReasonEnum | null;
  /** People had taken these words out before, and the user asks anew for them to be remembered. */
  brought_back: boolean;
}

export type CategoryEnum = "identity" | "config" | "credential" | "decision" | "solution" | "event" | "conversation" | "temp" | "debug";

export type ChangeState = "planned" | "applied" | "left" | "undone";

/** What many entries may be given at once. */
export interface ChangedAttributes {
  category?: CategoryEnum | "";
  project?: string;
  topic?: string;
  importance?: number;
  pinned?: boolean;
  expires_at?: Date | string | null;
}

/** A channel with its rules. */
export interface ChannelAnswer {
  id: string;
  platform: string;
  account: string;
  label: string;
  dm_scope: DmScopeEnum | "";
  session_mode: SessionModeEnum;
  session_prefix: string;
  max_tokens: number | null;
  group_sessions: GroupSessionsEnum;
  group_prefix: string;
  capture_group_memory: boolean | null;
  group_user_recall: GroupUserRecallEnum | "";
  secrets: SecretsEnum | "";
  need: NeedEnum;
  serve: "likely" | "wide" | number | null;
  path_mode: PathModeEnum;
  transcripts: boolean | null;
  version: number;
  created_at: string;
}

/** A message of the group that was not meant for the bot. */
export interface ChatMessageAnswer {
  sender: string;
  sender_name: string | null;
  content: string;
  at: string;
}

/** One column before and after; of the content also word by word. */
export interface ColumnChange {
  column: string;
  old: unknown;
  new: unknown;
  /** Runs of words: = stayed, - went, + came. */
  diff?: string[][];
}

/** The worker will compact the conversation. */
export interface CompactAnswer {
  session: SessionAnswer;
  /** False: there is nothing to compact. */
  queued: boolean;
}

/** How the two ways to recall compare. */
export interface ComparisonAnswer {
  /** That were asked of both. */
  recalls: number;
  /** Recalls for which the two do not give the same. */
  differing: number;
  /** Memories both found. */
  both: number;
  only_database: number;
  only_files: number;
  /** Of the differing ones, the newest. */
  examples: ComparisonExample[];
}

/** A recall for which the two differ. */
export interface ComparisonExample {
  at: string;
  platform: string;
  account: string;
  recall_id: string | null;
  message: string;
  both: number;
  only_database: OnlyInDatabase[];
  only_files: OnlyInFiles[];
}

/** Everything that was found worth a place in the prompt; never more than the budget. */
export interface ContextAnswer {
  /** The database is away: this is what a replica had at `replayed_at`. Else left out. */
  stale?: boolean;
  /** With `stale`: when the last change the replica has was made. */
  replayed_at?: string;
  recall_id: string | null;
  session: ContextSession;
  need: NeedAnswer;
  evidence: EvidenceEnum;
  /** What bears on the message best is said by `history` itself. */
  in_history: boolean;
  profile: ProfileFactAnswer[];
  memories: RecalledMemory[];
  events: RecalledEvent[];
  /** At the first turn of a conversation; of files, those of the last days. */
  notes: NoteAnswer[];
  /** Of groups only. */
  recent_chat: ChatMessageAnswer[];
  history: ContextMessageAnswer[];
  directives: DirectiveAnswer[];
  /** To be given to the user: the message is a command. */
  reply: string | null;
  /** Ready-made system text: all but the history. */
  text: string;
  /** Of the text and the history. */
  tokens: number;
  degraded: string[];
}

/** One message of the history. */
export interface ContextMessageAnswer {
  position: number;
  role: MessageRole;
  sender: string;
  sender_name: string | null;
  content: string;
  at: string;
}

/** A message that is about to be answered. */
export interface ContextRequest {
  address: AddressField;
  message: string;
  token_budget?: number;
  limit?: number | null;
  need?: NeedEnum;
  /** What is `likely` to help, all that may, or from which relevance on; null: the channel's, else likely. */
  serve?: "likely" | "wide" | number | null;
  include_session_events?: boolean;
  /** Budget of the history. */
  max_tokens?: number | null;
  /** The messages just before, oldest first, by which «she», «there» or «and when?» are understood. */
  recent?: RecentMessage[] | null;
  /**
   * The messages before this one that the bot keeps and gives its model itself, oldest first: `history` is empty
   * then, no flush is asked for, and what they say is not told again.
   */
  client_history?: RecentMessage[] | null;
  /** The model has the tools of GET /tools: the text tells when to use them. Default: `false`. */
  tools?: boolean;
}

/** The conversation the message belongs to; without an id it has not been heard of. */
export interface ContextSession {
  id: string | null;
  key: string;
  /** null: only the database knows. */
  conversation: number | null;
  /** Of all of its history. */
  tokens: number;
  max_tokens: number;
  /** null: only the database knows. */
  is_first_turn: boolean | null;
}

export type CopiesEnum = "all" | "none";

/** Another entry that rests on the same messages, as it stands now. */
export interface CopyAnswer {
  id: string;
  scope: string;
  type: EntryType;
  state: EntryState;
}

/** What happened on one local day, as far as one conversation tells. */
export interface DailyEventAnswer {
  id: string;
  scope: string;
  /** In the workspace's time zone. */
  date: string;
  content: string;
  source: SourceEnum;
  /** Where it was said; of a user scope. */
  chats: string[];
  version: number;
  created_at: string;
  updated_at: string;
  /**
   * The least trusted of the memories that rest on its messages; null: none of them is kept.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  trust: OriginEnum | null;
}

export type DailyEventPage = Page<DailyEventAnswer>;

/** One event for one webhook. */
export interface DeliveryAnswer {
  /** The `webhook-id` it is sent with. */
  id: string;
  webhook: string;
  event: EventEnum;
  /** Of the memory or batch; null: of none, or gone. */
  subject: string | null;
  /** Of the memory, after the change. */
  version: number;
  by: string;
  details: Record<string, unknown>;
  state: DeliveryAnswerStateEnum;
  attempts: number;
  /** Of the receiver's last answer. */
  status: number | null;
  problem: ProblemEnum | "";
  /** The same in a sentence for people, in the language of the request. */
  problem_text: string;
  at: string;
  /** When it was made, or sent again. */
  queued_at: string;
  retry_at: string | null;
  sent_at: string | null;
}

export type DeliveryAnswerStateEnum = "waiting" | "sent" | "failed";

export type DeliveryPage = Page<DeliveryAnswer>;

/** What the bot is to do next. */
export interface DirectiveAnswer {
  kind: string;
  instruction: string;
}

export type DmScopeEnum = "main" | "per-peer" | "per-channel-peer" | "per-account-channel-peer";

/** A memory. */
export interface EntryAnswer {
  id: string;
  scope: string;
  type: EntryType;
  subtype: string;
  tier: number | null;
  category: CategoryEnum | "";
  project: string;
  topic: string;
  /** What it is about, and its other names. */
  names: string[];
  content: string;
  slots: Record<string, string>;
  /** The newer memory that makes this line of the profile untrue: it is not handed out. */
  contradicted_by: string | null;
  /**
   * Of a model's fact. `verified`: a second reading found it borne out by the words it quotes; `quoted`: it rests
   * on them alone. Empty: no model stated it.
   * * `` - Not a model's
   * * `quoted` - Quoted
   * * `verified` - Verified
   */
  verification: VerificationEnum | "";
  /**
   * How its words speak to the model that reads them: `forged`, `link`, `override` or `order`. No group is told
   * it, and it enters no profile. Empty: it speaks of the world.
   * * `` - Speaks of the world
   * * `forged` - Passes for a part of the prompt
   * * `link` - Has something fetched
   * * `override` - Sets aside what the model was told
   * * `order` - Gives the model a standing order
   */
  suspect: SuspectEnum | "";
  /** Of a model's fact: the words it rests on, in the order they were said. */
  evidence: EvidenceAnswer[];
  /** Of the file it is a line of; empty: of none. */
  path: string;
  line_from: number | null;
  line_to: number | null;
  /** The headings its line stands under. */
  heading: string;
  importance: number;
  source: SourceEnum;
  /**
   * Who it comes from.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  origin: OriginEnum;
  /**
   * The least trusted of all it rests on.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  trust: OriginEnum;
  /** Whom or what it is about; empty: the person, or nobody knows. */
  subject: string;
  state: EntryState;
  pinned: boolean;
  version: number;
  created_at: string;
  stated_at: string;
  updated_at: string;
  expires_at: string | null;
  review_at: string | null;
  expired_at: string | null;
  archived_at: string | null;
}

export type EntryPage = Page<EntryAnswer>;

export type EntryState = "live" | "due" | "expired" | "archived" | "superseded" | "quarantined" | "suppressed";

export type EntryType = "chat_turn" | "auto_capture" | "workflow_trace" | "user_explicit" | "fact" | "note";

/** A memory, and the copies of it that went or came with it, or stayed. */
export interface EntryWithCopies {
  id: string;
  scope: string;
  type: EntryType;
  subtype: string;
  tier: number | null;
  category: CategoryEnum | "";
  project: string;
  topic: string;
  /** What it is about, and its other names. */
  names: string[];
  content: string;
  slots: Record<string, string>;
  /** The newer memory that makes this line of the profile untrue: it is not handed out. */
  contradicted_by: string | null;
  /**
   * Of a model's fact. `verified`: a second reading found it borne out by the words it quotes; `quoted`: it rests
   * on them alone. Empty: no model stated it.
   * * `` - Not a model's
   * * `quoted` - Quoted
   * * `verified` - Verified
   */
  verification: VerificationEnum | "";
  /**
   * How its words speak to the model that reads them: `forged`, `link`, `override` or `order`. No group is told
   * it, and it enters no profile. Empty: it speaks of the world.
   * * `` - Speaks of the world
   * * `forged` - Passes for a part of the prompt
   * * `link` - Has something fetched
   * * `override` - Sets aside what the model was told
   * * `order` - Gives the model a standing order
   */
  suspect: SuspectEnum | "";
  /** Of a model's fact: the words it rests on, in the order they were said. */
  evidence: EvidenceAnswer[];
  /** Of the file it is a line of; empty: of none. */
  path: string;
  line_from: number | null;
  line_to: number | null;
  /** The headings its line stands under. */
  heading: string;
  importance: number;
  source: SourceEnum;
  /**
   * Who it comes from.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  origin: OriginEnum;
  /**
   * The least trusted of all it rests on.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  trust: OriginEnum;
  /** Whom or what it is about; empty: the person, or nobody knows. */
  subject: string;
  state: EntryState;
  pinned: boolean;
  version: number;
  created_at: string;
  stated_at: string;
  updated_at: string;
  expires_at: string | null;
  review_at: string | null;
  expired_at: string | null;
  archived_at: string | null;
  copies: CopyAnswer[];
}

/** A memory, what it was made from, and what it became. */
export interface EntryWithLineage {
  id: string;
  scope: string;
  type: EntryType;
  subtype: string;
  tier: number | null;
  category: CategoryEnum | "";
  project: string;
  topic: string;
  /** What it is about, and its other names. */
  names: string[];
  content: string;
  slots: Record<string, string>;
  /** The newer memory that makes this line of the profile untrue: it is not handed out. */
  contradicted_by: string | null;
  /**
   * Of a model's fact. `verified`: a second reading found it borne out by the words it quotes; `quoted`: it rests
   * on them alone. Empty: no model stated it.
   * * `` - Not a model's
   * * `quoted` - Quoted
   * * `verified` - Verified
   */
  verification: VerificationEnum | "";
  /**
   * How its words speak to the model that reads them: `forged`, `link`, `override` or `order`. No group is told
   * it, and it enters no profile. Empty: it speaks of the world.
   * * `` - Speaks of the world
   * * `forged` - Passes for a part of the prompt
   * * `link` - Has something fetched
   * * `override` - Sets aside what the model was told
   * * `order` - Gives the model a standing order
   */
  suspect: SuspectEnum | "";
  /** Of a model's fact: the words it rests on, in the order they were said. */
  evidence: EvidenceAnswer[];
  /** Of the file it is a line of; empty: of none. */
  path: string;
  line_from: number | null;
  line_to: number | null;
  /** The headings its line stands under. */
  heading: string;
  importance: number;
  source: SourceEnum;
  /**
   * Who it comes from.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  origin: OriginEnum;
  /**
   * The least trusted of all it rests on.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  trust: OriginEnum;
  /** Whom or what it is about; empty: the person, or nobody knows. */
  subject: string;
  state: EntryState;
  pinned: boolean;
  version: number;
  created_at: string;
  stated_at: string;
  updated_at: string;
  expires_at: string | null;
  review_at: string | null;
  expired_at: string | null;
  archived_at: string | null;
  /** What it was made from, or replaced. */
  sources: Relative[];
  /** What it has become part of, or a source of, or what replaced it. */
  became: Relative[];
  /** The messages it rests on: `session_events/<session>/<conversation>/event-<id>`. */
  origins: string[];
  times_recalled: number;
  last_recalled_at: string | null;
  /** How often it was repeated. */
  times_repeated: number;
}

/** What every error looks like. */
export interface ErrorAnswer {
  type: ErrorType;
  errors: ErrorItem[];
}

/** One thing that is wrong. */
export interface ErrorItem {
  /** A word a client can act on. */
  code: string;
  /** A sentence for people. */
  detail: string;
  /** The field it is about, dotted when inside another. */
  attr: string | null;
}

export type ErrorType = "validation_error" | "client_error" | "server_error";

export type EventEnum = "memory.created" | "memory.updated" | "memory.expired" | "review.due" | "batch.held" | "job.failed" | "degraded" | "test";

/** A session event a past recall found; its words are in its session. */
export interface EventOfTrace {
  path: string;
  score: number;
  /** A served memory that rests on it. */
  memory: string | null;
  /** Share of the question's telling words it holds. */
  words: number | null;
  /** To the question; null: it was not compared. */
  similarity: number | null;
  /** Of the event of a day, at the time. */
  version: number | null;
}

export type EventsEnum = "memory.created" | "memory.updated" | "memory.expired" | "review.due" | "batch.held" | "job.failed" | "degraded";

/** Words of a message a fact rests on. */
export interface EvidenceAnswer {
  quote: string;
  /** The message: `session_events/<session>/<conversation>/event-<id>`. */
  event: string;
  /** When it was said. */
  at: string;
  /** Who said it, as people call them. */
  speaker: string;
}

export type EvidenceEnum = "found" | "weak" | "none";

/** Some lines, word for word. */
export interface ExcerptAnswer {
  /** Without the line it may have named. */
  path: string;
  source: SearchSource;
  /** How many lines `text` has. */
  lines: number;
  /** Empty where there is nothing. */
  text: string;
  found: boolean;
  /** There is more after these lines. */
  truncated: boolean;
  /** The line to go on from. */
  next: number | null;
  /** When it was said or written; null: nobody knows. */
  at: string | null;
  /** Who said it, as people call them; `User` is whoever asks. */
  speaker: string;
  /** Where it cannot be read at the moment: a sentence that says so. */
  note: string;
  degraded: string[];
  /** The first of these lines. */
  from: number;
}

/** The served entries an answer used; none of them: an empty list. */
export interface Feedback {
  used: string[];
  note?: string;
}

/** The feedback on a recall. */
export interface FeedbackAnswer {
  recall_id: string;
  used: string[];
  note: string;
}

/** Files, those changed last first. */
export interface FileListAnswer {
  files: ListedFileAnswer[];
  /** How many there are in all. */
  total: number;
  /** The number to go on `from`. */
  next: number | null;
  degraded: string[];
}

/** A flush that is recorded. */
export interface FlushAnswer {
  session: SessionAnswer;
  /** Null: there was nothing the platform could flush, or it is still to come. */
  id: string | null;
  /** The position of the last message it knew. */
  up_to: number;
  counts: Record<string, number>;
  candidates: CandidateAnswer[];
  /** The worker will flush what is left. */
  queued: boolean;
}

export type FormEnum = "openai" | "openai_responses" | "anthropic" | "mcp";

export type FormatEnum = "memplatform" | "mem0";

export type GroupSessionsEnum = "shared" | "per_member";

export type GroupUserRecallEnum = "none" | "same_chat" | "all";

/** Why a batch waits for a person. */
export interface HeldReason {
  code: string;
  /** What the sentence counts. */
  figures: Record<string, unknown>;
  /** A sentence for people. */
  text: string;
}

/** One message of the history, as models take it. */
export interface HistoryLine {
  role: string;
  content: string;
}

/** One message of a history. */
export interface HistoryMessageAnswer {
  position: number;
  role: MessageRole;
  sender: string;
  content: string;
  data: Record<string, unknown>;
  at: string;
}

/** A candidate that was not served, and why. */
export interface LeftOutMemory {
  id: string | null;
  type: EntryType | null;
  scope: string | null;
  content: string | null;
  /**
   * How its words speak to the model that reads them: `forged`, `link`, `override` or `order`. No group is told
   * it, and it enters no profile. Empty: it speaks of the world.
   * * `` - Speaks of the world
   * * `forged` - Passes for a part of the prompt
   * * `link` - Has something fetched
   * * `override` - Sets aside what the model was told
   * * `order` - Gives the model a standing order
   */
  suspect: SuspectEnum | "" | null;
  sender: string | null;
  sender_name: string | null;
  slots: Record<string, string> | null;
  /**
   * Who it comes from.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  origin: OriginEnum | null;
  /**
   * The least trusted of all it rests on.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  trust: OriginEnum | null;
  created_at: string | null;
  score: number | null;
  /** How likely it is to help, 0–1; null: not known. */
  relevance: number | null;
  /** The newer memory that corrects this one. */
  superseded_by_newer: string | null;
  why: Why | null;
  reason: string;
}

/** A file that can be read. */
export interface ListedFileAnswer {
  /** For memory_get. */
  path: string;
  kind: ListedFileAnswerKindEnum;
  scope: string;
  bytes: number;
  /** When it was changed last. */
  at: string;
}

export type ListedFileAnswerKindEnum = "note" | "transcript";

/**
 * Add lines to the end of a note of memory, today's unless you name another. Nothing that stands there is
 * changed. For a running list or a log kept in a note of its own; to simply remember something use memory_save.
 */
export interface MemoryAppendRequest {
  address?: AddressField;
  scope?: string;
  /** What to add, in the user's language; full sentences that stand by themselves. At most 8,000 characters. */
  content: string;
  /** The note, under memory/, as memory_search or memory_get named it. Leave it out for today's note. */
  path?: string | null;
}

/**
 * Read what a path of memory_search leads to, word for word: lines of a note, a memory, a day, or one earlier
 * message. Call it BEFORE you give an exact figure, date, setting or quote, and when a result was cut. Only
 * paths that memory_search or the context gave you; never make one up.
 */
export interface MemoryGetRequest {
  address?: AddressField;
  scope?: string;
  /** The path as it was given, with or without its line: memory/2026-11-23.md:12, entries/…. */
  path: string;
  /** The first line to read, from 1; the line of the path unless you say otherwise. */
  from?: number | null;
  /** How many lines, at most 300; 40 unless you say otherwise. */
  lines?: number | null;
}

/**
 * List the files of memory that can be read here, changed last first, each with its path, its size and when it
 * was changed. Call it when the user asks which notes there are, or before lines are added to a note whose path
 * you do not know. To find something in them use memory_search.
 */
export interface MemoryListRequest {
  address?: AddressField;
  scope?: string;
  /** The number of the first file to list, from 1; for the rest of a long list. */
  from?: number | null;
}

/**
 * Save something to long-term memory. Call it when the user asks to remember, note or save something, and when
 * they settle what will still matter later: a decision, a preference, a plan. Save what was said, in one or two
 * full sentences that stand by themselves; nothing guessed, no passwords unless the user insists. Say that it is
 * remembered only after this tool has said «Saved».
 */
export interface MemorySaveRequest {
  address?: AddressField;
  scope?: string;
  /**
   * What to remember, in the user's language. Write who, what and when: names instead of «she», dates instead of
   * «tomorrow». At most 8,000 characters.
   */
  content: string;
  /**
   * daily: what happened or is to be done, into today's note. long-term: what stays true, such as who somebody is,
   * what they like, what was decided for good.
   * * `daily` - daily
   * * `long-term` - long-term Default: `"daily"`.
   */
  target?: TargetEnum;
}

/**
 * Search long-term memory: notes, remembered facts, what happened on past days, and what was said earlier, word
 * for word. Call it BEFORE you answer anything about the past: earlier work, decisions, preferences, people,
 * dates, plans, to-dos, or when the user says «last time», «yesterday», «do you remember». The conversation you
 * see is not all of it. If nothing is found, or not enough, say that you searched and did not find it. Never
 * present a guess as a memory.
 */
export interface MemorySearchRequest {
  address?: AddressField;
  scope?: string;
  /**
   * What to look for, as a question or telling words, in the user's language. Name people, things and days
   * («yesterday», «in March») instead of «she» or «it»: the search does not see the conversation.
   */
  query: string;
  /** At most so many results, 1 to 50; 8 unless you say otherwise. */
  max_results?: number | null;
  /** What scores less is no result. */
  min_score?: number | null;
  /**
   * By words and meaning (hybrid), by either, or by words as typed.
   * * `hybrid` - hybrid
   * * `vector` - vector
   * * `keyword` - keyword
   * * `fts` - fts
   */
  mode?: ModeEnum | null;
  /** Whether messages and days are searched as well. */
  include_session_events?: boolean | null;
}

/**
 * Correct one line of a note, or a memory that was saved, where it stands. Call it when the user says that
 * something remembered is wrong or has changed, and memory_search or memory_get has shown where it stands; say
 * what you changed. The words before are kept in its history. What is no longer wanted at all is not for this
 * tool, and new things go to memory_save.
 */
export interface MemoryUpdateRequest {
  address?: AddressField;
  scope?: string;
  /** Where it stands: a note with its line, such as memory/2026-11-23.md:12, or the path of the memory, entries/…. */
  path: string;
  /**
   * What it is to say from now on, whole, in the user's language, without the sign of a list before it. At most
   * 8,000 characters.
   */
  content: string;
}

/** Where a message was written: to be given back as it is with calls about it. */
export interface MessageAddress {
  platform: string;
  account: string;
  peer: string;
  chat: string;
  is_group: boolean;
  thread: string;
}

/** What memory knows on a message, as POST /context tells it. */
export interface MessageContext {
  recall_id: string | null;
  /** Ready-made system text: all but the history. */
  text: string;
  history: HistoryLine[];
}

/** The bot's answer; empty: it says nothing. */
export interface MessageReply {
  text: string;
}

export type MessageRole = "user" | "assistant" | "tool" | "summary";

export type ModeEnum = "hybrid" | "vector" | "keyword" | "fts";

/** Whether the message needed memory, and by which rule. */
export interface NeedAnswer {
  retrieve: boolean;
  rule: string;
}

export type NeedEnum = "auto" | "off";

/** What is to become of entries of one scope. */
export interface NewBatch {
  scope: string;
  verb: NewBatchVerbEnum;
  entries: string[];
  /** Of merge: the entry that stays. */
  into?: string;
  /** Of merge: what it is to say then. */
  content?: string;
  /** Of change. */
  columns?: ChangedAttributes;
  /** Of change; null takes a slot away. */
  slots?: Record<string, string | null>;
  /** Of restore; null: as the policy. */
  term_days?: number | null;
  reason?: string;
  /** Plan only: the batch waits for somebody to approve it. Default: `false`. */
  dry_run?: boolean;
}

export type NewBatchVerbEnum = "expire" | "archive" | "restore" | "merge" | "change";

/** What is worth remembering, and the positions of the messages it rests on. */
export interface NewCandidate {
  category?: CategoryEnum | "";
  importance?: number | null;
  project?: string;
  topic?: string;
  content: string;
  type?: NewCandidateTypeEnum;
  rests_on?: number[];
  /** Words of these messages. */
  quote?: string[];
  /** Whom or what it is about. Default: `"speaker"`. */
  subject?: string;
  slots?: Record<string, string>;
}

export type NewCandidateTypeEnum = "fact" | "auto_capture";

/** A memory a bot saves on purpose: into a scope, or from where somebody asked for it. */
export interface NewEntry {
  category?: CategoryEnum | "";
  importance?: number | null;
  project?: string;
  topic?: string;
  scope?: string;
  address?: AddressField;
  /**
   * With `address`: the speaker's memory (`user`, the default) or the group's (`chat`).
   * * `user` - User
   * * `chat` - Chat
   */
  scope_kind?: ScopeKindEnum | null;
  type?: EntryType;
  content: string;
  /** What it is about, and its other names: `["Kubernetes", "k8s"]`. */
  names?: string[];
  slots?: Record<string, string>;
  /** Of facts: 1, the profile, or 2. */
  tier?: number | null;
  source?: SourceEnum;
  /**
   * Whose words, but `operator`: no key speaks for one. Left out: `bot`, or as `source` says.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  origin?: OriginEnum;
  /** Whom or what it is about, if not the person. */
  subject?: string;
  /** Default: `false`. */
  pinned?: boolean;
  expires_at?: Date | string | null;
  at?: Date | string | null;
}

/** A message as a bot reports it. */
export interface NewEvent {
  kind: NewEventKindEnum;
  content: string;
  sender?: string;
  /** What people call the sender; not kept without one. */
  sender_name?: string | null;
  at?: Date | string | null;
  /** What else came along, such as a tool's call. */
  data?: Record<string, unknown>;
}

export type NewEventKindEnum = "user" | "assistant" | "tool" | "ambient";

/** Messages to append, and the history the client believes to come before them. */
export interface NewEvents {
  events?: NewEvent[];
  history?: BelievedMessage[] | null;
  /** Budget of the history. */
  max_tokens?: number | null;
}

/** What a bot took out of a conversation; with neither, the platform does it itself. */
export interface NewFlush {
  /** Of this schema. */
  version: number;
  reply?: ReplyEnum | null;
  candidates?: NewCandidate[];
  /** For the session to go on with. */
  continue?: string | null;
}

/** The rules that are to hold; what is not named stays. Empty or null: the platform's default. */
export interface NewRules {
  label?: string;
  dm_scope?: DmScopeEnum | "" | null;
  session_mode?: SessionModeEnum;
  session_prefix?: string;
  max_tokens?: number | null;
  group_sessions?: GroupSessionsEnum;
  group_prefix?: string;
  capture_group_memory?: boolean | null;
  group_user_recall?: GroupUserRecallEnum | "" | null;
  secrets?: SecretsEnum | "" | null;
  need?: NeedEnum;
  /** Where a call says none; null: as the call has it. */
  serve?: "likely" | "wide" | number | null;
  path_mode?: PathModeEnum;
  transcripts?: boolean | null;
}

/** A tool the bot used to answer. */
export interface NewToolCall {
  name: string;
  arguments?: unknown;
  result?: unknown;
}

/** A finished turn. */
export interface NewTurn {
  address: AddressField;
  user?: string;
  assistant?: string;
  at?: Date | string | null;
  tool_calls?: NewToolCall[] | null;
  outcome?: string | null;
  recall_id?: string | null;
  /** Entries of that recall the answer rested on, as in its feedback. */
  used?: string[] | null;
  /** What people call the peer. */
  sender_name?: string | null;
  slots?: Record<string, string>;
  /** Budget of the history. */
  max_tokens?: number | null;
}

/** Where to send what. */
export interface NewWebhook {
  /** `https://…` */
  url: string;
  events: EventsEnum[];
  /** What it is for. */
  name?: string;
  /** Send the words of memories in use, except credentials. Needs the permission read. */
  with_content?: boolean;
  /**
   * `mem0`: of memory.created, memory.updated, memory.expired alone.
   * * `memplatform` - memplatform
   * * `mem0` - as mem0 sends it (memories only)
   */
  format?: FormatEnum;
  is_enabled?: boolean;
}

/** Of which connection the next message is wanted. */
export interface NextMessage {
  platform: string;
  account?: string;
}

/** The next message, if there is one. */
export interface NextMessageAnswer {
  message: OfferedMessage | null;
}

/** What is noted of one local day. */
export interface NoteAnswer {
  date: string;
  scope: string;
  content: string;
  /** There is more of that day. */
  cut: boolean;
}

export type NoteEnum = "changed" | "gone" | "already" | "removed" | "suppressed" | "erased" | "unstorable" | "no_successor" | "quarantined" | "stands" | "merged" | "skipped" | "note";

/** A message that waits for an answer. */
export interface OfferedMessage {
  id: string;
  at: string;
  address: MessageAddress;
  sender_name: string;
  message: string;
  context: MessageContext;
}

/** A memory the files did not give. */
export interface OnlyInDatabase {
  id: string;
  /** Of a line of a file; else empty. */
  path: string;
  line: number | null;
  content: string;
}

/** A line of a file the database did not give. */
export interface OnlyInFiles {
  path: string;
  line: number;
  content: string;
}

export type OperationEnum = "created" | "changed";

export type OriginEnum = "operator" | "self" | "other" | "member" | "file" | "import" | "bot" | "tool";

export type OutcomeEnum = "created" | "merged" | "skipped" | "suppressed";

/** What is to change; what is not named stays. A slot is taken away by null. */
export interface PatchedEntryChange {
  category?: CategoryEnum | "";
  project?: string;
  topic?: string;
  importance?: number;
  pinned?: boolean;
  expires_at?: Date | string | null;
  content?: string;
  /** What it is about, and its other names: `["Kubernetes", "k8s"]`. */
  names?: string[];
  subject?: string;
  review_at?: Date | string | null;
  slots?: Record<string, string | null>;
}

/** Other words for a row of a plan, or its removal from it. */
export interface PatchedRowChange {
  content?: string;
  removed?: boolean;
}

/** What of a webhook is to be another. */
export interface PatchedWebhookChange {
  /** `https://…` */
  url?: string;
  events?: EventsEnum[];
  /** What it is for. */
  name?: string;
  /** Send the words of memories in use, except credentials. Needs the permission read. */
  with_content?: boolean;
  /**
   * `mem0`: of memory.created, memory.updated, memory.expired alone.
   * * `memplatform` - memplatform
   * * `mem0` - as mem0 sends it (memories only)
   */
  format?: FormatEnum;
  is_enabled?: boolean;
}

export type PathModeEnum = "hooks_only" | "legacy_only" | "dual_write";

export type ProblemEnum = "answer" | "timeout" | "connection" | "unknown_host" | "private" | "unencrypted" | "secret" | "gone";

/** A line of the profile. */
export interface ProfileFactAnswer {
  id: string;
  scope: string;
  category: CategoryEnum | "";
  content: string;
}

/** One message, unabridged; without content when there is none that may be shown. */
export interface ReadEventAnswer {
  path: string;
  found: boolean;
  scope: string;
  /**
   * null: not found.
   * * `user` - user
   * * `assistant` - assistant
   * * `tool` - tool
   */
  role: ReadRole | null;
  sender: string;
  /** Empty when there is no such message. */
  content: string;
  at: string | null;
}

export type ReadRole = "user" | "assistant" | "tool";

export type ReasonEnum = "taken_out" | "erased" | "quarantined";

/** The memories that bear on a message. */
export interface RecallAnswer {
  /** The database is away: this is what a replica had at `replayed_at`. Else left out. */
  stale?: boolean;
  /** With `stale`: when the last change the replica has was made. */
  replayed_at?: string;
  recall_id: string | null;
  need: NeedAnswer;
  evidence: EvidenceEnum;
  memories: RecalledMemory[];
  /** Of a question about the past: messages, word for word. */
  events: RecalledEvent[];
  context: string;
  tokens: number;
  degraded: string[];
  /** Asked a moment ago; nothing has changed since. */
  cached: boolean;
  /** The moment memory was asked as of. */
  as_of: string | null;
  /** With `as_of`: memories erased since, which can only be counted. */
  erased_since: number | null;
  /** With `explain`. */
  left_out?: LeftOutMemory[];
}

/** A question to memory: from an address, or about one scope. */
export interface RecallRequest {
  address?: AddressField;
  scope?: string;
  message: string;
  limit?: number | null;
  mode?: ModeEnum;
  types?: EntryType[] | null;
  filters?: Record<string, string> | null;
  project?: string | null;
  topic?: string | null;
  since?: Date | string | null;
  until?: Date | string | null;
  /** Memory as it was at this moment; null: as it is. */
  as_of?: Date | string | null;
  need?: NeedEnum;
  /** What is `likely` to help, all that may, or from which relevance on; null: the channel's, else wide. */
  serve?: "likely" | "wide" | number | null;
  /** Default: `true`. */
  quotas?: boolean;
  token_budget?: number;
  include_session_events?: boolean;
  /** Default: `false`. */
  explain?: boolean;
  /** Default: `true`. */
  cache?: boolean;
  /** The messages just before, oldest first, by which «she», «there» or «and when?» are understood. */
  recent?: RecentMessage[] | null;
}

/** A past recall: its message, what was served and left out, and why. */
export interface RecallTraceAnswer {
  recall_id: string;
  message: string;
  at: string;
  bot: string | null;
  scopes: string[];
  session_key: string;
  mode: string;
  /** What was asked for besides the message. */
  asked: Record<string, unknown>;
  /** By which rule it needed memory, or did not. */
  rule: string;
  /** The verdict and the signs it was drawn from. */
  evidence: Record<string, unknown>;
  memories: RecordedMemory[];
  left_out: RecordedLeftOut[];
  events: EventOfTrace[];
  /** Whether the candidates were kept. */
  sampled: boolean;
  weights: Record<string, number>;
  /** The recall whose answer was given again. */
  cached_from: string | null;
  /** Milliseconds by step. */
  timings: Record<string, number>;
  tokens: number;
  degraded: string[];
  used: string[] | null;
  /** By the words of the answer. */
  pointed_to: string[] | null;
  note: string;
}

/** A message, or an event of a day, with the path that proves it. */
export interface RecalledEvent {
  kind: RecalledEventKindEnum;
  /** session_events/<session>/<conversation>/event-<id>, or daily_events/<id> */
  path: string;
  scope: string;
  role: RecalledEventRoleEnum;
  sender: string;
  /** What people call the sender. */
  sender_name: string | null;
  /** Shortened when it is long. */
  content: string;
  cut: boolean;
  at: string;
  /** By words, meaning and days; 0.1: by its day only. */
  score: number;
  /** Share of the question's telling words it holds. */
  words: number;
  /** To the question; null: it was not compared. */
  similarity: number | null;
  /** A served memory that rests on it. */
  memory: string | null;
}

export type RecalledEventKindEnum = "session_event" | "daily_event";

export type RecalledEventRoleEnum = "user" | "assistant" | "summary";

/** A memory that bears on the message. */
export interface RecalledMemory {
  /** null: a line of a file, which its slots name. */
  id: string | null;
  type: EntryType;
  scope: string;
  content: string;
  /** The id of who said it; null: nobody knows. */
  sender: string | null;
  /** What people call the sender. */
  sender_name: string | null;
  slots: Record<string, string>;
  /**
   * Who it comes from.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  origin: OriginEnum;
  /**
   * The least trusted of all it rests on.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  trust: OriginEnum;
  /**
   * Of a model's fact. `verified`: a second reading found it borne out by the words it quotes; `quoted`: it rests
   * on them alone. Empty: no model stated it.
   * * `` - Not a model's
   * * `quoted` - Quoted
   * * `verified` - Verified
   */
  verification: VerificationEnum | "";
  /**
   * How its words speak to the model that reads them: `forged`, `link`, `override` or `order`. No group is told
   * it, and it enters no profile. Empty: it speaks of the world.
   * * `` - Speaks of the world
   * * `forged` - Passes for a part of the prompt
   * * `link` - Has something fetched
   * * `override` - Sets aside what the model was told
   * * `order` - Gives the model a standing order
   */
  suspect: SuspectEnum | "";
  /** Of a model's fact: the words it rests on, in the order they were said. */
  evidence: EvidenceAnswer[];
  /** null: a line of a file that says no time. */
  created_at: string | null;
  score: number;
  /** How likely it is to help, 0–1; null: not known. */
  relevance: number | null;
  /** The newer memory that corrects this one. */
  superseded_by_newer: string | null;
  why: Why;
}

/** A message just before the one that is asked; of a long one its beginning and its end are read. */
export interface RecentMessage {
  role: RecentMessageRoleEnum;
  content: string;
}

export type RecentMessageRoleEnum = "user" | "assistant";

/** A candidate that was not served, in the words it had then, and why. */
export interface RecordedLeftOut {
  id: string | null;
  type: EntryType | null;
  scope: string | null;
  content: string | null;
  /**
   * How its words speak to the model that reads them: `forged`, `link`, `override` or `order`. No group is told
   * it, and it enters no profile. Empty: it speaks of the world.
   * * `` - Speaks of the world
   * * `forged` - Passes for a part of the prompt
   * * `link` - Has something fetched
   * * `override` - Sets aside what the model was told
   * * `order` - Gives the model a standing order
   */
  suspect: SuspectEnum | "" | null;
  sender: string | null;
  sender_name: string | null;
  slots: Record<string, string> | null;
  /**
   * Who it comes from.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  origin: OriginEnum | null;
  /**
   * The least trusted of all it rests on.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  trust: OriginEnum | null;
  created_at: string | null;
  score: number | null;
  /** How likely it is to help, 0–1; null: not known. */
  relevance: number | null;
  /** The newer memory that corrects this one. */
  superseded_by_newer: string | null;
  why: Why | null;
  /** Of the entry at the time. */
  version: number | null;
  reworded_since: boolean | null;
  /**
   * Why there is no content.
   * * `gone` - gone
   * * `taken_out` - taken_out
   */
  withheld: WithheldEnum | null;
  links: ThenAndNow | null;
  reason: string;
}

/** A memory of a past recall, in the words it had then. */
export interface RecordedMemory {
  id: string | null;
  type: EntryType | null;
  scope: string | null;
  content: string | null;
  /**
   * How its words speak to the model that reads them: `forged`, `link`, `override` or `order`. No group is told
   * it, and it enters no profile. Empty: it speaks of the world.
   * * `` - Speaks of the world
   * * `forged` - Passes for a part of the prompt
   * * `link` - Has something fetched
   * * `override` - Sets aside what the model was told
   * * `order` - Gives the model a standing order
   */
  suspect: SuspectEnum | "" | null;
  sender: string | null;
  sender_name: string | null;
  slots: Record<string, string> | null;
  /**
   * Who it comes from.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  origin: OriginEnum | null;
  /**
   * The least trusted of all it rests on.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  trust: OriginEnum | null;
  created_at: string | null;
  score: number | null;
  /** How likely it is to help, 0–1; null: not known. */
  relevance: number | null;
  /** The newer memory that corrects this one. */
  superseded_by_newer: string | null;
  why: Why | null;
  /** Of the entry at the time. */
  version: number | null;
  reworded_since: boolean | null;
  /**
   * Why there is no content.
   * * `gone` - gone
   * * `taken_out` - taken_out
   */
  withheld: WithheldEnum | null;
  links: ThenAndNow | null;
}

/** An entry another was made from, or became. */
export interface Relative {
  id: string;
  kind: RelativeKindEnum;
  content: string;
  at: string;
}

export type RelativeKindEnum = "merged_from" | "supersedes" | "source_of";

export type ReplyEnum = "NO_REPLY";

/** What the owner's reranker made of a memory. */
export interface Rerank {
  /** Among those it was asked about, by `score`. */
  rank_before: number;
  /** Among the same, by the reranker. */
  rank_after: number;
  /** On the reranker's own scale. */
  score: number;
}

/** A conversation that was closed. */
export interface ResetAnswer {
  session: SessionAnswer;
  /** To be given to the user. */
  reply: string;
}

/** What an address means. */
export interface ResolvedAnswer {
  session_key: string;
  user_scope: string | null;
  chat_scope: string | null;
  /** Scopes, in the order they are asked. */
  recall: string[];
}

/** The version whose words, attributes and slots are to hold again. */
export interface RevertRequest {
  version: number;
  /** Only these: columns by name, slots as slots.env. Without it, everything. */
  only?: string[] | null;
}

/** What somebody changed at once. */
export interface RevisionAnswer {
  /** The version that began with it, for /revert. */
  version: number;
  at: string;
  by: string;
  operation: OperationEnum;
  batch: string | null;
  run: string;
  changes: ColumnChange[];
  slots: SlotChange[];
}

export type RevisionPage = Page<RevisionAnswer>;

/** The note of a row for people, and what to do first. */
export interface RowNoteDetails {
  /** The same in a sentence for people, in the language of the request. */
  text: string;
  /** Batches to undo before this row can be; empty but for `stands`. */
  batches: string[];
}

/** A memory as it stands after it was saved, and what became of what was sent. */
export interface SavedEntry {
  id: string;
  scope: string;
  type: EntryType;
  subtype: string;
  tier: number | null;
  category: CategoryEnum | "";
  project: string;
  topic: string;
  /** What it is about, and its other names. */
  names: string[];
  content: string;
  slots: Record<string, string>;
  /** The newer memory that makes this line of the profile untrue: it is not handed out. */
  contradicted_by: string | null;
  /**
   * Of a model's fact. `verified`: a second reading found it borne out by the words it quotes; `quoted`: it rests
   * on them alone. Empty: no model stated it.
   * * `` - Not a model's
   * * `quoted` - Quoted
   * * `verified` - Verified
   */
  verification: VerificationEnum | "";
  /**
   * How its words speak to the model that reads them: `forged`, `link`, `override` or `order`. No group is told
   * it, and it enters no profile. Empty: it speaks of the world.
   * * `` - Speaks of the world
   * * `forged` - Passes for a part of the prompt
   * * `link` - Has something fetched
   * * `override` - Sets aside what the model was told
   * * `order` - Gives the model a standing order
   */
  suspect: SuspectEnum | "";
  /** Of a model's fact: the words it rests on, in the order they were said. */
  evidence: EvidenceAnswer[];
  /** Of the file it is a line of; empty: of none. */
  path: string;
  line_from: number | null;
  line_to: number | null;
  /** The headings its line stands under. */
  heading: string;
  importance: number;
  source: SourceEnum;
  /**
   * Who it comes from.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  origin: OriginEnum;
  /**
   * The least trusted of all it rests on.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  trust: OriginEnum;
  /** Whom or what it is about; empty: the person, or nobody knows. */
  subject: string;
  state: EntryState;
  pinned: boolean;
  version: number;
  created_at: string;
  stated_at: string;
  updated_at: string;
  expires_at: string | null;
  review_at: string | null;
  expired_at: string | null;
  archived_at: string | null;
  outcome: OutcomeEnum;
  /**
   * Why it is suppressed.
   * * `taken_out` - taken_out
   * * `erased` - erased
   * * `quarantined` - quarantined
   */
  reason: ReasonEnum | null;
  /** Entries it resembles. */
  linked: string[];
  /** People had taken these words out before. */
  brought_back: boolean;
}

/** A line that was saved. */
export interface SavedLineAnswer {
  path: string;
  line: number;
  /** The memory it became; null: it will be one soon. */
  entry: string | null;
  scope: string;
  /**
   * `brought_back`: people had taken these words out before. `pending`: in the file, indexed later. `known`: a
   * line says so already; nothing was added.
   * * `created` - created
   * * `brought_back` - brought_back
   * * `pending` - pending
   * * `known` - known
   */
  outcome: SavedOutcome;
  degraded: string[];
}

export type SavedOutcome = "created" | "brought_back" | "pending" | "known";

export type ScopeKindEnum = "user" | "chat";

/** What was found, best first. */
export interface SearchAnswer {
  /** The database is away: this is what a replica had at `replayed_at`. Else left out. */
  stale?: boolean;
  /** With `stale`: when the last change the replica has was made. */
  replayed_at?: string;
  recall_id: string | null;
  evidence: EvidenceEnum;
  results: SearchResult[];
  /** Whether that is enough, in the language of the workspace. */
  note: string;
  /** All of it as a model is to read it. */
  text: string;
  degraded: string[];
}

/** Something that was found. */
export interface SearchResult {
  /** For memory_get: a file, `entries/…`, `daily_events/…`, `session_events/…`. */
  path: string;
  /** Of a file: where it stands. Otherwise 1. */
  line: number;
  score: number;
  snippet: string;
  /** There is more of it at its path. */
  cut: boolean;
  source: SearchSource;
  /** Type of a memory; `user`, `assistant` of a message; `summary` of a day. */
  kind: string;
  scope: string;
  /** When it was said or written; null: nobody knows. */
  at: string | null;
  /** The headings a line of a file stands under. */
  heading: string;
  /** Who said it, as people call them; `User` is whoever asks. */
  speaker: string;
  /** Messages that say it word for word. */
  evidence: string[];
}

export type SearchSource = "notes" | "entries" | "daily_events" | "session_events";

export type SecretsEnum = "keep" | "mask" | "off";

/** How many deliveries are sent again. */
export interface SentAgain {
  count: number;
}

/** A chat's running conversation. */
export interface SessionAnswer {
  id: string;
  key: string;
  platform: string;
  account: string;
  chat: string;
  peer: string;
  is_group: boolean;
  user_scope: string | null;
  chat_scope: string | null;
  /** The open one; 1 is the first. */
  conversation: number;
  /** It has no message yet. */
  is_empty: boolean;
  /** Of its history, as it is handed out. */
  tokens: number;
  max_tokens: number;
  /** Rises with each compaction. */
  cycle: number;
  /** A position. */
  flushed_to: number;
  /** A position. */
  summarised_to: number;
  last_position: number;
  started_at: string;
  last_at: string;
}

/** A message of a session. */
export interface SessionEventAnswer {
  id: number;
  conversation: number;
  position: number;
  kind: SessionEventAnswerKindEnum;
  sender: string;
  content: string;
  data: Record<string, unknown>;
  tokens: number;
  at: string;
  /**
   * Whose words it is, the least trusted of them.
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  trust: OriginEnum;
}

export type SessionEventAnswerKindEnum = "user" | "assistant" | "tool" | "summary" | "ambient";

export type SessionEventPage = Page<SessionEventAnswer>;

/** The open conversation as it goes to a model: a summary of older turns, if there is one, and the newest. */
export interface SessionHistoryAnswer {
  session: SessionAnswer;
  messages: HistoryMessageAnswer[];
  tokens: number;
  /** Older messages did not fit, and no summary stands for them yet. */
  is_cut: boolean;
}

export type SessionModeEnum = "stable" | "fresh";

export type SessionPage = Page<SessionAnswer>;

/** One slot before and after; null where there was or is none. */
export interface SlotChange {
  name: string;
  old: string | null;
  new: string | null;
}

export type SourceEnum = "conversation_capture" | "memory_capture" | "tool" | "extraction" | "compression" | "manual" | "migration" | "file";

export type SuspectEnum = "forged" | "link" | "override" | "order";

export type TargetEnum = "daily" | "long-term";

/** For how long an entry is brought back; null: for as long as its policy says. */
export interface Term {
  term_days?: number | null;
  /**
   * Whether what was taken out together with it comes back, too.
   * * `all` - all
   * * `none` - none Default: `"all"`.
   */
  copies?: CopiesEnum;
}

/** Where an entry can be read as it is now, and as it was. */
export interface ThenAndNow {
  now: string;
  /** Its history; the step with the same version made it so. */
  then: string;
}

/** Calls of a model, and whose memory they are about. */
export interface ToolCallRequest {
  address?: AddressField;
  scope?: string;
  /** One call, as the model's answer holds it. */
  call?: Record<string, unknown>;
  /** Several of them. */
  calls?: Record<string, unknown>[];
}

/** What became of one call of a model. */
export interface ToolCallResult {
  /** Of the call; empty where it had none. */
  id: string;
  name: string;
  is_error: boolean;
  /** The answer in the form the call came in. */
  message: Record<string, unknown>;
  /** What the tool answers, as data; null: it did nothing. */
  result: Record<string, unknown> | null;
  /** What the model got wrong; it is told in `message`. */
  errors: ErrorItem[];
}

/** What became of a model's calls. */
export interface ToolCallsAnswer {
  answers: ToolCallResult[];
  /** To be appended to the conversation as they are, after the model's own message. */
  messages: Record<string, unknown>[];
}

/** The tools, to be passed on to a model as they are. */
export interface ToolsAnswer {
  form: FormEnum;
  language: string;
  /** For the `tools` of a request to a model. */
  tools: Record<string, unknown>[];
  /** For `mcp`: whose memory a key that was allowed over OAuth is for; null: the client says it. */
  address: Record<string, unknown> | null;
}

/** A turn taken in. */
export interface TurnAnswer {
  session: TurnSession;
  entries: CapturedEntry[];
  directives: DirectiveAnswer[];
  /** To be given to the user: the turn was a command. */
  reply: string | null;
  /** `database`: accepted, and in the database once that is back; `files`: the channel's files have it. */
  degraded: string[];
}

/** The session a turn went to. */
export interface TurnSession {
  /** null: the database has not met it yet. */
  id: string | null;
  key: string;
  /** null: only the database knows. */
  conversation: number | null;
  /** Of the open conversation, as it is handed out; null: only the database knows. */
  tokens: number | null;
}

/** What of a batch is to be taken back, and whether also where others have changed it since. */
export interface UndoRequest {
  /** Of the rows to take back; null: all. */
  positions?: number[] | null;
  /** Also take back what was changed since. Default: `false`. */
  force?: boolean;
  reason?: string;
}

/** A memory with its new words. */
export interface UpdatedMemoryAnswer {
  /** Of its file; `entries/…` where it stands in none. */
  path: string;
  /** Where it stands in its file now. */
  line: number | null;
  entry: string;
  scope: string;
  /** The words it had. */
  before: string;
  content: string;
  outcome: UpdatedMemoryAnswerOutcomeEnum;
  /** For `POST /batches/{id}/undo`; null: nothing changed. */
  batch: string | null;
}

export type UpdatedMemoryAnswerOutcomeEnum = "updated" | "unchanged";

export type VerificationEnum = "quoted" | "verified";

/** An address that receives what happens in a workspace. */
export interface WebhookAnswer {
  id: string;
  name: string;
  url: string;
  events: EventsEnum[];
  /** Whether the words of memories are sent. */
  with_content: boolean;
  format: FormatEnum;
  is_enabled: boolean;
  /** In a row. */
  failures: number;
  /** Of a receiver that fails. */
  rests_until: string | null;
  created_at: string;
}

export type WebhookPage = Page<WebhookAnswer>;

/** A webhook with its new secret. */
export interface WebhookWithSecret {
  id: string;
  name: string;
  url: string;
  events: EventsEnum[];
  /** Whether the words of memories are sent. */
  with_content: boolean;
  format: FormatEnum;
  is_enabled: boolean;
  /** In a row. */
  failures: number;
  /** Of a receiver that fails. */
  rests_until: string | null;
  created_at: string;
  /**
   * Signs every delivery. In this answer alone; null where the call was sent again under its Idempotency-Key:
   * renew it, then.
   */
  secret: string | null;
}

/** How a memory was ranked; what is not known is null. */
export interface Why {
  keyword: number | null;
  /** Among what was looked at. */
  keyword_rank: number | null;
  vector: number | null;
  /** Among what was looked at. */
  vector_rank: number | null;
  similarity: number | null;
  date: number | null;
  speaker_named: boolean;
  boosts: Boosts;
  fused: number | null;
  decay: number | null;
  recency: number | null;
  /** 0.25: another's, where one asks about oneself. */
  whose: number | null;
  /** How likely it is to answer, 0–1. */
  relevance: number | null;
  /** What the relevance is drawn from. */
  signs: Record<string, number>;
  /** What each feature added, where the question names a speaker. */
  features: Record<string, number>;
  rerank: Rerank | null;
  /** Whether the token budget had room for it. */
  in_context: boolean | null;
}

export type WithheldEnum = "gone" | "taken_out";

export interface ListBatchesQuery {
  cursor?: string;
  /** Default: `50`. */
  limit?: number;
  scope?: string;
  /**
   * * `proposed` - Proposed
   * * `applying` - Applying
   * * `applied` - Applied
   * * `undone` - Undone
   * * `refused` - Refused
   */
  state?: "proposed" | "applying" | "applied" | "undone" | "refused";
}

export interface ReadBatchQuery {
  /** Default: `0`. */
  cursor?: number;
  /** Default: `50`. */
  limit?: number;
  /**
   * * `planned` - Planned
   * * `applied` - Applied
   * * `left` - Left alone
   * * `undone` - Undone
   */
  state?: "planned" | "applied" | "left" | "undone";
  /**
   * * `create` - Create
   * * `change` - Change
   * * `merge` - Merge
   * * `expire` - Expire
   * * `archive` - Archive
   * * `restore` - Restore
   * * `supersede` - Supersede
   * * `undo` - Put back
   * * `quarantine` - Put into quarantine
   * * `purge` - Remove for good
   * * `tell` - Tell of a day
   * * `policy` - Set a policy
   */
  verb?: "create" | "change" | "merge" | "expire" | "archive" | "restore" | "supersede" | "undo" | "quarantine" | "purge" | "tell" | "policy";
}

export interface ListEntriesQuery {
  cursor?: string;
  /**
   * * `over` - Its time is over
   * * `soon` - Its time is over within a week
   * * `review` - Its date of review has come
   */
  due?: "over" | "soon" | "review";
  /** Default: `50`. */
  limit?: number;
  /**
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  origin?: "operator" | "self" | "other" | "member" | "file" | "import" | "bot" | "tool";
  q?: string;
  scope?: string;
  /**
   * * `live` - Live
   * * `due` - Due
   * * `expired` - Expired
   * * `archived` - Archived
   * * `superseded` - Superseded
   * * `quarantined` - In quarantine
   * * `suppressed` - Suppressed
   */
  state?: "live" | "due" | "expired" | "archived" | "superseded" | "quarantined" | "suppressed";
  subject?: string;
  /**
   * * `operator` - An operator
   * * `self` - The person, of themselves
   * * `other` - The person, of somebody or something else
   * * `member` - Another member
   * * `file` - A file
   * * `import` - An import
   * * `bot` - The bot
   * * `tool` - A tool or page
   */
  trust?: "operator" | "self" | "other" | "member" | "file" | "import" | "bot" | "tool";
  /**
   * * `chat_turn` - Chat turn
   * * `auto_capture` - Auto capture
   * * `workflow_trace` - Workflow trace
   * * `user_explicit` - User explicit
   * * `fact` - Fact
   * * `note` - Note
   */
  type?: "chat_turn" | "auto_capture" | "workflow_trace" | "user_explicit" | "fact" | "note";
  slots?: Record<string, string>;
}

export interface DeleteEntryQuery {
  /**
   * * `all` - all
   * * `none` - none
   */
  copies?: "all" | "none";
}

export interface EntryHistoryQuery {
  cursor?: number;
  /** Default: `50`. */
  limit?: number;
}

export interface ListEventsQuery {
  cursor?: string;
  /** The first day, local. */
  from?: string;
  /** Default: `50`. */
  limit?: number;
  q?: string;
  scope?: string;
  /** The last day, included. */
  to?: string;
}

export interface ExportQuery {
  /** With every change of every memory. Default: `false`. */
  history?: boolean;
  /** Absent: the whole workspace. A key bound to scopes names one of them. */
  scope?: string;
}

/** What `record` names. The first line is an `export`, the last an `end` with their counts. */
export interface ExportLine {
  record: "export" | "channel" | "day" | "entry" | "flush" | "link" | "message" | "person" | "policy" | "scope" | "session" | "successor" | "suppression" | "workspace" | "end";
  [name: string]: unknown;
}

export interface ComparePathsQuery {
  account?: string;
  /** Default: `20`. */
  examples?: number;
  platform?: string;
  since?: Date | string;
}

export interface ListSessionsQuery {
  account?: string;
  cursor?: string;
  /** Default: `50`. */
  limit?: number;
  open?: boolean;
  platform?: string;
  scope?: string;
}

export interface ReadSessionQuery {
  account?: string;
  platform?: string;
}

export interface CompactSessionQuery {
  account?: string;
  platform?: string;
}

export interface ListSessionEventsQuery {
  account?: string;
  conversation?: number;
  /** A position. */
  cursor?: number;
  /** Default: `50`. */
  limit?: number;
  platform?: string;
}

export interface AppendSessionEventsQuery {
  account?: string;
  platform?: string;
}

export interface FlushSessionQuery {
  account?: string;
  /** Absent: the open one. */
  conversation?: number;
  platform?: string;
}

export interface ReplaySessionQuery {
  account?: string;
  max_tokens?: number;
  platform?: string;
}

export interface ResetSessionQuery {
  account?: string;
  platform?: string;
}

export interface ListToolsQuery {
  /**
   * * `openai` - openai
   * * `openai_responses` - openai_responses
   * * `anthropic` - anthropic
   * * `mcp` - mcp Default: `"openai"`.
   */
  form?: "openai" | "openai_responses" | "anthropic" | "mcp";
  /**
   * * `en` - en
   * * `zh-hans` - zh-hans
   */
  language?: "en" | "zh-hans";
}

export interface ListWebhooksQuery {
  cursor?: string;
  is_enabled?: boolean;
  /** Default: `50`. */
  limit?: number;
}

export interface ListDeliveriesQuery {
  cursor?: string;
  /** Default: `50`. */
  limit?: number;
  /**
   * * `waiting` - Waiting
   * * `sent` - Sent
   * * `failed` - Failed
   */
  state?: "waiting" | "sent" | "failed";
}

/** What can go wrong, by the code of the answer. */

import type { ErrorItem } from "./types.ts";

/** Anything that kept a call from its answer. */
export class MemplatformError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}

/** The platform was not reached, or gave no answer in time, however often it was asked. */
export class NoAnswer extends MemplatformError {}

/** The platform answered with an error; `errors` has all of them, `code` and `attr` are of the first. */
export class ApiError extends MemplatformError {
  readonly status: number;
  readonly requestId: string | null;
  readonly errors: ErrorItem[];
  readonly code: string;
  readonly attr: string | null;

  constructor(about: string, response: Response, errors: [ErrorItem, ...ErrorItem[]]) {
    const requestId = response.headers.get("X-Request-ID");
    const details = errors.map(({ attr, detail }) => (attr ? `${attr}: ${detail}` : detail)).join("; ");
    super(`${about} answered ${response.status} ${errors[0].code}: ${details} (request ${requestId})`);
    this.status = response.status;
    this.requestId = requestId;
    this.errors = errors;
    this.code = errors[0].code;
    this.attr = errors[0].attr;
  }
}

/** A field is wrong, missing or unknown; `attr` names it. */
export class Invalid extends ApiError {}

/** No key, or one that is unknown, expired or revoked. */
export class NotAuthenticated extends ApiError {}

/** The key lacks the permission. */
export class NotAllowed extends ApiError {}

/** No such thing, or it is not this key's: the two look the same. */
export class NotFound extends ApiError {}

/** The body is larger than 1 MB. */
export class TooLarge extends ApiError {}

/** More calls in this minute than the key has. */
export class Throttled extends ApiError {}

/** It cannot be done as things are. */
export class Conflict extends ApiError {}

/** Others are writing to this session. */
export class SessionBusy extends Conflict {}

/** The conversation that was told of has ended. */
export class ConversationEnded extends Conflict {}

/** The history differs from what was said; `attr` names the first message that does. */
export class HistoryDiffers extends Conflict {}

/** This scope can be read, but nothing new is written to it. */
export class ScopeFrozen extends Conflict {}

/** This batch was applied, refused or taken back already. */
export class BatchSettled extends Conflict {}

/** Nothing of this batch is left to take back. */
export class NothingToUndo extends Conflict {}

/** The history this needs was moved to the archive. */
export class HistoryArchived extends Conflict {}

/** This batch is being applied or taken back at this moment. */
export class BatchBusy extends Conflict {}

/** Others are writing to this file. */
export class FileBusy extends Conflict {}

/** This file cannot be read. */
export class FileUnreadable extends Conflict {}

/** The file no longer says that. */
export class LineChanged extends Conflict {}

/** This was erased with a person, and is not stored again. */
export class Erased extends Conflict {}

/** This webhook is off. */
export class WebhookOff extends Conflict {}

/** So many webhooks are on already. */
export class TooManyWebhooks extends Conflict {}

/** This Idempotency-Key was used for another call. */
export class IdempotencyKeyTaken extends Conflict {}

/** It was changed since the version named by `ifMatch` was read. */
export class VersionConflict extends ApiError {}

/** The platform, or what stands before it, cannot answer now. */
export class Unavailable extends ApiError {}

/** The platform's database does not answer. */
export class DatabaseUnavailable extends Unavailable {}

/** By the code of an answer, else by its status. */
export const KINDS: Readonly<Record<string | number, typeof ApiError>> = {
  400: Invalid,
  401: NotAuthenticated,
  403: NotAllowed,
  404: NotFound,
  409: Conflict,
  412: VersionConflict,
  413: TooLarge,
  429: Throttled,
  500: Unavailable,
  502: Unavailable,
  503: Unavailable,
  504: Unavailable,
  session_busy: SessionBusy,
  conversation_ended: ConversationEnded,
  history_differs: HistoryDiffers,
  scope_frozen: ScopeFrozen,
  batch_settled: BatchSettled,
  nothing_to_undo: NothingToUndo,
  history_archived: HistoryArchived,
  batch_busy: BatchBusy,
  file_busy: FileBusy,
  file_unreadable: FileUnreadable,
  line_changed: LineChanged,
  erased: Erased,
  webhook_off: WebhookOff,
  too_many_webhooks: TooManyWebhooks,
  idempotency_key_taken: IdempotencyKeyTaken,
  database_unavailable: DatabaseUnavailable,
};

/** The error of an answer that is none of success; of one that is not the platform's only the status is known. */
export function errorOf(about: string, response: Response, text: string): ApiError {
  const [first = { code: "unreadable", detail: response.statusText, attr: null }, ...more] = errorsOf(text);
  const Kind = KINDS[first.code] ?? KINDS[response.status] ?? ApiError;
  return new Kind(about, response, [first, ...more]);
}

function errorsOf(text: string): ErrorItem[] {
  try {
    const { errors } = JSON.parse(text) as { errors: ErrorItem[] };
    const isOurs = errors.every(({ code, detail }) => typeof code === "string" && typeof detail === "string");
    return isOurs ? errors.map(({ code, detail, attr }) => ({ code, detail, attr })) : [];
  } catch {
    return [];
  }
}

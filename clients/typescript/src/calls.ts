/** Every call, by the name of its description. Made by generate_typescript.py from the API's description. */

import { at, type Call, type Options, type VersionedOptions, withSlots, type WriteOptions } from "./call.ts";
import type * as types from "./types.ts";

export abstract class Calls {
  protected abstract send<T>(call: Call): Promise<T>;
  protected abstract rows<T>(call: Call): AsyncGenerator<T, void, undefined>;
  protected abstract lines<T extends { record: string }>(call: Call): AsyncGenerator<T, void, undefined>;

  /** Batches, newest first. */
  listBatches(
    query: types.ListBatchesQuery = {},
    options: Options = {},
  ): AsyncGenerator<types.BatchAnswer, void, undefined> {
    return this.rows({ method: "GET", path: "/api/v1/batches", query, options });
  }

  /** Change many entries of one scope at once, as a batch that can be undone. */
  makeBatch(body: types.NewBatch, options: WriteOptions = {}): Promise<types.BatchWithChanges> {
    return this.send({ method: "POST", path: "/api/v1/batches", body, writes: true, options });
  }

  /** One batch with its changes, in their order. */
  readBatch(uid: string, query: types.ReadBatchQuery = {}, options: Options = {}): Promise<types.BatchWithChanges> {
    return this.send({ method: "GET", path: at`/api/v1/batches/${uid}`, query, options });
  }

  /** Apply what a batch plans. 202: Too large to wait for: the worker carries it out. */
  approveBatch(uid: string, options: WriteOptions = {}): Promise<types.BatchWithChanges> {
    return this.send({ method: "POST", path: at`/api/v1/batches/${uid}/approve`, writes: true, options });
  }

  /** One row of a plan nobody has decided on. */
  changeBatchRow(
    uid: string,
    position: number,
    body: types.PatchedRowChange,
    options: WriteOptions = {},
  ): Promise<types.BatchChangeAnswer> {
    return this.send({
      method: "PATCH",
      path: at`/api/v1/batches/${uid}/changes/${position}`,
      body,
      writes: true,
      options,
    });
  }

  /** Let a proposed batch never be applied. */
  refuseBatch(uid: string, options: WriteOptions = {}): Promise<types.BatchWithChanges> {
    return this.send({ method: "POST", path: at`/api/v1/batches/${uid}/refuse`, writes: true, options });
  }

  /**
   * Put back the state before a batch. Itself a batch, which can be undone. 202: Too large to wait for: the worker
   * carries it out.
   */
  undoBatch(uid: string, body: types.UndoRequest = {}, options: WriteOptions = {}): Promise<types.BatchWithChanges> {
    return this.send({ method: "POST", path: at`/api/v1/batches/${uid}/undo`, body, writes: true, options });
  }

  /** The rules of a platform's messages that name no account. */
  readChannelWithoutAccount(platform: string, options: Options = {}): Promise<types.ChannelAnswer> {
    return this.send({ method: "GET", path: at`/api/v1/channels/${platform}`, options });
  }

  /** Set the rules of a platform's messages that name no account. */
  setRulesWithoutAccount(
    platform: string,
    body: types.NewRules = {},
    options: VersionedOptions = {},
  ): Promise<types.ChannelAnswer> {
    return this.send({ method: "PUT", path: at`/api/v1/channels/${platform}`, body, writes: true, options });
  }

  /** The rules of one account of a platform. */
  readChannel(platform: string, account: string, options: Options = {}): Promise<types.ChannelAnswer> {
    return this.send({ method: "GET", path: at`/api/v1/channels/${platform}/${account}`, options });
  }

  /** Set rules of a channel; it begins here if nobody has spoken from it yet. */
  setChannelRules(
    platform: string,
    account: string,
    body: types.NewRules = {},
    options: VersionedOptions = {},
  ): Promise<types.ChannelAnswer> {
    return this.send({
      method: "PUT",
      path: at`/api/v1/channels/${platform}/${account}`,
      body,
      writes: true,
      options,
    });
  }

  /** A bot asks for all it needs at once, and then asks its model. */
  context(body: types.ContextRequest, options: Options = {}): Promise<types.ContextAnswer> {
    return this.send({ method: "POST", path: "/api/v1/context", body, options });
  }

  /** Entries, newest first. Slots narrow the list as `slot.<name>=<value>`. */
  listEntries(
    { slots, ...query }: types.ListEntriesQuery = {},
    options: Options = {},
  ): AsyncGenerator<types.EntryAnswer, void, undefined> {
    return this.rows({ method: "GET", path: "/api/v1/entries", query: withSlots(query, slots), options });
  }

  /** Save a memory on purpose. */
  saveEntry(body: types.NewEntry, options: WriteOptions = {}): Promise<types.SavedEntry> {
    return this.send({ method: "POST", path: "/api/v1/entries", body, writes: true, options });
  }

  /** One entry, with what it was made from and what it became. */
  readEntry(uid: string, options: Options = {}): Promise<types.EntryWithLineage> {
    return this.send({ method: "GET", path: at`/api/v1/entries/${uid}`, options });
  }

  /** Change an entry; what is not sent stays as it is. */
  changeEntry(
    uid: string,
    body: types.PatchedEntryChange,
    options: VersionedOptions = {},
  ): Promise<types.EntryAnswer> {
    return this.send({ method: "PATCH", path: at`/api/v1/entries/${uid}`, body, writes: true, options });
  }

  /**
   * Take an entry out of use, with its copies in the other memories its words were written to. It stays out until
   * it is restored, and nothing but saving it on purpose writes it again.
   */
  deleteEntry(
    uid: string,
    query: types.DeleteEntryQuery = {},
    options: VersionedOptions = {},
  ): Promise<types.EntryWithCopies> {
    return this.send({ method: "DELETE", path: at`/api/v1/entries/${uid}`, query, writes: true, options });
  }

  /** The life of an entry, the last change first. */
  entryHistory(
    uid: string,
    query: types.EntryHistoryQuery = {},
    options: Options = {},
  ): AsyncGenerator<types.RevisionAnswer, void, undefined> {
    return this.rows({ method: "GET", path: at`/api/v1/entries/${uid}/history`, query, options });
  }

  /** Bring an entry back into use. */
  restoreEntry(uid: string, body: types.Term = {}, options: VersionedOptions = {}): Promise<types.EntryWithCopies> {
    return this.send({ method: "POST", path: at`/api/v1/entries/${uid}/restore`, body, writes: true, options });
  }

  /** Give an entry back the words, attributes and slots of an earlier version. */
  revertEntry(uid: string, body: types.RevertRequest, options: VersionedOptions = {}): Promise<types.EntryAnswer> {
    return this.send({ method: "POST", path: at`/api/v1/entries/${uid}/revert`, body, writes: true, options });
  }

  /** What happened on which local day, the latest first. */
  listEvents(
    query: types.ListEventsQuery = {},
    options: Options = {},
  ): AsyncGenerator<types.DailyEventAnswer, void, undefined> {
    return this.rows({ method: "GET", path: "/api/v1/events", query, options });
  }

  /** A scope or the workspace as JSON Lines, of one moment. An export without its last line, `end`, is not whole. */
  export(query: types.ExportQuery = {}, options: Options = {}): AsyncGenerator<types.ExportLine, void, undefined> {
    return this.lines({ method: "GET", path: "/api/v1/export", query, options });
  }

  /** Answer a message that was taken: it is sent, and the turn is remembered. */
  answerMessage(uid: string, body: types.MessageReply, options: WriteOptions = {}): Promise<types.TurnAnswer> {
    return this.send({ method: "POST", path: at`/api/v1/messages/${uid}/answer`, body, writes: true, options });
  }

  /** Take the next message of a connection that is answered by a bot which asks, with what memory knows on it. */
  nextMessage(body: types.NextMessage, options: WriteOptions = {}): Promise<types.NextMessageAnswer> {
    return this.send({ method: "POST", path: "/api/v1/messages/next", body, writes: true, options });
  }

  /** The memories that bear on a message. */
  recall(body: types.RecallRequest, options: Options = {}): Promise<types.RecallAnswer> {
    return this.send({ method: "POST", path: "/api/v1/recall", body, options });
  }

  /** A past recall: its message, what was served, what was left out and why. */
  recallTold(uid: string, options: Options = {}): Promise<types.RecallTraceAnswer> {
    return this.send({ method: "GET", path: at`/api/v1/recalls/${uid}`, options });
  }

  /** A bot reports which of the served memories its answer used; the last report counts. */
  recallFeedback(uid: string, body: types.Feedback, options: WriteOptions = {}): Promise<types.FeedbackAnswer> {
    return this.send({ method: "POST", path: at`/api/v1/recalls/${uid}/feedback`, body, writes: true, options });
  }

  /** What only the database finds, and what only the files find, of channels under `dual_write`. */
  comparePaths(query: types.ComparePathsQuery = {}, options: Options = {}): Promise<types.ComparisonAnswer> {
    return this.send({ method: "GET", path: "/api/v1/recalls/comparison", query, options });
  }

  /** What an address means: its session, its scopes, and what is recalled there. */
  resolveAddress(body: types.AddressRequest, options: Options = {}): Promise<types.ResolvedAnswer> {
    return this.send({ method: "POST", path: "/api/v1/scopes/resolve", body, options });
  }

  /** The message behind a path that a recall handed out. */
  readSessionEvent(
    session: string,
    conversation: number,
    event: number,
    options: Options = {},
  ): Promise<types.ReadEventAnswer> {
    return this.send({
      method: "GET",
      path: at`/api/v1/session_events/${session}/${conversation}/event-${event}`,
      options,
    });
  }

  /** The conversations a key may see. */
  listSessions(
    query: types.ListSessionsQuery = {},
    options: Options = {},
  ): AsyncGenerator<types.SessionAnswer, void, undefined> {
    return this.rows({ method: "GET", path: "/api/v1/sessions", query, options });
  }

  /** The session an address means, begun if need be. */
  meetSession(body: types.AddressRequest, options: WriteOptions = {}): Promise<types.SessionAnswer> {
    return this.send({ method: "POST", path: "/api/v1/sessions", body, writes: true, options });
  }

  /** One session, as it is now. */
  readSession(key: string, query: types.ReadSessionQuery = {}, options: Options = {}): Promise<types.SessionAnswer> {
    return this.send({ method: "GET", path: at`/api/v1/sessions/${key}`, query, options });
  }

  /** Has the worker replace older turns by a summary, however full the history is. */
  compactSession(
    key: string,
    query: types.CompactSessionQuery = {},
    options: WriteOptions = {},
  ): Promise<types.CompactAnswer> {
    return this.send({ method: "POST", path: at`/api/v1/sessions/${key}/compact`, query, writes: true, options });
  }

  /** The messages of a session. */
  listSessionEvents(
    key: string,
    query: types.ListSessionEventsQuery = {},
    options: Options = {},
  ): AsyncGenerator<types.SessionEventAnswer, void, undefined> {
    return this.rows({ method: "GET", path: at`/api/v1/sessions/${key}/events`, query, options });
  }

  /** Append messages to a session. */
  appendSessionEvents(
    key: string,
    body: types.NewEvents,
    query: types.AppendSessionEventsQuery = {},
    options: WriteOptions = {},
  ): Promise<types.AppendedAnswer> {
    return this.send({
      method: "POST",
      path: at`/api/v1/sessions/${key}/events`,
      body,
      query,
      writes: true,
      options,
    });
  }

  /** Takes in what must not be lost when a conversation is shortened. */
  flushSession(
    key: string,
    body: types.NewFlush,
    query: types.FlushSessionQuery = {},
    options: WriteOptions = {},
  ): Promise<types.FlushAnswer> {
    return this.send({ method: "POST", path: at`/api/v1/sessions/${key}/flush`, body, query, writes: true, options });
  }

  /** The open conversation as it goes to a model. */
  replaySession(
    key: string,
    query: types.ReplaySessionQuery = {},
    options: Options = {},
  ): Promise<types.SessionHistoryAnswer> {
    return this.send({ method: "GET", path: at`/api/v1/sessions/${key}/history`, query, options });
  }

  /** Closes the conversation; the next message begins another, with no history. Long-term memory stays. */
  resetSession(
    key: string,
    query: types.ResetSessionQuery = {},
    options: WriteOptions = {},
  ): Promise<types.ResetAnswer> {
    return this.send({ method: "POST", path: at`/api/v1/sessions/${key}/reset`, query, writes: true, options });
  }

  /** The tools for a model. */
  listTools(query: types.ListToolsQuery = {}, options: Options = {}): Promise<types.ToolsAnswer> {
    return this.send({ method: "GET", path: "/api/v1/tools", query, options });
  }

  /** Carry out what a model asks for, and answer what it is to be shown. */
  callTools(body: types.ToolCallRequest, options: WriteOptions = {}): Promise<types.ToolCallsAnswer> {
    return this.send({ method: "POST", path: "/api/v1/tools/call", body, writes: true, options });
  }

  /** Add lines to the end of a note. */
  memoryAppend(body: types.MemoryAppendRequest, options: WriteOptions = {}): Promise<types.SavedLineAnswer> {
    return this.send({ method: "POST", path: "/api/v1/tools/memory_append", body, writes: true, options });
  }

  /** Some lines of what a path leads to, word for word. */
  memoryGet(body: types.MemoryGetRequest, options: Options = {}): Promise<types.ExcerptAnswer> {
    return this.send({ method: "POST", path: "/api/v1/tools/memory_get", body, options });
  }

  /** The files that can be read here. */
  memoryList(body: types.MemoryListRequest, options: Options = {}): Promise<types.FileListAnswer> {
    return this.send({ method: "POST", path: "/api/v1/tools/memory_list", body, options });
  }

  /** Add a line to today's note, or to the long-term file. */
  memorySave(body: types.MemorySaveRequest, options: WriteOptions = {}): Promise<types.SavedLineAnswer> {
    return this.send({ method: "POST", path: "/api/v1/tools/memory_save", body, writes: true, options });
  }

  /** Search notes, memories, days and messages in one ranking. */
  memorySearch(body: types.MemorySearchRequest, options: Options = {}): Promise<types.SearchAnswer> {
    return this.send({ method: "POST", path: "/api/v1/tools/memory_search", body, options });
  }

  /** Correct a line of a note, or a memory that was saved. */
  memoryUpdate(body: types.MemoryUpdateRequest, options: WriteOptions = {}): Promise<types.UpdatedMemoryAnswer> {
    return this.send({ method: "POST", path: "/api/v1/tools/memory_update", body, writes: true, options });
  }

  /** A bot reports a finished turn; it is remembered when this returns. */
  takeTurn(body: types.NewTurn, options: WriteOptions = {}): Promise<types.TurnAnswer> {
    return this.send({ method: "POST", path: "/api/v1/turns", body, writes: true, options });
  }

  /** Webhooks, newest first. */
  listWebhooks(
    query: types.ListWebhooksQuery = {},
    options: Options = {},
  ): AsyncGenerator<types.WebhookAnswer, void, undefined> {
    return this.rows({ method: "GET", path: "/api/v1/webhooks", query, options });
  }

  /** Have what happens in the workspace sent to an address. The answer has the secret, once. */
  subscribeWebhook(body: types.NewWebhook, options: WriteOptions = {}): Promise<types.WebhookWithSecret> {
    return this.send({ method: "POST", path: "/api/v1/webhooks", body, writes: true, options });
  }

  /** One webhook. */
  readWebhook(uid: string, options: Options = {}): Promise<types.WebhookAnswer> {
    return this.send({ method: "GET", path: at`/api/v1/webhooks/${uid}`, options });
  }

  /** Change a webhook; what is not sent stays as it is. Another address is tried at once. */
  changeWebhook(
    uid: string,
    body: types.PatchedWebhookChange = {},
    options: WriteOptions = {},
  ): Promise<types.WebhookAnswer> {
    return this.send({ method: "PATCH", path: at`/api/v1/webhooks/${uid}`, body, writes: true, options });
  }

  /**
   * Switch a webhook off for good or for a time: no machine removes it, so that what was sent to it stays listed,
   * and `PATCH` with `is_enabled` brings it back.
   */
  deleteWebhook(uid: string, options: WriteOptions = {}): Promise<types.WebhookAnswer> {
    return this.send({ method: "DELETE", path: at`/api/v1/webhooks/${uid}`, writes: true, options });
  }

  /** What was sent to a webhook, what waits and why, newest first. */
  listDeliveries(
    uid: string,
    query: types.ListDeliveriesQuery = {},
    options: Options = {},
  ): AsyncGenerator<types.DeliveryAnswer, void, undefined> {
    return this.rows({ method: "GET", path: at`/api/v1/webhooks/${uid}/deliveries`, query, options });
  }

  /** Send every delivery of a webhook that failed once more, under the ids they have. */
  sendAllAgain(uid: string, options: WriteOptions = {}): Promise<types.SentAgain> {
    return this.send({
      method: "POST",
      path: at`/api/v1/webhooks/${uid}/deliveries/send-again`,
      writes: true,
      options,
    });
  }

  /** Make another secret: the former one signs nothing any more. The answer has it, once. */
  renewWebhookSecret(uid: string, options: WriteOptions = {}): Promise<types.WebhookWithSecret> {
    return this.send({ method: "POST", path: at`/api/v1/webhooks/${uid}/renew-secret`, writes: true, options });
  }

  /** Sign and send an event `test` without any words; its delivery says what became of it. */
  testWebhook(uid: string, options: WriteOptions = {}): Promise<types.DeliveryAnswer> {
    return this.send({ method: "POST", path: at`/api/v1/webhooks/${uid}/test`, writes: true, options });
  }

  /** One delivery. */
  readDelivery(delivery: string, options: Options = {}): Promise<types.DeliveryAnswer> {
    return this.send({ method: "GET", path: at`/api/v1/webhooks/deliveries/${delivery}`, options });
  }

  /** Send a delivery once more, under the id it has, with what holds now. */
  sendAgain(delivery: string, options: WriteOptions = {}): Promise<types.DeliveryAnswer> {
    return this.send({
      method: "POST",
      path: at`/api/v1/webhooks/deliveries/${delivery}/send-again`,
      writes: true,
      options,
    });
  }
}

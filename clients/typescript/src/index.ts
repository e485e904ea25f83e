/** Long-term memory for a chat bot: every call of memplatform. */

export { Client } from "./client.ts";
export type { ClientOptions } from "./client.ts";
export type { Options, VersionedOptions, WriteOptions } from "./call.ts";
export { ApiError, MemplatformError, NoAnswer } from "./errors.ts";
export * as errors from "./errors.ts";
export { BotMemory, plain, wordsOf } from "./turns.ts";
export type { AfterOptions, Before, BotOptions, ModelMessage } from "./turns.ts";
export type * as types from "./types.ts";

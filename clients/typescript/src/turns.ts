/**
 * What a bot does around its model, as one object: ask memory before, report after, look something up in between.
 *
 * As memplatform_client.turns of Python: memory that is away, or refuses, costs a bot its memory for that turn and never
 * the turn.
 */

import { Client, type ClientOptions } from "./client.ts";
import { MemplatformError, NoAnswer } from "./errors.ts";
import type { AddressField, NewToolCall, RecalledMemory } from "./types.ts";

/** Milliseconds without a question after one that nobody answered, so that a bot does not wait at every turn. */
const PAUSE = 5_000;
const MOST_MESSAGES = 60;
const MOST_CHARACTERS = 8_000;
/** Bytes of each text of a turn, and of its calls of tools together; characters of a text in one of these calls. */
const MOST_BYTES = 65_536;
const MOST_OF_CALLS = 200_000;
const MOST_OF_A_TEXT = 4_000;
/** Of what a tool is given or answers. */
const DEEPEST = 8;

/** What a model is given before it answers. Empty when memory has nothing to say, or does not answer. */
export interface Before {
  text: string;
  recallId: string | null;
  history: { role: string; content: string }[];
}

/** A message of a model: `content` is a string or a list of parts. */
export interface ModelMessage {
  role?: unknown;
  content?: unknown;
}

interface ModelPart {
  type?: unknown;
  text?: unknown;
}

/** What may be said of a turn beside its words. */
export interface AfterOptions {
  chat?: string;
  recallId?: string | null;
  toolCalls?: NewToolCall[];
  /** The same for a turn that may be reported again. */
  once?: string;
  /** When it was, where that is not now. */
  at?: Date;
}

/** Where the people come from (`platform`, `account`), and whether what goes wrong is thrown (`strict`) or logged. */
export interface BotOptions extends ClientOptions {
  platform?: string;
  account?: string;
  strict?: boolean;
  log?: (line: string) => void;
}

/**
 * The memory of one bot, whose key it is, about the people it talks with.
 *
 * A person is named as the bot knows them (the id of their account), a chat as that person's conversations are told
 * apart: the same id of another person is another chat.
 */
export class BotMemory {
  readonly client: Client;
  readonly #platform: string;
  readonly #account: string;
  readonly #strict: boolean;
  readonly #log: (line: string) => void;
  #silentUntil = 0;

  constructor(key: string, url?: string, options: BotOptions = {}) {
    const { platform = "web", account = "", strict = false, log = (line: string) => console.warn(line), ...more } = options;
    this.client = new Client(key, url, { timeout: 5_000, retries: 0, ...more });
    [this.#platform, this.#account, this.#strict, this.#log] = [platform, account, strict, log];
  }

  /** Where a message of a person comes from. */
  address(person: string, chat = ""): AddressField {
    const named = { account: this.#account, peer: person, chat: chat && `${person}/${chat}` };
    const given = Object.fromEntries(Object.entries(named).filter(([, value]) => value));
    return { platform: this.#platform, ...given } as AddressField;
  }

  /**
   * What is remembered that helps to answer a message.
   *
   * `history` are the messages before it where the bot gives them to its model itself; what they say is not repeated.
   * Without it the conversation, as memory has it, comes with the answer.
   */
  async before(person: string, message: string, chat = "", history?: Iterable<ModelMessage>): Promise<Before> {
    const nothing: Before = { text: "", recallId: null, history: [] };
    if (!message.trim() || Date.now() < this.#silentUntil) return nothing;
    const told = history ? { client_history: plain(history) } : {};
    return this.tried("memory is not asked", nothing, async () => {
      const asked = { address: this.address(person, chat), message: cut(message), ...told };
      const answer = await this.client.context(asked as Parameters<Client["context"]>[0]);
      const messages = answer.history.map(({ role, content }) => ({ role, content }));
      return { text: answer.text, recallId: answer.recall_id, history: messages };
    });
  }

  /**
   * Have a finished turn remembered; whether it was. What is longer than memory takes is cut, the calls of tools first:
   * a turn is not refused for its length.
   */
  async after(person: string, user: string, assistant: string, options: AfterOptions = {}): Promise<boolean> {
    const { chat = "", recallId = null, toolCalls, once, at } = options;
    const words = { user: cutSide(user ?? ""), assistant: cutSide(assistant ?? "") };
    const about = { recall_id: recallId, tool_calls: toolCalls && cutCalls(toolCalls), at: at?.toISOString() };
    const turn = { address: this.address(person, chat), ...words, ...about };
    return this.tried("a turn is not remembered", false, async () => {
      const key = once ? { idempotencyKey: await hashOf(once) } : {};
      await this.client.takeTurn(turn as Parameters<Client["takeTurn"]>[0], key);
      return true;
    });
  }

  /** The memories of a person that bear on some words, the best first. */
  async search(person: string, words: string, limit = 8): Promise<RecalledMemory[]> {
    if (!words.trim() || Date.now() < this.#silentUntil) return [];
    const asked = { address: this.address(person), message: cut(words), limit, need: "off", quotas: false };
    return this.tried("memory is not searched", [], async () => {
      return (await this.client.recall(asked as Parameters<Client["recall"]>[0])).memories;
    });
  }

  /** Remember a sentence about a person; the id of the memory, null where it was not kept. */
  async save(person: string, content: string, chat = ""): Promise<string | null> {
    const entry = { address: this.address(person, chat), content: cut(content) };
    return this.tried("a memory is not saved", null, async () => {
      return (await this.client.saveEntry(entry as Parameters<Client["saveEntry"]>[0])).id;
    });
  }

  /** What a call of the client answers, or `otherwise`. Throws MemplatformError only if this is strict. */
  async tried<T>(failure: string, otherwise: T, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (this.#strict || !(error instanceof MemplatformError)) throw error;
      if (error instanceof NoAnswer) this.#silentUntil = Date.now() + PAUSE;
      this.#log(`memplatform: ${failure}: ${error.message}`);
      return otherwise;
    }
  }
}

/** Of a model's messages the words of people and of the bot, the newest ones, as the API takes them. */
export function plain(history: Iterable<ModelMessage>): { role: string; content: string }[] {
  return [...history]
    .map(({ role, content }) => ({ role: String(role), content: cut(wordsOf(content)) }))
    .filter(({ role, content }) => (role === "user" || role === "assistant") && content.trim())
    .slice(-MOST_MESSAGES);
}

/** The text of a message that is a string or a list of parts; pictures, thoughts and other parts are left out. */
export function wordsOf(content: unknown): string {
  if (typeof content === "string") return content;
  const parts: (string | ModelPart | null)[] = Array.isArray(content) ? content : [];
  const texts = parts.map((part) => (typeof part === "string" ? part : part?.type === "reasoning" ? null : part?.text));
  return texts.filter((text) => typeof text === "string").join("\n");
}

/** The beginning of a text, without NUL and halves of characters, which no text of memory holds. */
function cut(text: string, most = MOST_CHARACTERS): string {
  return text.slice(0, most).replace(/\0|\p{Surrogate}/gu, "");
}

/** As much of a text as a side of a turn takes. */
function cutSide(text: string): string {
  const bytes = new TextEncoder().encode(cut(text, text.length)).subarray(0, MOST_BYTES);
  return new TextDecoder().decode(bytes, { stream: true }); // without half a character at its end
}

/** As many calls of tools as a turn takes, the first ones, with long texts in them cut. */
function cutCalls(calls: NewToolCall[]): NewToolCall[] {
  const taken: NewToolCall[] = [];
  let room = MOST_OF_CALLS;
  for (const call of calls) {
    const value = cutValue(call.arguments);
    const arguments_ = typeof value === "string" ? { arguments: value } : value;
    const small = { ...call, arguments: arguments_, result: cutValue(call.result) };
    room -= new TextEncoder().encode(JSON.stringify(small)).length;
    if (room < 0) break;
    taken.push(small);
  }
  return taken;
}

/**
 * A value of JSON; of a long one less of each text and list, so that whatever stays has its name. Memory does not keep
 * what stands under the name of a secret, and a text that is cut has no names: one that is JSON is cut as that.
 */
function cutValue(value: unknown): unknown {
  let short = cutTexts(value);
  const length = () => (typeof short === "string" ? short : (JSON.stringify(short) ?? "")).length;
  for (let most = MOST_OF_A_TEXT; most > 0 && length() > MOST_OF_A_TEXT; ) {
    most = Math.floor(most / 2);
    short = shrunk(short, most);
  }
  return short;
}

/** A value of JSON with so much of each text and list at most. */
function shrunk(value: unknown, most: number): unknown {
  if (typeof value === "string") {
    if (value.length > most && /^\s*[{[]/.test(value)) {
      try {
        return JSON.stringify(shrunk(cutTexts(JSON.parse(value)), most));
      } catch {
        // no JSON: a text like any other
      }
    }
    return cut(value, most);
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.slice(0, most).map((inner) => shrunk(inner, most));
  const entries = Object.entries(value).slice(0, most);
  return Object.fromEntries(entries.map(([name, inner]) => [name, shrunk(inner, most)]));
}

/** A value of JSON with its texts cut, whatever a tool was given or answered. */
function cutTexts(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return shrunk(cut(value, value.length), MOST_OF_A_TEXT);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= DEEPEST) return "…";
  if ("toJSON" in value && typeof value.toJSON === "function") return cutTexts(value.toJSON(), depth + 1);
  if (Array.isArray(value)) return value.map((inner) => cutTexts(inner, depth + 1));
  const entries = Object.entries(value).map(([name, inner]) => [cut(name, name.length), cutTexts(inner, depth + 1)]);
  return Object.fromEntries(entries);
}

async function hashOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Memory for the plugin of a chat bot: the text before a turn, the report after it, and the commands of people.
 *
 * What memory.py is for hosts of Python: change both. It asks nobody but the platform at the URL that the owner set.
 */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Milliseconds a bot's answer waits for memory at most, and for how long it does not wait at all after no answer. */
const WAIT = 2_000;
const PAUSE = 5_000;
/** Milliseconds before a report that nobody took is sent again. */
const AGAIN = [1_000, 4_000, 16_000];
const COMMAND_WAIT = 8_000;
const TOKENS = 2_000;
const HISTORY = 60;
const PAGE = 20;
const LINE = 160;
/** Of a question characters, of each side of a turn bytes. */
const CHARACTERS = 8_000;
const BYTES = 65_536;
const PEOPLE = 1_000;
const HAN = /[\u3400-\u9fff]/;
const TEXTS = JSON.parse(readFileSync(new URL("./texts.json", import.meta.url), "utf8"));
const LANGUAGES = ["en", "zh-hans"];
/** The commands by each of their names. */
const COMMANDS = Object.fromEntries(
  Object.entries(TEXTS.commands).flatMap(([command, names]) => names.map((name) => [name, command])),
);
const COMMAND = new RegExp(`^\\s*(?:@\\S+\\s+)?/(${Object.keys(COMMANDS).join("|")})(?:@\\S+)?(?:\\s+([^]*))?$`, "i");

/**
 * A message of a person, and where it was written: `platform`, `account` (the bot's id there), `peer` (who wrote it),
 * `chat`, `isGroup`, `text`, `id` (what the vendor calls the message) and `senderName`.
 * @typedef {{platform: string, account: string, peer: string, chat: string, isGroup: boolean, text: string,
 *   id?: string, senderName?: string}} Message
 */

/** Memory did not answer (status 0), or refused. It names no key, and nothing that people said. */
class Unanswered extends Error {
  constructor(why, status = 0, code = "") {
    super(why);
    this.status = status;
    this.code = code;
  }
}

/** A platform of memory, for the bot that a key belongs to. */
export class Memory {
  #url;
  #key;
  #language;
  #log;
  #isAway = false;
  #silentUntil = 0;
  /** By scope, the entries as people last saw them. */
  #lists = new Map();

  constructor(url, key, language, log) {
    this.#url = `${url.replace(/\/+$/, "")}/api/v1/`;
    this.#key = key;
    this.#language = LANGUAGES.includes(language) ? language : "";
    this.#log = log;
  }

  /**
   * What is remembered that helps to answer a message: `text` and `recallId`. Never throws, and takes two seconds at most.
   * `history` are the messages before it where the host gives them to its model itself; what they say is not repeated.
   * Without it the conversation as memory has it comes with the answer, as `history`.
   */
  async context(message, history) {
    const nothing = { text: "", recallId: null, history: [] };
    if (!message.text.trim() || Date.now() < this.#silentUntil) return nothing;
    const body = { address: address(message), message: storable(message.text.slice(0, CHARACTERS)), token_budget: TOKENS };
    if (history) body.client_history = plain(history);
    try {
      const answer = await this.#call("POST", "context", WAIT, { body });
      this.#isAway = false;
      const earlier = (answer.history ?? []).map(({ role, content }) => ({ role, content }));
      return { text: answer.text ?? "", recallId: answer.recall_id ?? null, history: earlier };
    } catch (why) {
      if (!why.status || why.status >= 429) this.#silentUntil = Date.now() + PAUSE; // else this message alone is refused
      if (!this.#isAway) this.#log(`memplatform: answering without memory: ${why.message}`);
      this.#isAway = true;
      return nothing;
    }
  }

  /** Have a finished turn remembered; the same message again changes nothing. Never throws. */
  async report(message, answer, recallId = null) {
    const body = { address: address(message), user: side(message.text), assistant: side(answer), recall_id: recallId };
    body.sender_name = [...storable(message.senderName ?? "")].slice(0, 64).join("");
    const key = keyOf(message);
    const headers = key ? { "Idempotency-Key": key } : {};
    let why;
    for (const pause of [0, ...(key ? AGAIN : [])]) {
      await sleep(pause);
      try {
        await this.#call("POST", "turns", COMMAND_WAIT, { body, headers });
        return;
      } catch (error) {
        why = error;
        if (why.status && why.status < 429 && why.code !== "session_busy") break; // refused: it would be again
      }
    }
    this.#log(`memplatform: a turn is not remembered: ${why.message}`);
  }

  /**
   * What a tool of a model answers, as the model reads it; `arguments_` are the model's own. Never throws: a model is
   * answered in words, also when memory is away.
   */
  async tool(message, name, arguments_) {
    const call = { id: "call", type: "function", function: { name, arguments: JSON.stringify(arguments_ ?? {}) } };
    try {
      const body = { address: address(message), call };
      const { answers } = await this.#call("POST", "tools/call", COMMAND_WAIT, { body });
      return { text: answers[0].message.content, isError: answers[0].is_error };
    } catch (why) {
      this.#log(`memplatform: ${name} failed: ${why.message}`);
      return { text: TEXTS[this.#language || "en"].away, isError: true };
    }
  }

  /** What to answer to /memory, /forget or /correct about one's own memory; null where a message is none of them. */
  async command(message) {
    const [, word, rest = ""] = message.text.match(COMMAND) ?? [];
    if (!word) return null;
    const name = COMMANDS[word.toLowerCase()];
    const argument = rest.trim();
    let texts = this.#texts(message.text);
    if (message.isGroup) return texts.direct;
    try {
      const { user_scope: scope } = await this.#call("POST", "scopes/resolve", COMMAND_WAIT, {
        body: { address: address(message) },
      });
      if (name === "memory" && !/^\d+$/.test(argument)) return await this.#list(scope, argument, message.text);
      const [, number, words] = argument.match(/^(\S*)\s*([^]*)$/);
      const entries = this.#lists.get(scope) ?? [];
      const entry = /^\d+$/.test(number) ? entries[Number(number) - 1] : undefined;
      if (!entry) return number ? filled(texts.number, { n: number.slice(0, 20) }) : texts.which;
      texts = this.#texts(message.text + entry.content);
      if (name === "memory") {
        const where = texts[entry.type] ?? texts.other;
        return `${shown(entry, texts)}\n${filled(texts.one, { day: day(entry), where })}`;
      }
      return await this.#change(name, entries, Number(number) - 1, words.trim(), texts);
    } catch (why) {
      this.#log(`memplatform: /${name} failed: ${why.message}`);
      return texts.away;
    }
  }

  async #list(scope, words, typed) {
    const query = new URLSearchParams({ scope, state: "live", limit: String(PAGE), ...(words ? { q: words } : {}) });
    let answer = { results: [], next: null };
    try {
      answer = await this.#call("GET", `entries?${query}`, COMMAND_WAIT);
    } catch (why) {
      if (why.status !== 404) throw why; // nobody has a memory before the first turn
    }
    const entries = answer.results;
    this.#lists.delete(scope);
    this.#lists.set(scope, [...entries]);
    if (this.#lists.size > PEOPLE) this.#lists.delete(this.#lists.keys().next().value);
    const texts = this.#texts(typed + entries.map((entry) => entry.content).join(""));
    if (!entries.length) return words ? filled(texts.nothing_found, { words }) : texts.nothing;
    const lines = entries.map((entry, place) => `${place + 1}. ${cut(shown(entry, texts))}`);
    return [texts.list, ...lines, ...(answer.next ? [texts.more] : []), texts.how].join("\n");
  }

  /** Forget or correct the entry in a place, unless it is another by now. */
  async #change(name, entries, place, words, texts) {
    const entry = entries[place];
    if (name === "correct" && !words) return texts.words;
    const headers = { "If-Match": `"${entry.version}"` };
    try {
      if (name === "forget") {
        await this.#call("DELETE", `entries/${entry.id}`, COMMAND_WAIT, { headers });
        entries[place] = null;
        return filled(texts.forgotten, { words: quoted(entry, texts) });
      }
      const body = { content: words };
      const now = await this.#call("PATCH", `entries/${entry.id}`, COMMAND_WAIT, { headers, body });
      entries[place] = now;
      return filled(texts.corrected, { before: quoted(entry, texts), after: cut(shown(now, texts)) });
    } catch (why) {
      if (why.status === 404 || why.status === 412) return texts.changed;
      throw why;
    }
  }

  /** Our sentences in the language that is set, else in the one of these words. */
  #texts(words) {
    return TEXTS[this.#language || (HAN.test(words) ? "zh-hans" : "en")];
  }

  /** The JSON of an answer. Throws Unanswered. */
  async #call(method, path, milliseconds, { body, headers = {} } = {}) {
    const what = `${method} ${path.split(/[/?]/)[0]}`;
    let answer;
    let json;
    try {
      answer = await fetch(this.#url + path, {
        method,
        headers: { Authorization: `Bearer ${this.#key}`, "Content-Type": "application/json", ...headers },
        body: body && JSON.stringify(body),
        redirect: "error",
        signal: AbortSignal.timeout(milliseconds),
      });
      json = await answer.json();
    } catch (error) {
      throw new Unanswered(`${what}: ${error.cause?.code ?? error.name}`);
    }
    if (!json || typeof json !== "object" || Array.isArray(json)) throw new Unanswered(`${what}: an answer of another program`);
    if (answer.ok) return json;
    const code = json.errors?.[0]?.code ?? "";
    throw new Unanswered(`${what}: ${answer.status} ${code}`, answer.status, code);
  }
}

/** Whether a message is a command about one's own memory. */
export function isCommand(text) {
  return COMMAND.test(text);
}

/** The words of a message of a model, without pictures and calls of tools. */
export function wordsOf(message) {
  const parts = Array.isArray(message?.content) ? message.content : [{ type: "text", text: message?.content }];
  const texts = parts.filter((part) => part?.type === "text" && typeof part.text === "string");
  return texts.map((part) => part.text).join("\n").trim();
}

/** Of a model's messages the words of people and of the bot, the newest ones, as the API takes them. */
function plain(history) {
  const spoken = (history ?? []).filter((message) => message?.role === "user" || message?.role === "assistant");
  const messages = spoken.map((message) => ({ role: message.role, content: storable(wordsOf(message).slice(0, CHARACTERS)) }));
  return messages.filter((message) => message.content).slice(-HISTORY);
}

/** A text without what no text of memory holds: NUL, halves of characters. */
function storable(text) {
  return text.replace(/\0|\p{Surrogate}/gu, "");
}

/** As much of a text as a side of a turn takes. */
function side(text) {
  const bytes = new TextEncoder().encode(storable(text)).subarray(0, BYTES);
  return new TextDecoder().decode(bytes, { stream: true }); // without half a character at its end
}

/** When an entry was written, where the bot is. */
function day(entry) {
  return new Date(entry.created_at).toLocaleDateString("sv-SE");
}

function address({ platform, account, peer, chat, isGroup }) {
  return { platform, account, peer, chat, is_group: isGroup };
}

/** The same for the same message, however often it is reported; empty where the vendor has no ids. */
function keyOf({ platform, account, chat, peer, id }) {
  return id ? createHash("sha256").update([platform, account, chat, peer, id].join("\0")).digest("hex") : "";
}

function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (_whole, name) => values[name]);
}

/** The words of an entry for the person it is about. */
function shown(entry, texts) {
  return entry.category === "credential" ? texts.secret : entry.content;
}

/** They on one line, between quotation marks. */
function quoted(entry, texts) {
  return `“${cut(shown(entry, texts))}”`;
}

/** It as one line of a list. */
function cut(content) {
  const parts = content.split(/\r?\n/).map((part) => part.trim());
  const line = [...parts.filter(Boolean).join(" / ")];
  return line.length <= LINE ? line.join("") : `${line.slice(0, LINE - 1).join("")}…`;
}

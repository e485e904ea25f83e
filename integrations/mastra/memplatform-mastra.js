/**
 * Memory for agents of Mastra: a processor of what goes in and of what comes out, and tools with which the model looks
 * itself. Who speaks is the resource of the call (`memory: { resource, thread }`), or what its request context holds.
 */

import { MASTRA_RESOURCE_ID_KEY, MASTRA_THREAD_ID_KEY } from "@mastra/core/request-context";
import { createTool } from "@mastra/core/tools";
import { plain } from "memplatform-client";
import { z } from "zod";

/** @typedef {import("memplatform-client").BotMemory} BotMemory */

/** One object for `inputProcessors` and for `outputProcessors` of any number of agents. */
export class MemplatformProcessor {
  id = "memplatform";
  name = "memplatform";
  #memory;
  #runs = new WeakMap(); // by the state of a run

  constructor(/** @type {BotMemory} */ memory) {
    this.#memory = memory;
  }

  /** What is known of whoever speaks is one more system message of this run, and no message of the thread. */
  async processInput({ messages, systemMessages, requestContext, messageList }) {
    const { person, chat } = whose(requestContext, messages);
    const place = messages.findLastIndex(({ role }) => role === "user");
    const words = place < 0 ? "" : wordsOf(messages[place]);
    if (!person || !words.trim()) return { messages, systemMessages };
    const history = plain(messages.slice(0, place).map((message) => ({ role: message.role, content: wordsOf(message) })));
    const known = await this.#memory.before(person, words, chat, history);
    this.#runs.set(messageList, { person, chat, words, recallId: known.recallId });
    if (known.text) systemMessages = [...systemMessages, { role: "system", content: known.text }];
    return { messages, systemMessages };
  }

  /** Have the answered turn remembered, with the calls of tools. */
  async processOutputResult({ messages, messageList, result }) {
    const turn = this.#runs.get(messageList);
    this.#runs.delete(messageList);
    if (!turn || !result?.text.trim() || result.finishReason === "error") return messages;
    const steps = result.steps ?? [];
    const results = new Map(steps.flatMap(({ toolResults }) => toolResults ?? []).map(({ payload }) => [payload.toolCallId, payload]));
    const toolCalls = steps
      .flatMap((step) => step.toolCalls ?? [])
      .map(({ payload }) => ({
        name: payload.toolName,
        arguments: payload.args ?? {},
        result: asText(results.get(payload.toolCallId)?.result),
      }));
    const { person, words, chat, recallId } = turn;
    await this.#memory.after(person, words, result.text, { chat, recallId, ...(toolCalls.length ? { toolCalls } : {}) });
    return messages;
  }
}

/** Tools with which a model searches the memory of whoever it speaks with, and saves to it. */
export function memoryTools(/** @type {BotMemory} */ memory) {
  return {
    memory_search: createTool({
      id: "memory_search",
      description: "Search what is remembered of the user. Call it before you answer anything about the past.",
      inputSchema: z.object({ words: z.string() }),
      execute: async ({ words }, { requestContext, agent }) => {
        const { person } = whose(requestContext, [], agent);
        return person ? (await memory.search(person, words)).map(({ content }) => content) : [];
      },
    }),
    memory_save: createTool({
      id: "memory_save",
      description: "Save what the user asks to remember, as one full sentence that stands by itself.",
      inputSchema: z.object({ sentence: z.string() }),
      execute: async ({ sentence }, { requestContext, agent }) => {
        const { person, chat } = whose(requestContext, [], agent);
        return person && (await memory.save(person, sentence, chat)) ? "It is remembered." : "It could not be saved.";
      },
    }),
  };
}

/** Who speaks, and in which thread: what a server has set by itself comes before what a call says. */
function whose(requestContext, messages = [], agent = {}) {
  const own = requestContext?.get("MastraMemory") ?? {};
  const said = messages.findLast(({ resourceId }) => resourceId) ?? {};
  return {
    person: requestContext?.get(MASTRA_RESOURCE_ID_KEY) ?? own.resourceId ?? said.resourceId ?? agent.resourceId ?? "",
    chat: requestContext?.get(MASTRA_THREAD_ID_KEY) ?? own.thread?.id ?? said.threadId ?? agent.threadId ?? "",
  };
}

/** The words of a message, without pictures, thoughts and calls. */
function wordsOf({ content }) {
  const texts = (content?.parts ?? []).filter(({ type }) => type === "text").map(({ text }) => text);
  return texts.join("\n");
}

function asText(value) {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/**
 * Memory for the AI SDK: a middleware of the model, with which nobody has to think of it, and tools with which the model
 * looks itself.
 *
 * Who speaks stands in the call: `providerOptions: { memplatform: { person, chat } }`. A call without it is left alone.
 */

import { jsonSchema, tool } from "ai";

/** Turns that are under way and kept in mind at most. */
const MOST = 1_000;

/** @typedef {import("memplatform-client").BotMemory} BotMemory */

/** A middleware for `wrapLanguageModel`: what is known goes into the system message, each answered turn is remembered. */
export function memoryMiddleware(/** @type {BotMemory} */ memory) {
  const asked = new Map(); // what memory said to turns that are under way
  const turns = new WeakMap(); // by the parameters of a call of the model

  return {
    specificationVersion: "v4",

    async transformParams({ params }) {
      const { person, chat = "" } = params.providerOptions?.memplatform ?? {};
      const place = params.prompt.findLastIndex((message) => message.role === "user");
      const words = place < 0 ? "" : wordsOf(params.prompt[place]);
      if (!person || !words.trim()) return params;
      const key = JSON.stringify([person, chat, words]);
      const isFirst = place === params.prompt.length - 1; // later steps follow the results of tools
      if (isFirst || !asked.has(key)) {
        const history = params.prompt.slice(0, place).map((message) => ({ role: message.role, content: wordsOf(message) }));
        asked.set(key, await memory.before(person, words, chat, history));
        if (asked.size > MOST) asked.delete(asked.keys().next().value);
      }
      const known = asked.get(key);
      const given = known.text ? { ...params, prompt: withKnown(params.prompt, known.text) } : { ...params };
      turns.set(given, { person, chat, words, key, recallId: known.recallId, since: params.prompt.slice(place + 1) });
      return given;
    },

    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate();
      await report(turns.get(params), wordsOf(result), result.finishReason);
      return result;
    },

    async wrapStream({ doStream, params }) {
      const { stream, ...rest } = await doStream();
      let words = "";
      const listening = new TransformStream({
        async transform(part, controller) {
          controller.enqueue(part);
          if (part.type === "text-delta") words += part.delta;
          if (part.type === "finish") await report(turns.get(params), words, part.finishReason);
        },
      });
      return { stream: stream.pipeThrough(listening), ...rest };
    },
  };

  /** Have a turn remembered, unless the model waits for tools or has failed. */
  async function report(turn, words, reason) {
    if (!turn || !["stop", "length"].includes(reason.unified)) return;
    asked.delete(turn.key);
    const { person, chat, recallId, since } = turn;
    const parts = since.flatMap((message) => (Array.isArray(message.content) ? message.content : []));
    const results = new Map(parts.filter(({ type }) => type === "tool-result").map((part) => [part.toolCallId, part]));
    const toolCalls = parts
      .filter(({ type }) => type === "tool-call")
      .map(({ toolName, toolCallId, input }) => ({
        name: toolName,
        arguments: typeof input === "object" && input ? input : { input },
        result: resultOf(results.get(toolCallId)),
      }));
    const earlier = since.filter((message) => message.role === "assistant").map(wordsOf);
    const answer = [...earlier, words].filter((text) => text.trim()).join("\n");
    const more = toolCalls.length ? { toolCalls } : {};
    if (answer) await memory.after(person, turn.words, answer, { chat, recallId, ...more });
  }
}

/** Tools with which a model searches a person's memory, and saves to it. */
export function memoryTools(/** @type {BotMemory} */ memory, person, chat = "") {
  const text = (name, description) =>
    jsonSchema({ type: "object", properties: { [name]: { type: "string", description } }, required: [name] });
  return {
    memory_search: tool({
      description: "Search what is remembered of the user. Call it before you answer anything about the past.",
      inputSchema: text("words", "What to look for."),
      execute: async ({ words }) => (await memory.search(person, words)).map(({ content }) => content),
    }),
    memory_save: tool({
      description: "Save what the user asks to remember.",
      inputSchema: text("sentence", "One full sentence that stands by itself."),
      execute: async ({ sentence }) =>
        (await memory.save(person, sentence, chat)) ? "It is remembered." : "It could not be saved.",
    }),
  };
}

/** The words of a message, without pictures, thoughts and calls. */
function wordsOf({ content }) {
  if (typeof content === "string") return content;
  return content.filter(({ type }) => type === "text").map(({ text }) => text).join("\n");
}

/** A prompt whose first message is what is known, after the bot's own instructions. */
function withKnown(prompt, text) {
  const [first, ...rest] = prompt;
  if (first.role !== "system") return [{ role: "system", content: text }, ...prompt];
  return [{ ...first, content: `${first.content}\n\n${text}` }, ...rest];
}

/** What a tool answered, as text. */
function resultOf(part) {
  const value = part?.output?.value ?? "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

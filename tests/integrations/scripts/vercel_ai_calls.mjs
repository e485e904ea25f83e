// The middleware and the tools in calls of the AI SDK.

import assert from "node:assert/strict";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, jsonSchema, streamText, tool, ToolLoopAgent, wrapLanguageModel } from "ai";
import { BotMemory } from "memplatform-client";
import { memoryMiddleware, memoryTools } from "./memplatform-ai.js";
import { done, DOWN, entries, FACT, KEY, MODEL, NAME, person, QUESTION, readme, scenario, URL, WRONG_KEY } from "./trial.mjs";

const openai = createOpenAI({ baseURL: MODEL, apiKey: "none" });
const memory = new BotMemory(KEY, URL);

function modelOf(bot = memory) {
  return wrapLanguageModel({ model: openai.chat("scripted"), middleware: memoryMiddleware(bot) });
}

const from = (who, chat = "1") => ({ providerOptions: { memplatform: { person: who, chat } } });

async function turn(who, chat, prompt, bot) {
  return (await generateText({ model: modelOf(bot), prompt, ...from(who, chat) })).text;
}

async function history(who, chat = "1") {
  const { session_key: session } = await memory.client.resolveAddress({ address: memory.address(who, chat) });
  return (await memory.client.replaySession(session, { platform: "web" })).messages;
}

const deploy = tool({
  description: "Deploy the shop.",
  inputSchema: jsonSchema({ type: "object", properties: {} }),
  execute: async () => ({ deployed: "at noon" }),
});

await scenario("a fact of a first session in a second", async () => {
  const who = person();
  await turn(who, "1", FACT);
  assert.match(await turn(who, "2", QUESTION), /Wren/);
  assert.ok((await entries(NAME, { scope: `web:direct_${who}` })).length);
});

await scenario("another person does not get it, and a call that names nobody is left alone", async () => {
  await turn(person(), "1", FACT);
  assert.equal(await turn(person(), "1", QUESTION), "I do not know.");
  assert.equal((await generateText({ model: modelOf(), prompt: QUESTION })).text, "I do not know.");
});

await scenario("memory away, and a key that is refused: the turn goes on, with one line for what went wrong", async () => {
  for (const [key, url] of [[KEY, DOWN], [WRONG_KEY, URL]]) {
    const lines = [];
    const bot = new BotMemory(key, url, { log: (line) => lines.push(line) });
    assert.equal(await turn(person(), "1", QUESTION, bot), "I do not know.");
    assert.ok(lines.length > 0 && lines.length <= 2 && !lines.join().includes(WRONG_KEY), lines);
  }
});

await scenario("in a stream, with instructions and a history of the bot's own", async () => {
  const who = person();
  await streamText({ model: modelOf(), prompt: FACT, ...from(who, "1") }).consumeStream();
  const messages = [
    { role: "user", content: "Hello." },
    { role: "assistant", content: "Hello, friend." },
    { role: "user", content: [{ type: "text", text: QUESTION }] },
  ];
  const run = streamText({ model: modelOf(), instructions: "Be brief.", messages, ...from(who, "2") });
  assert.match(await run.text, /Wren/);
  assert.deepEqual((await history(who, "2")).map(({ content }) => content), [QUESTION, "It is called Wren."]);
});

await scenario("a call of a tool is kept with its turn, in several steps", async () => {
  for (const call of [generateText, streamText]) {
    const who = person();
    const run = call({ model: modelOf(), prompt: "Deploy the shop", tools: { deploy }, stopWhen: isStepCount(3), ...from(who) });
    assert.equal(await (await run).text, "Deployed.");
    const [question, answer] = await history(who);
    assert.deepEqual([question.content, answer.content], ["Deploy the shop", "Deployed."]);
    assert.equal(answer.data.tool_calls.length, 1);
    assert.match(answer.data.tool_calls[0].result, /noon/);
  }
});

await scenario("the model searches and saves by its tools, in an agent", async () => {
  const who = person();
  const asked = (name, prompt) =>
    new ToolLoopAgent({ model: openai.chat("scripted"), tools: memoryTools(memory, name) }).generate({ prompt });
  await asked(who, 'Please.\nCall memory_save with {"sentence": "Her boat is called Wren."}');
  assert.equal((await entries(NAME, { scope: `web:direct_${who}` }))[0].type, "user_explicit");
  for (const [name, there] of [[who, true], [person(), false]]) {
    const { steps } = await asked(name, 'Please.\nCall memory_search with {"words": "boat"}');
    assert.equal(JSON.stringify(steps[0].toolResults).includes(NAME), there);
  }
});

await scenario("one model for many people at once", async () => {
  const [model, people] = [modelOf(), Array.from({ length: 4 }, person)];
  const all = (chat, words) =>
    Promise.all(people.map((who, n) => generateText({ model, prompt: words(n), ...from(who, chat) })));
  await all("1", (n) => (n % 2 ? FACT : "Hello."));
  const answers = await all("2", () => QUESTION);
  assert.deepEqual(answers.map(({ text }) => text.includes(NAME)), [false, true, false, true]);
});

await scenario("the README's code", async () => {
  assert.match(readme().at(-1), /Wren/);
});

done();

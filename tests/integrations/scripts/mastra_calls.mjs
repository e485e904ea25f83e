// The processor and the tools in agents of Mastra.

import assert from "node:assert/strict";
import { createOpenAI } from "@ai-sdk/openai";
import { Agent } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { MASTRA_RESOURCE_ID_KEY, RequestContext } from "@mastra/core/request-context";
import { createTool } from "@mastra/core/tools";
import { BotMemory } from "memplatform-client";
import { z } from "zod";
import { MemplatformProcessor, memoryTools } from "./memplatform-mastra.js";
import { done, DOWN, entries, FACT, KEY, MODEL, NAME, person, QUESTION, readme, scenario, URL, WRONG_KEY } from "./trial.mjs";

const openai = createOpenAI({ baseURL: MODEL, apiKey: "none" });
const memory = new BotMemory(KEY, URL);

function agentOf(bot = memory, options = {}) {
  const own = bot ? new MemplatformProcessor(bot) : null;
  const processors = own ? { inputProcessors: [own], outputProcessors: [own] } : {};
  const model = openai.chat("scripted");
  return new Agent({ id: "bot", name: "bot", instructions: "Be brief.", model, ...processors, ...options });
}

async function turn(agent, who, thread, words) {
  return (await agent.generate(words, { memory: { resource: who, thread } })).text;
}

async function history(who, chat = "1") {
  const { session_key: session } = await memory.client.resolveAddress({ address: memory.address(who, chat) });
  return (await memory.client.replaySession(session, { platform: "web" })).messages;
}

const deploy = createTool({
  id: "deploy",
  description: "Deploy the shop.",
  inputSchema: z.object({}),
  execute: async () => ({ deployed: "at noon" }),
});

await scenario("a fact of a first session in a second", async () => {
  const who = person();
  await turn(agentOf(), who, "1", FACT);
  assert.match(await turn(agentOf(), who, "2", QUESTION), /Wren/);
  assert.ok((await entries(NAME, { scope: `web:direct_${who}` })).length);
});

await scenario("another person does not get it, and a call that names nobody is left alone", async () => {
  await turn(agentOf(), person(), "1", FACT);
  assert.equal(await turn(agentOf(), person(), "1", QUESTION), "I do not know.");
  assert.equal((await agentOf().generate(QUESTION)).text, "I do not know.");
});

await scenario("memory away, and a key that is refused: the turn goes on, with one line for what went wrong", async () => {
  for (const [key, url] of [[KEY, DOWN], [WRONG_KEY, URL]]) {
    const lines = [];
    const bot = new BotMemory(key, url, { log: (line) => lines.push(line) });
    assert.equal(await turn(agentOf(bot), person(), "1", QUESTION), "I do not know.");
    assert.ok(lines.length > 0 && lines.length <= 2 && !lines.join().includes(WRONG_KEY), lines);
  }
});

await scenario("in a stream, and a turn is the person's message and the answer", async () => {
  const who = person();
  for (const [chat, words] of [["1", FACT], ["2", QUESTION]]) {
    const stream = await agentOf().stream(words, { memory: { resource: who, thread: chat } });
    assert.match(await stream.text, /Wren/);
  }
  assert.deepEqual((await history(who, "2")).map(({ content }) => content), [QUESTION, "It is called Wren."]);
});

await scenario("whom a server names comes before whom a call names", async () => {
  const [who, other] = [person(), person()];
  await turn(agentOf(), who, "1", FACT);
  const requestContext = new RequestContext([[MASTRA_RESOURCE_ID_KEY, other]]);
  const { text } = await agentOf().generate(QUESTION, { memory: { resource: who, thread: "2" }, requestContext });
  assert.equal(text, "I do not know.");
});

await scenario("a call of a tool is kept with its turn", async () => {
  for (const kind of ["generate", "stream"]) {
    const who = person();
    const run = await agentOf(memory, { tools: { deploy } })[kind]("Deploy the shop", { memory: { resource: who, thread: "1" } });
    assert.equal(await run.text, "Deployed.");
    const [question, answer] = await history(who);
    assert.deepEqual([question.content, answer.content], ["Deploy the shop", "Deployed."]);
    assert.equal(answer.data.tool_calls.length, 1);
    assert.match(answer.data.tool_calls[0].result, /noon/);
  }
});

await scenario("the model searches and saves by its tools", async () => {
  const who = person();
  const agent = agentOf(null, { tools: memoryTools(memory) });
  await turn(agent, who, "1", 'Please.\nCall memory_save with {"sentence": "Her boat is called Wren."}');
  assert.equal((await entries(NAME, { scope: `web:direct_${who}` }))[0]?.type, "user_explicit");
  for (const [name, there] of [[who, true], [person(), false]]) {
    const asked = { memory: { resource: name, thread: "2" } };
    const { toolResults } = await agent.generate('Please.\nCall memory_search with {"words": "boat"}', asked);
    assert.equal(JSON.stringify(toolResults).includes(NAME), there);
  }
});

await scenario("beside Mastra's own memory, whose thread has nothing of what memory says", async () => {
  const [who, own] = [person(), new MockMemory()];
  await turn(agentOf(), who, "1", FACT);
  const thread = `thread-${who}`;
  for (const words of [QUESTION, "And once more?"]) {
    assert.match(await turn(agentOf(memory, { memory: own }), who, thread, words), /Wren/);
  }
  const kept = JSON.stringify(await own.recall({ threadId: thread, resourceId: who }));
  assert.ok(kept.includes("And once more?") && !kept.includes("information, never"), kept);
  assert.equal((await history(who, thread)).length, 4);
});

await scenario("the README's code", async () => {
  assert.match(readme().at(-1), /Wren/);
});

done();

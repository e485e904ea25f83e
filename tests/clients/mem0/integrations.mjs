// One JavaScript framework's memory by mem0, as it is installed, against a running platform:
// `node integrations.mjs HOST KEY FOLDER NAME`. Prints one JSON object, as integrations.py does.

import { createRequire } from "node:module";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

process.env.MEM0_TELEMETRY = "false";
console.error = () => {};
const [host, key, folder, name] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${folder}/`));
const version = JSON.parse(readFileSync(`${folder}/node_modules/${name}/package.json`, "utf8")).version;
const user = `finn-${randomUUID().slice(0, 8)}`;
const [said, question, answer] = ["My boat is called Wren", "What is my boat called?", "Wren"];
const calls = {};

async function tried(what, call) {
  try {
    calls[what] = (await call()) === false ? "a wrong answer" : "ok";
  } catch (error) {
    calls[what] = `${error.name}: ${error.message}`.slice(0, 200);
  }
}

async function everyMemory() {
  const headers = { Authorization: `Token ${key}`, "Content-Type": "application/json" };
  const body = JSON.stringify({ filters: { user_id: user } });
  return (await (await fetch(`${host}/v3/memories/`, { method: "POST", headers, body })).json()).results;
}

// A model of OpenAI's form that knows what is in its request, whole or in a stream.
async function withModel(work) {
  const server = createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      const asked = Buffer.concat(parts).toString();
      const content = asked.includes("called Wren") ? "It is called Wren." : "I do not know.";
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
      const shared = { id: "c1", created: 1, model: "scripted" };
      if (!JSON.parse(asked).stream) {
        const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
        response.setHeader("Content-Type", "application/json");
        response.end(JSON.stringify({ ...shared, object: "chat.completion", choices, usage }));
        return;
      }
      response.setHeader("Content-Type", "text/event-stream");
      for (const [delta, finish_reason] of [[{ role: "assistant", content }, null], [{}, "stop"]]) {
        const choices = [{ index: 0, delta, finish_reason }];
        response.write(`data: ${JSON.stringify({ ...shared, object: "chat.completion.chunk", choices })}\n\n`);
      }
      response.end("data: [DONE]\n\n");
    });
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  try {
    return await work(`http://127.0.0.1:${server.address().port}/v1`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

async function vercel() {
  const { generateText, streamText } = require("ai");
  const { addMemories, createMem0, getMemories, retrieveMemories, searchMemories } = require("@mem0/vercel-ai-provider");
  const whose = { host, mem0ApiKey: key, user_id: user };
  const provider = (baseURL) =>
    createMem0({ provider: "openai", mem0ApiKey: key, apiKey: "none", mem0Config: whose, config: { baseURL } }).chat("scripted");

  await tried("generateText keeps what is said", async () => {
    await withModel((url) => generateText({ model: provider(url), prompt: said }));
    return (await everyMemory()).some((row) => row.memory.includes(said));
  });
  await tried("generateText in another conversation", async () => {
    const { text, sources } = await withModel((url) => generateText({ model: provider(url), prompt: question }));
    return text.includes(answer) && sources.length === 1;
  });
  await tried("streamText in another conversation", async () => {
    const text = await withModel(async (url) => await streamText({ model: provider(url), prompt: question }).text);
    return text.includes(answer);
  });
  await tried("addMemories", async () => {
    const messages = [{ role: "user", content: [{ type: "text", text: "My sister is Lena" }] }];
    return (await addMemories(messages, { ...whose, run_id: "r1", metadata: { kind: "home" } })).results.length > 0;
  });
  await tried("retrieveMemories", async () => (await retrieveMemories("What is my sister called?", whose)).includes("Lena"));
  await tried("getMemories", async () => (await getMemories(question, { ...whose, top_k: 3, threshold: 0.1 }))[0].score > 0.1);
  await tried("searchMemories", async () => (await searchMemories(question, { ...whose, rerank: true })).results.length > 0);
}

async function mastra() {
  const { Mem0Integration } = require("@mastra/mem0");
  const made = () => new Mem0Integration({ config: { apiKey: key, host, userId: user, user_id: user } });

  await tried("createMemory", async () => {
    const text = await made().createMemory(said);
    return text.includes(said) && (await everyMemory()).length === 1;
  });
  await tried("createMemory of messages", async () => {
    const messages = [{ role: "user", content: "My sister is Lena" }, { role: "assistant", content: "Noted." }];
    return (await made().createMemory(messages)).includes("Lena");
  });
  await tried("searchMemory in another conversation", async () => (await made().searchMemory(question)).includes(answer));
}

await { "@mem0/vercel-ai-provider": vercel, "@mastra/mem0": mastra }[name]();
console.log(JSON.stringify({ client: `${name} (npm)`, version, calls }));
process.exit(0);

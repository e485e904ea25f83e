// One npm package that speaks to OpenAI, at its defaults, through the proxy: `node calls.mjs HOST KEY FOLDER NAME`.

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

process.env.OPENAI_AGENTS_DISABLE_TRACING = "1";
const [host, key, folder, name] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${folder}/`));
const load = (module) => import(pathToFileURL(require.resolve(module)));
const version = JSON.parse(readFileSync(`${folder}/node_modules/${name}/package.json`, "utf8")).version;
const sender = `emil-${randomUUID().slice(0, 8)}`;
const headers = { "X-Memplatform-Platform": "telegram", "X-Memplatform-Sender": sender };
const [model, fact, question, order] = ["scripted", "My boat is called Wren", "What is my boat called?", "Deploy the shop"];
const nothing = { type: "object", properties: {}, required: [], additionalProperties: false };
const calls = {};

async function tried(call, run) {
  try {
    calls[call] = (await run()) === false ? "a wrong answer" : "ok";
  } catch (error) {
    calls[call] = `${error.name}: ${error.message}`.slice(0, 300);
  }
}

async function isRemembered(words) {
  const body = { address: { platform: "telegram", peer: sender }, message: words, serve: "wide", need: "off" };
  for (let attempt = 0; attempt < 40; attempt++) {
    const answer = await fetch(`${host}/api/v1/recall`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if ((await answer.json()).memories.some((memory) => memory.content.includes(words))) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

const packages = {
  async openai() {
    const { OpenAI } = await load("openai");
    const client = new OpenAI({ baseURL: `${host}/v1`, apiKey: key, defaultHeaders: headers });
    const tools = [{ type: "function", name: "deploy", parameters: nothing, strict: true }];
    await tried("responses, told", async () => Boolean((await client.responses.create({ model, input: fact })).output_text));
    await tried("responses, asked", async () =>
      (await client.responses.create({ model, input: question })).output_text.includes("Wren"));
    await tried("responses, a stream", async () => {
      const stream = client.responses.stream({ model, input: question });
      for await (const event of stream) void event;
      return (await stream.finalResponse()).output_text.includes("Wren");
    });
    await tried("responses, a tool, by previous_response_id", async () => {
      const first = await client.responses.create({ model, tools, input: [{ role: "user", content: order }] });
      const call = first.output.find((item) => item.type === "function_call");
      const input = [{ type: "function_call_output", call_id: call.call_id, output: "ok" }];
      return (await client.responses.create({ model, tools, input, previous_response_id: first.id })).output_text === "Deployed.";
    });
    const messages = [{ role: "user", content: question }];
    await tried("chat completions", async () =>
      (await client.chat.completions.create({ model, messages })).choices[0].message.content.includes("Wren"));
    await tried("chat completions, a stream", async () => {
      let text = "";
      for await (const part of await client.chat.completions.create({ model, messages, stream: true }))
        text += part.choices[0]?.delta.content ?? "";
      return text.includes("Wren");
    });
    await tried("embeddings", async () =>
      (await client.embeddings.create({ model: "e", input: "x", encoding_format: "float" })).data[0].embedding.length === 64);
  },

  async ai() {
    const { generateText, streamText, tool, stepCountIs, embed, jsonSchema } = await load("ai");
    const { createOpenAI } = await load("@ai-sdk/openai");
    const openai = createOpenAI({ baseURL: `${host}/v1`, apiKey: key, headers });
    for (const [kind, used] of [["responses", openai(model)], ["chat", openai.chat(model)]]) {
      await tried(`${kind}, told`, async () => Boolean((await generateText({ model: used, prompt: fact })).text));
      await tried(`${kind}, asked`, async () => (await generateText({ model: used, prompt: question })).text.includes("Wren"));
      await tried(`${kind}, a stream`, async () => {
        let text = "";
        for await (const part of streamText({ model: used, prompt: question }).textStream) text += part;
        return text.includes("Wren");
      });
      await tried(`${kind}, a tool`, async () => {
        const deploy = tool({ description: "Deploy.", inputSchema: jsonSchema(nothing), execute: async () => "ok" });
        const answer = await generateText({ model: used, prompt: order, tools: { deploy }, stopWhen: stepCountIs(3) });
        return answer.text === "Deployed.";
      });
    }
    await tried("embeddings", async () =>
      (await embed({ model: openai.embedding("e"), value: "x" })).embedding.length === 64);
  },

  async "@openai/agents"() {
    const { Agent, run, tool, setDefaultOpenAIClient, setTracingDisabled } = await load("@openai/agents");
    const { OpenAI } = await load("openai");
    setTracingDisabled(true);
    setDefaultOpenAIClient(new OpenAI({ baseURL: `${host}/v1`, apiKey: key, defaultHeaders: headers }));
    const agent = new Agent({ name: "bot", instructions: "Be brief.", model });
    await tried("told", async () => Boolean((await run(agent, fact)).finalOutput));
    await tried("asked", async () => (await run(agent, question)).finalOutput.includes("Wren"));
    await tried("a stream", async () => {
      const stream = await run(agent, question, { stream: true });
      for await (const event of stream) void event;
      await stream.completed;
      return stream.finalOutput.includes("Wren");
    });
    await tried("a tool", async () => {
      const deploy = tool({ name: "deploy", description: "Deploy.", parameters: nothing, strict: true, execute: async () => "ok" });
      const worker = new Agent({ name: "worker", model, tools: [deploy] });
      return (await run(worker, order)).finalOutput === "Deployed.";
    });
  },
};

await packages[name]();
await tried("the turns are remembered", async () => (await isRemembered(fact)) && (await isRemembered("Deployed.")));
process.stdout.write(JSON.stringify({ client: name, version, calls }));
process.exit(0);

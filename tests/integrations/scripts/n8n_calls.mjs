// The node in workflows that n8n-core runs: compiled against n8n-workflow's types, loaded by its loader of packages. Of
// n8n's server only the helper of credentials is played here: it hands out the key, and signs as the credential says.

import "reflect-metadata";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { done, DOWN, entries, FACT, KEY, MODEL, NAME, person, QUESTION, scenario, URL, WRONG_KEY, ADAPTER } from "./trial.mjs";

const require = createRequire(import.meta.url);
const place = new globalThis.URL("./n8n-nodes-memplatform", import.meta.url).pathname;
rmSync(place, { recursive: true, force: true });
cpSync(ADAPTER, place, { recursive: true });
const built = spawnSync(process.execPath, [require.resolve("typescript/bin/tsc"), "-p", place], { encoding: "utf8" });
cpSync(`${place}/nodes/Memplatform/memplatform.svg`, `${place}/dist/nodes/Memplatform/memplatform.svg`);

const { Logger } = require("@n8n/backend-common");
const { Container } = require("@n8n/di");
const { ExecutionLifecycleHooks, PackageDirectoryLoader, WorkflowExecute } = require("n8n-core");
const { createRunExecutionData, ICredentialsHelper, Workflow } = require("n8n-workflow");

const lines = [];
const logger = { scoped: () => logger, error() {}, info() {}, debug() {}, warn: (line) => lines.push(line) };
Container.set(Logger, logger);

const loader = new PackageDirectoryLoader(place);
const TYPE = "n8n-nodes-memplatform.memplatform";

/** A node of the test's own: what it does to the items. */
function nodeOf(name, execute) {
  const description = { displayName: name, name, group: ["transform"], version: 1, inputs: ["main"], outputs: ["main"], properties: [], defaults: {} };
  return { description: { ...description, description: "" }, execute };
}

const ownTypes = {
  start: nodeOf("start", async function () {
    return [this.getInputData()];
  }),
  model: nodeOf("model", async function () {
    const items = this.getInputData().map(async ({ json }) => {
      const messages = [{ role: "system", content: json.memory || "-" }, { role: "user", content: json.chatInput }];
      const body = { model: "scripted", messages };
      const answer = await this.helpers.httpRequest({ method: "POST", url: `${MODEL}/chat/completions`, body, json: true });
      return { json: { ...json, output: answer.choices[0].message.content } };
    });
    return [await Promise.all(items)];
  }),
  // a loop: gives the next of its items to the node behind it, and all that came back when there is none
  each: nodeOf("each", async function () {
    const { items = this.getInputData()[0].json.of, given = [] } = this.getContext("node");
    const run = this.getWorkflowDataProxy(0).$runIndex;
    if (run > 0) given.push(this.getInputData()[0]);
    Object.assign(this.getContext("node"), { items, given });
    return run < items.length ? [[{ json: items[run] }], []] : [[], given];
  }),
};
ownTypes.each.description.outputs = ["main", "main"];

const nodeTypes = {
  getByName: (name) => nodeTypes.getByNameAndVersion(name),
  getByNameAndVersion: (name) => ownTypes[name] ?? loader.getNode(name.split(".").at(-1)).type,
  getKnownTypes: () => ({}),
};

class Credentials extends ICredentialsHelper {
  constructor(url, key) {
    super();
    this.data = { url, key };
  }
  getParentTypes() {
    return [];
  }
  isCredentialUsableByNode() {
    return true;
  }
  async preAuthentication() {}
  async getDecrypted() {
    return this.data;
  }
  async authenticate(credentials, typeName, options, workflow, node) {
    const { authenticate } = loader.getCredential(typeName).type;
    const headers = {};
    for (const [name, value] of Object.entries(authenticate.properties.headers)) {
      headers[name] = workflow.expression.getSimpleParameterValue(node, value, "internal", { $credentials: credentials });
    }
    return { ...options, headers: { ...options.headers, ...headers } };
  }
}

let executions = 0;

/** What the last of these nodes gives, one after another; each is a type, or the parameters of ours. */
async function run(nodes, items, { url = URL, key = KEY, loop = false } = {}) {
  executions += 1;
  const all = [["start", "start"], ...nodes].map(([name, what], number) => ({
    id: `${number}`,
    name,
    position: [0, 0],
    typeVersion: 1,
    credentials: { memplatformApi: { id: "1", name: "m" } },
    ...(typeof what === "string" ? { type: what, parameters: {} } : { type: TYPE, parameters: what }),
  }));
  const connections = {};
  for (const [number, { name }] of all.slice(0, -1).entries()) {
    connections[name] = { main: [[{ node: all[number + 1].name, type: "main", index: 0 }]] };
  }
  if (loop) connections[all.at(-1).name] = { main: [[{ node: all.at(-2).name, type: "main", index: 0 }]] };
  const id = `flow-${process.pid}-${executions}`;
  const workflow = new Workflow({ id, nodes: all, connections, active: false, nodeTypes, settings: { executionOrder: "v1" } });
  await workflow.expression.acquireIsolate?.();
  const hooks = new ExecutionLifecycleHooks("manual", `${executions}`, {});
  const more = { variables: {}, currentNodeExecutionIndex: 0, executionId: `${executions}`, webhookWaitingBaseUrl: URL, formWaitingBaseUrl: URL };
  const additional = { credentialsHelper: new Credentials(url, key), hooks, logAiEvent() {}, ...more };
  const first = workflow.getNode("start");
  const data = createRunExecutionData({
    executionData: {
      nodeExecutionStack: [{ node: first, data: { main: [items.map((json) => ({ json }))] }, source: null }],
      contextData: {},
      waitingExecution: {},
      waitingExecutionSource: {},
      metadata: {},
    },
  });
  const { data: told } = await new WorkflowExecute(additional, "manual", data).processRunExecutionData(workflow);
  const { error, runData, lastNodeExecuted } = told.resultData;
  if (error) throw error;
  const outputs = runData[lastNodeExecuted].at(-1).data.main;
  return (outputs.find((given) => given?.length) ?? []).map(({ json }) => json);
}

const who = { person: "={{ $json.from }}" };
const BOT = [
  ["Recall", { operation: "recall", ...who }],
  ["Model", "model"],
  ["Remember", { operation: "remember", ...who }],
];
const turn = async (from, sessionId, chatInput, more) => (await run(BOT, [{ from, sessionId, chatInput }], more))[0];

await scenario("it compiles with n8n-workflow's types, and n8n's loader takes the package", async () => {
  assert.equal(built.status, 0, built.stdout);
  await loader.loadAll();
  const { description } = loader.getNode("memplatform").type;
  assert.deepEqual([Object.keys(loader.nodeTypes), description.usableAsTool], [["memplatform"], true]);
  assert.deepEqual(Object.keys(loader.credentialTypes), ["memplatformApi"]);
  assert.match(description.iconUrl, /memplatform\.svg$/);
});

await scenario("a fact of a first session in a second", async () => {
  const from = person();
  assert.equal((await turn(from, "1", FACT)).isRemembered, true);
  const { output, memory, recallId } = await turn(from, "2", QUESTION);
  assert.match(output, /Wren/);
  assert.ok(memory && recallId && (await entries(NAME, { scope: `web:direct_${from}` })).length);
});

await scenario("another person does not get it", async () => {
  await turn(person(), "1", FACT);
  assert.equal((await turn(person(), "1", QUESTION)).output, "I do not know.");
});

await scenario("memory away, and a key that is refused: the items go on, the log has a line, and it stops if told to", async () => {
  for (const [key, url] of [[KEY, DOWN], [WRONG_KEY, URL]]) {
    lines.length = 0;
    const items = [1, 2, 3].map((n) => ({ from: person(), sessionId: `${n}`, chatInput: QUESTION }));
    const told = await run(BOT, items, { key, url });
    assert.deepEqual(told.map(({ output, isRemembered }) => [output, isRemembered]), items.map(() => ["I do not know.", false]));
    assert.ok(told[0].memoryError && !JSON.stringify([told, lines]).includes(WRONG_KEY));
    assert.equal(lines.filter((line) => line.startsWith("memplatform:")).length, 2); // of Recall, and of Remember
    const strict = ["Recall", { operation: "recall", ...who, options: { stopOnError: true } }];
    await assert.rejects(run([strict], items, { key, url }));
  }
});

await scenario("several items at once are each their own person's", async () => {
  const people = [person(), person(), person()];
  const items = (sessionId, words) => people.map((from, n) => ({ from, sessionId, chatInput: words(n) }));
  await run(BOT, items("1", (n) => (n === 1 ? FACT : "Hello.")));
  const told = await run(BOT, items("2", () => QUESTION));
  assert.deepEqual(told.map(({ output }) => output.includes(NAME)), [false, true, false]);
  assert.match((await turn(people[1], "1", QUESTION)).output, /Wren/); // n8n keeps no words of a chat by itself
});

await scenario("in a loop every sentence is saved", async () => {
  const from = person();
  const of = ["Her boat is called Wren.", "Her cat is called Moss."].map((sentence) => ({ from, sentence }));
  const save = { operation: "save", ...who, sentence: "={{ $json.sentence }}" };
  const saved = await run([["Each", "each"], ["Save", save]], [{ of }], { loop: true });
  assert.equal(new Set(saved.map(({ memoryId }) => memoryId).filter(Boolean)).size, 2);
});

await scenario("save and search, of nobody else", async () => {
  const from = person();
  const saved = await run([["Save", { operation: "save", ...who, sentence: "Her boat is called Wren." }]], [{ from }]);
  assert.ok(saved[0].memoryId);
  const find = ["Search", { operation: "search", ...who, words: "boat" }];
  const [own, other] = await run([find], [{ from }, { from: person() }]);
  assert.ok(own.memories[0].includes(NAME) && own.from === from);
  assert.deepEqual(other.memories, []);
});

done();

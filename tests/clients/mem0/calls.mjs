// Every call of a `MemoryClient` of the npm package that is installed beside this script's folder of modules, against a
// running platform: `node calls.mjs HOST KEY FOLDER`. Prints one JSON object, as calls.py does.

import { createRequire } from "node:module";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

process.env.MEM0_TELEMETRY = "false";
console.error = () => {};
const [host, key, folder] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${folder}/`));
const version = JSON.parse(readFileSync(`${folder}/node_modules/mem0ai/package.json`, "utf8")).version;
const { MemoryClient } = require("mem0ai");
const isNew = Number(version.split(".")[0]) >= 3;
const user = `bob-${randomUUID().slice(0, 8)}`;
const talk = [
  { role: "user", content: "I moved to Hangzhou in May" },
  { role: "assistant", content: "Noted." },
];
const calls = {};

async function tried(name, call) {
  try {
    calls[name] = (await call()) === false ? "a wrong answer" : "ok";
  } catch (error) {
    calls[name] = `${error.name}: ${error.message}`.slice(0, 200);
  }
}

const rows = (answer) => (Array.isArray(answer) ? answer : answer.results);
const forUser = isNew ? { userId: user } : { user_id: user };
const whose = isNew ? { filters: { userId: user } } : { user_id: user };
const second = isNew ? { filters: { AND: [{ userId: user }] } } : { api_version: "v2", filters: { AND: [{ user_id: user }] } };
const all = async () => rows(await client.getAll(whose));
const named = async (text) => (await all()).find((row) => row.memory === text).id;

const client = new MemoryClient({ apiKey: key, host });
await tried("ping", () => client.ping());
await tried("add", async () => rows(await client.add(talk, { ...forUser, metadata: { kind: "home" } })).length > 0);
await tried("add text as it is", async () => {
  const messages = [{ role: "user", content: "Bob likes green tea" }];
  return rows(await client.add(messages, { ...forUser, infer: false }))[0].event === "ADD";
});
await tried("add for an agent and a run", async () => {
  const ids = isNew ? { agentId: "waiter", runId: "r1" } : { agent_id: "waiter", run_id: "r1" };
  return rows(await client.add(talk, { ...forUser, ...ids })).length > 0;
});
await tried("add with options of all times", async () => {
  const options = isNew ? { asyncMode: false } : { output_format: "v1.1", version: "v2", enable_graph: true, async_mode: false };
  return rows(await client.add([{ role: "user", content: "My sister is Lena" }], { ...forUser, ...options })).length > 0;
});
await tried("getAll", async () => (await all()).length >= 3);
await tried("getAll by version 2", async () => rows(await client.getAll(second)).length >= 3);
await tried("getAll, a page", async () => {
  const page = isNew ? { page: 1, pageSize: 2 } : { page: 1, page_size: 2 };
  const answer = await client.getAll({ ...second, ...page });
  return answer.results.length === 2 && answer.count >= 3;
});
await tried("search", async () =>
  rows(await client.search("When did I move to Hangzhou?", whose)).some((row) => row.memory.includes("Hangzhou")));
await tried("search by version 2", async () => {
  const found = rows(await client.search("green tea", { ...second, ...(isNew ? { topK: 3 } : { top_k: 3 }) }));
  return found[0].memory.includes("tea") && found.length <= 3 && "score" in found[0];
});
await tried("get", async () => Boolean((await client.get((await all())[0].id)).memory));
await tried("update", async () => {
  const id = await named("Bob likes green tea");
  await client.update(id, { text: "Bob likes black tea" });
  return (await client.get(id)).memory === "Bob likes black tea";
});
await tried("history", async () => (await client.history(await named("Bob likes black tea"))).at(-1).event === "UPDATE");
await tried("users", async () => (await client.users()).results.some((entity) => entity.name === user));
await tried("batchUpdate", async () => {
  const id = await named("Bob likes black tea");
  await client.batchUpdate([{ memoryId: id, memory_id: id, text: "Bob likes white tea" }]);
  return (await client.get(id)).memory === "Bob likes white tea";
});
await tried("createMemoryExport", async () => {
  const made = await client.createMemoryExport({ schema: { type: "object" }, filters: isNew ? { userId: user } : { user_id: user } });
  const read = await client.getMemoryExport(isNew ? { memoryExportId: made.id } : { memory_export_id: made.id });
  return read.count >= 3;
});
await tried("feedback", async () => {
  const id = rows(await client.search("tea", whose))[0].id;
  return Boolean(await client.feedback({ memory_id: id, memoryId: id, feedback: "POSITIVE" }));
});
await tried("getProject", async () => Boolean((await client.getProject({ fields: ["custom_categories"] }))));
await tried("delete", async () => {
  const id = (await all()).find((row) => row.memory.includes("Lena")).id;
  await client.delete(id);
  return !(await all()).some((row) => row.id === id);
});
await tried("batchDelete", async () => {
  const id = await named("Bob likes white tea");
  await client.batchDelete([id]);
  return !(await all()).some((row) => row.id === id);
});
await tried("deleteAll, and the same told again", async () => {
  await client.deleteAll(forUser);
  if ((await all()).length) return false;
  await client.add(talk, forUser);
  return (await all()).some((row) => row.memory.includes("Hangzhou"));
});
await tried("deleteUsers", async () => {
  await client.deleteUsers(forUser);
  return (await all()).length === 0;
});
process.stdout.write(JSON.stringify({ client: "mem0ai (npm)", version, calls }));
process.exit(0);

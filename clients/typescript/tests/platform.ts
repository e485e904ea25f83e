/** The client against a running platform: MEMORY_URL, MEMORY_KEY. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { BotMemory, Client, errors, plain } from "../src/index.ts";

const { MEMORY_URL: url = "", MEMORY_KEY: key = "" } = process.env;
const memory = new Client(key, url);
const address = { platform: "telegram", account: "mybot", peer: "u42", chat: "c7" };
const scope = "telegram:direct_u42";

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const read: T[] = [];
  for await (const row of rows) read.push(row);
  return read;
}

test("a turn is reported and recalled", async () => {
  const turn = await memory.takeTurn({ address, user: "My bakery is closed on Mondays", assistant: "Noted." });
  const recall = await memory.recall({ address, message: "On which day is my bakery closed?", quotas: false, until: null });
  assert.deepEqual(
    recall.memories.map(({ id }) => id),
    turn.entries.map(({ id }) => id),
  );
  const context = await memory.context({ address, message: "On which day is my bakery closed?" });
  assert.deepEqual(
    context.history.map(({ content }) => content),
    ["My bakery is closed on Mondays", "Noted."],
  );
  assert.equal((await memory.readSession(context.session?.key ?? "")).last_position, 2);
});

test("a list is one run of rows however many pages it has", async () => {
  for (const day of [0, 1, 2]) {
    await memory.saveEntry({ scope: "main", content: `Day ${day} was fine`, slots: { day: `${day}` } });
  }
  const rows = await all(memory.listEntries({ scope: "main", limit: 2 }));
  assert.deepEqual(
    rows.map(({ content }) => content),
    [2, 1, 0].map((day) => `Day ${day} was fine`),
  );
  assert.deepEqual((await all(memory.listEntries({ slots: { day: "1" } }))).map(({ slots }) => slots), [{ day: "1" }]);
});

test("a change of another version is refused and has its class", async () => {
  const { id } = await memory.saveEntry({ scope, content: "The port is 8080" });
  assert.equal((await memory.changeEntry(id, { content: "The port is 9090" }, { ifMatch: 1 })).version, 2);
  await assert.rejects(memory.changeEntry(id, { content: "The port is 7070" }, { ifMatch: 1 }), (error) => {
    assert.ok(error instanceof errors.VersionConflict);
    assert.deepEqual([error.status, error.code], [412, "version_conflict"]);
    assert.ok(error.requestId);
    return true;
  });
  assert.equal((await memory.deleteEntry(id, { copies: "none" })).state, "expired");
  assert.equal((await memory.restoreEntry(id, { term_days: 30 })).state, "live");
});

test("an error names its field and never the key", async () => {
  // @ts-expect-error: the compiler names it first
  await assert.rejects(memory.recall({ adress: address, message: "hi" }), { name: "Invalid", code: "unknown", attr: "adress" });
  await assert.rejects(memory.readEntry("01a207a1-547a-748d-ab38-0bc2fe90971e"), errors.NotFound);
  await assert.rejects(new Client("mp_not_known", url).recall({ scope: "main", message: "hi" }), (error) => {
    assert.ok(error instanceof errors.NotAuthenticated);
    assert.ok(!error.message.includes("mp_not_known"));
    return true;
  });
});

test("times and odd names reach the platform", async () => {
  const at = new Date(Date.now() - 86_400_000);
  const turn = await memory.takeTurn({ address, user: "The boat is called Wren", assistant: "Noted.", at });
  const [entry] = turn.entries;
  assert.ok(entry && turn.session);
  assert.equal(Date.parse((await memory.readEntry(entry.id)).created_at), at.getTime());
  assert.deepEqual(await all(memory.listEvents({ from: "2026-01-01", to: "2026-01-31" })), []);
  const channel = await memory.setChannelRules("telegram", "my bot/é", { label: "Paint" });
  assert.equal((await memory.readChannel("telegram", "my bot/é")).id, channel.id);
  const saved = await memory.memorySave({ address, content: "王芳 paints the boat: «Mîr»" });
  assert.ok(saved.path && saved.line);
  assert.match((await memory.memoryGet({ address, path: saved.path, from: saved.line, lines: 1 })).text, /王芳 paints/);
  await assert.rejects(memory.takeTurn({ address, user: "half a character: \ud83d" }), errors.Invalid);
});

test("a turn whose answer was lost is sent again and remembered once", async () => {
  const answers: Response[] = [];
  const losing: typeof fetch = async (input, init) => {
    answers.push(await fetch(input, init));
    if (answers.length === 1) throw new TypeError("the line was cut");
    return answers.at(-1)!.clone();
  };
  const turn = await new Client(key, url, { fetch: losing }).takeTurn({ address, user: "My cat is called Rice" });
  assert.equal(answers.length, 2);
  assert.equal(answers[1]?.headers.get("Idempotent-Replayed"), "true");
  const rows = (await all(memory.listEntries({ scope }))).filter(({ content }) => content.includes("Rice"));
  assert.deepEqual(
    rows.map(({ id }) => id),
    turn.entries.map(({ id }) => id),
  );
});

test("an export is read while it arrives", async () => {
  const records = await all(memory.export({ scope }));
  assert.equal(records[0]?.record, "export");
  assert.equal(records.at(-1)?.record, "end");
  assert.ok(records.some(({ content }) => typeof content === "string" && content.includes("bakery")));
});

test("around a turn: a fact is known in another chat of its person, and to nobody else", async () => {
  const bot = new BotMemory(key, url, { platform: "cli", account: "shop" });
  const at = new Date("2026-01-02T03:04:05Z");
  const reported = { chat: "monday", once: "message 1", at };
  assert.ok(await bot.after("dana", "My boat is called Wren.", "Noted.", reported));
  assert.ok(await bot.after("dana", "My boat is called Wren.", "Noted.", reported), "told again, it is the same turn");
  const known = await bot.before("dana", "What is my boat called?", "friday");
  assert.match(known.text, /Wren/);
  assert.ok(known.recallId);
  const [found, ...others] = await bot.search("dana", "boat");
  assert.deepEqual(others, []);
  assert.match((await bot.client.readEntry(found?.id ?? "")).stated_at ?? "", /^2026-01-02T03:04:05/);
  assert.doesNotMatch((await bot.before("remy", "What is my boat called?", "monday")).text, /Wren/);
  assert.ok(await bot.save("remy", "Remy keeps bees."));
  assert.match((await bot.search("remy", "bees"))[0]?.content ?? "", /bees/);
});

test("a turn is remembered however much its tools answered, and a question asked without what cannot be stored", async () => {
  const bot = new BotMemory(key, url, { platform: "cli", account: "files", strict: true });
  const long = "字".repeat(40_000);
  let deep: unknown = ["a\0b", "\ud83d", 10n, new Date(0)];
  for (let level = 0; level < 30; level += 1) deep = { deep };
  const toolCalls = [
    { name: "read", arguments: { path: "a\0.txt" }, result: "x\0".repeat(600_000) },
    { name: "write", arguments: { text: long, dbPassword: "plumtree" }, result: deep },
    { name: "ask", arguments: { arguments: JSON.stringify({ auth: "plumtree", text: long }) }, result: "" },
    { name: "open", arguments: { at: new URL("https://a.example/x") }, result: Array(5_000).fill({ auth: "plumtree" }) },
    ...Array.from({ length: 200 }, () => ({ name: "list", arguments: {}, result: Array(5_000).fill("y") })),
  ];
  assert.ok(await bot.after("dana", `The kiln is hot. ${long}\0\ud83d`, long, { chat: "monday", toolCalls }));
  const { session_key: session } = await bot.client.resolveAddress({ address: bot.address("dana", "monday") });
  const [question, answer] = await all(bot.client.listSessionEvents(session, { platform: "cli", account: "files" }));
  assert.match(question?.content ?? "", /^The kiln is hot\. 字/);
  const kept = (answer?.data as { tool_calls: { name: string; arguments: unknown; result: unknown }[] }).tool_calls;
  assert.deepEqual([kept[0]?.arguments, kept[0]?.result], [{ path: "a.txt" }, "x".repeat(4_000)]);
  assert.ok(kept.length > 25 && kept.length < 110);
  assert.deepEqual(kept[3]?.arguments, { at: "https://a.example/x" });
  assert.ok(!JSON.stringify(kept).includes("plumtree"));
  assert.ok(await bot.after("dana", "The glaze is blue.", undefined as unknown as string, { chat: "monday" }));
  const history = [{ role: "user", content: "Hello\0\ud83d" }];
  assert.match((await bot.before("dana", "Is the kiln hot?\0\ud83d", "friday", history)).text, /kiln/);
});

test("memory that is away or refuses is logged, and costs no turn", async () => {
  for (const [wrong, place] of [[key, "http://127.0.0.1:9"], ["mp_nobody", url]] as const) {
    const lines: string[] = [];
    const bot = new BotMemory(wrong, place, { log: (line) => lines.push(line) });
    assert.deepEqual(await bot.before("dana", "Hello?"), { text: "", recallId: null, history: [] });
    assert.equal(await bot.after("dana", "Hello?", "Hello."), false);
    assert.equal(await bot.save("dana", "Dana keeps bees."), null);
    assert.equal(lines.length, 3);
    await assert.rejects(new BotMemory(wrong, place, { strict: true }).save("dana", "Bees."), errors.MemplatformError);
  }
});

test("of a model's messages words alone go to memory", () => {
  const parts = [{ type: "reasoning", text: "hm" }, { type: "text", text: "Look" }, { type: "image" }, "here", null];
  const messages = [{ role: "user", content: parts }, { role: "tool", content: "x" }, { role: "assistant", content: "" }];
  assert.deepEqual(plain(messages), [{ role: "user", content: "Look\nhere" }]);
});

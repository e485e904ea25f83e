/** When a call is tried again, and for how long: against a server that answers by a script. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, errors, NoAnswer } from "../src/index.ts";
import { pauseAfter } from "../src/retries.ts";
import { cut, platform } from "./server.ts";

const address = { platform: "cli" };
const busy = { errors: [{ code: "session_busy", detail: "Others are writing.", attr: null }] };
const frozen = { errors: [{ code: "scope_frozen", detail: "This scope is frozen.", attr: "scope" }] };
const answered = (status: number, headers: Record<string, string> = {}) => new Response("{}", { status, headers });

test("a write is sent again under the same key and word for word", async () => {
  const { url, asked } = await platform(
    cut,
    { status: 503 },
    { status: 409, headers: { "Retry-After": "1" }, body: busy },
    { status: 201, body: { entries: [] } },
  );
  assert.deepEqual(await new Client("mp_key\n", `${url}/`).takeTurn({ address, user: "hello" }), { entries: [] });
  assert.equal(asked.length, 4);
  assert.equal(new Set(asked.map(({ headers, body }) => `${headers["idempotency-key"]} ${body}`)).size, 1);
  assert.deepEqual(new Set(asked.map(({ headers }) => headers.authorization)), new Set(["Bearer mp_key"]));
  const [first, second, third, fourth] = asked.map(({ at }) => at) as [number, number, number, number];
  assert.ok(second - first >= 245 && third - second >= 495 && fourth - third >= 1_000);
});

test("two writes have two keys, and one of your own is the one that is sent", async () => {
  const { url, asked } = await platform({ status: 201 });
  const memory = new Client("mp_key", url);
  await memory.takeTurn({ address, user: "hello" });
  await memory.takeTurn({ address, user: "hello" });
  await memory.takeTurn({ address, user: "hello" }, { idempotencyKey: "update 17" });
  const keys = asked.map(({ headers }) => headers["idempotency-key"]);
  assert.equal(new Set(keys).size, 3);
  assert.equal(keys[2], "update 17");
  await memory.recall({ scope: "main", message: "hello" });
  assert.equal(asked[3]?.headers["idempotency-key"], undefined);
});

test("the platform says when, and is asked no sooner", () => {
  const pause = pauseAfter(answered(429, { "Retry-After": "17" }), 0) ?? 0;
  assert.ok(17_000 < pause && pause < 18_000);
  const past = pauseAfter(answered(503, { "Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT" }), 0) ?? 0;
  assert.ok(0 < past && past < 1_000);
  assert.equal(pauseAfter(answered(200, { "Retry-After": "5" }), 0), null);
});

test("pauses grow and have chance in them", () => {
  for (const [attempt, most] of [500, 1_000, 2_000, 4_000, 8_000, 8_000].entries()) {
    const pauses = Array.from({ length: 50 }, () => pauseAfter(new Error("refused"), attempt) ?? 0);
    assert.ok(pauses.every((pause) => most / 2 <= pause && pause <= most));
    assert.ok(new Set(pauses).size > 1);
  }
});

test("nobody waits for longer than a minute", async () => {
  const { url, asked } = await platform({ status: 429, headers: { "Retry-After": "3600" } });
  await assert.rejects(new Client("mp_key", url).recall({ scope: "main", message: "hello" }), errors.Throttled);
  assert.equal(asked.length, 1);
});

for (const [status, body, kind] of [
  [409, frozen, errors.ScopeFrozen],
  [400, {}, errors.Invalid],
  [500, {}, errors.Unavailable],
  [302, {}, errors.ApiError],
] as const) {
  test(`${status} will not change, and is not tried again`, async () => {
    const { url, asked } = await platform({ status, body, headers: { Location: "http://127.0.0.1:9/elsewhere" } });
    const error = await new Client("mp_key", url).takeTurn({ address, user: "hello" }).catch((reason: unknown) => reason);
    assert.equal((error as Error).constructor, kind);
    assert.equal((error as Error).name, kind.name);
    assert.equal(asked.length, 1);
  });
}

test("attempts end, and the error says what was asked and why nothing came", async () => {
  const { url, asked } = await platform({ status: 502 });
  const recall = new Client("mp_key", url, { retries: 1 }).recall({ scope: "main", message: "hello" });
  await assert.rejects(recall, errors.Unavailable);
  assert.equal(asked.length, 2);
  const nobody = new Client("mp_key", "http://127.0.0.1:9", { retries: 0 });
  await assert.rejects(nobody.recall({ scope: "main", message: "hello" }), (error) => {
    assert.ok(error instanceof NoAnswer);
    assert.match(error.message, /^POST \/api\/v1\/recall: .*(ECONNREFUSED|bad port)/);
    return true;
  });
});

test("an attempt ends when nothing is heard", async () => {
  const { url, asked } = await platform(() => undefined, { status: 200, body: { memories: [] } });
  const memory = new Client("mp_key", url, { timeout: 200 });
  assert.deepEqual(await memory.recall({ scope: "main", message: "hello" }), { memories: [] });
  assert.equal(asked.length, 2);
});

test("a signal of the caller ends a call and its pauses, and its reason is thrown", async () => {
  const { url, asked } = await platform({ status: 503, headers: { "Retry-After": "50" } });
  const memory = new Client("mp_key", url);
  const signal = AbortSignal.timeout(300);
  await assert.rejects(memory.recall({ scope: "main", message: "hello" }, { signal }), { name: "TimeoutError" });
  assert.equal(asked.length, 1);
  await assert.rejects(memory.readEntry("1", { signal }), { name: "TimeoutError" });
  assert.equal(asked.length, 1);
});

test("an answer that is no JSON is an error of the platform", async () => {
  const { url } = await platform({ status: 200, body: Buffer.from("<p>Please log in.</p>") });
  await assert.rejects(new Client("mp_key", url).recall({ scope: "main", message: "hello" }), {
    name: "ApiError",
    code: "unreadable",
    status: 200,
  });
});

test("a name leads to no other call, and what JSON has no word for is not sent", async () => {
  const { url, asked } = await platform({ status: 200 });
  const memory = new Client("mp_key", url);
  await memory.readChannel("telegram", "my bot/é?");
  assert.equal(asked[0]?.url, "/api/v1/channels/telegram/my%20bot%2F%C3%A9%3F");
  assert.throws(() => memory.readEntry(".."), TypeError);
  await assert.rejects(memory.recall({ scope: "main", message: "hello", limit: NaN }), /limit is NaN/);
  assert.throws(() => new Client("mp_key", "ftp://127.0.0.1"), /does not begin with http/);
  assert.equal(asked.length, 1);
});

/** An export is read to its last line, or is an error. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, errors, NoAnswer } from "../src/index.ts";
import { platform } from "./server.ts";

const whole = Buffer.from('{"record":"entry","content":"one\u2028two 王"}\n{"record":"end","counts":{}}\n');

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const read: T[] = [];
  for await (const row of rows) read.push(row);
  return read;
}

test("records are read while they arrive, however the bytes are cut", async () => {
  const { url, asked } = await platform({ status: 503 }, (_request, response) => {
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    const send = (at: number) => {
      if (at >= whole.length) return response.end();
      response.write(whole.subarray(at, at + 7));
      setTimeout(send, 120, at + 7);
    };
    send(0);
  });
  const records = await all(new Client("mp_key", url, { timeout: 1_000 }).export({ scope: "main" }));
  assert.deepEqual(records, [
    { record: "entry", content: "one\u2028two 王" },
    { record: "end", counts: {} },
  ]);
  assert.deepEqual(new Set(asked.map((one) => one.url)), new Set(["/api/v1/export?scope=main"]));
  assert.equal(asked.length, 2);
});

test("a reader that takes its time is not cut off, and one that leaves ends the answer", async () => {
  let isClosed = false;
  const { url } = await platform((_request, response) => {
    response.on("close", () => (isClosed = true));
    response.writeHead(200);
    response.write(whole.subarray(0, whole.indexOf("\n") + 1));
    setTimeout(() => response.write(whole.subarray(whole.indexOf("\n") + 1)), 250);
  });
  const seen: string[] = [];
  for await (const { record } of new Client("mp_key", url, { timeout: 200 }).export()) {
    seen.push(record);
    await new Promise((resolve) => setTimeout(resolve, 300));
    if (record === "end") break;
  }
  assert.deepEqual(seen, ["entry", "end"]);
  for (let waited = 0; !isClosed && waited < 50; waited++) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.ok(isClosed);
});

test("an export that breaks off is an error", async () => {
  const line = whole.subarray(0, whole.indexOf("\n") + 1);
  for (const part of [Buffer.alloc(0), whole.subarray(0, 20), whole.subarray(0, -1), line]) {
    const { url } = await platform({ status: 200, body: part });
    await assert.rejects(all(new Client("mp_key", url).export()), (error) => {
      assert.ok(error instanceof NoAnswer);
      assert.match(error.message, /GET \/api\/v1\/export: the answer broke off/);
      return true;
    });
  }
  const { url } = await platform((_request, response) => {
    response.writeHead(200, { "Content-Length": String(whole.length) });
    response.write(line, () => response.destroy());
  });
  await assert.rejects(all(new Client("mp_key", url).export()), /broke off/);
});

test("a refused export is the error it is", async () => {
  const body = { errors: [{ code: "permission_denied", detail: "No.", attr: null }] };
  const { url } = await platform({ status: 403, body });
  await assert.rejects(all(new Client("mp_key", url).export()), errors.NotAllowed);
});

test("a list is one run of rows over its pages", async () => {
  const { url, asked } = await platform(
    { status: 200, body: { results: [1, 2], next: "…", cursor: "a b" } },
    { status: 200, body: { results: [3], next: null, cursor: null } },
  );
  assert.deepEqual(await all(new Client("mp_key", url).listEntries({ limit: 2, slots: { day: "1" } })), [1, 2, 3]);
  assert.deepEqual(
    asked.map((one) => one.url),
    ["/api/v1/entries?limit=2&slot.day=1", "/api/v1/entries?limit=2&slot.day=1&cursor=a+b"],
  );
});

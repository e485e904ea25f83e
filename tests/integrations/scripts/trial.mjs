// What the scripts of the adapters for Node have in common, as trial.py: `node SCRIPT URL KEY MODEL ADAPTER` prints one
// JSON object. They stand, with the adapter, in the folder in which its framework is installed, and run there.

import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";

export const [URL, KEY, MODEL, ADAPTER] = process.argv.slice(2);
export const DOWN = "http://127.0.0.1:9";
export const WRONG_KEY = "mp_nobody_has_this_key";
export const [FACT, QUESTION, NAME] = ["My boat is called Wren.", "What is my boat called?", "Wren"];
Object.assign(process.env, { OPENAI_BASE_URL: MODEL, OPENAI_API_KEY: "sk-none", MEMORY_URL: URL, MEMORY_KEY: KEY });
console.warn = console.info = console.debug = console.log = (...words) => console.error(...words);
const outcomes = {};

/** Run a scenario, and note what became of it. */
export async function scenario(name, call) {
  try {
    await call();
    outcomes[name] = "ok";
  } catch (error) {
    outcomes[name] = `${error.name}: ${error.message}`.slice(0, 600);
    console.error(error);
  }
}

/** Somebody memory has not heard of. */
export function person() {
  return `dana-${randomUUID().slice(0, 8)}`;
}

/** What memory holds with these words. */
export async function entries(words = NAME, query = {}) {
  const asked = new URLSearchParams({ q: words, state: "live", ...query });
  const answer = await fetch(`${URL}/api/v1/entries?${asked}`, { headers: { Authorization: `Bearer ${KEY}` } });
  return (await answer.json()).results ?? [];
}

/** Run the README's code as it stands, but for the person's name, and give the lines it prints. */
export function readme() {
  const text = readFileSync(`${ADAPTER}/README.md`, "utf8");
  const code = [...text.matchAll(/^```js\n(.*?)^```/gms)].map((block) => block[1]).join("\n");
  const file = new globalThis.URL(`./readme-${randomUUID()}.mjs`, import.meta.url);
  writeFileSync(file, code.replaceAll("alice", person()));
  try {
    const ran = spawnSync(process.execPath, [file.pathname], { encoding: "utf8", timeout: 60_000 });
    if (ran.status) throw new Error(ran.stderr.slice(-500));
    return ran.stdout.trim().split("\n");
  } finally {
    rmSync(file);
  }
}

/** The outcomes, for whoever began this. */
export function done() {
  process.stdout.write(`${JSON.stringify(outcomes)}\n`, () => process.exit(0));
}

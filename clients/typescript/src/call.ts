/** One call: what is sent, and what a caller may add to it. */

/** What may be added to every call. */
export interface Options {
  /** Ends the call, its pauses too. */
  signal?: AbortSignal;
}

/** What may be added to a call that writes. */
export interface WriteOptions extends Options {
  /** One for each thing to be done, where your bot itself may be told twice; without it each call has its own. */
  idempotencyKey?: string;
}

/** What may be added to a change of something that has versions. */
export interface VersionedOptions extends WriteOptions {
  /** The version that was read: one that is no longer current is refused with VersionConflict. */
  ifMatch?: number;
}

/** A value of a query; `undefined` and `null` are not sent. */
export type QueryValue = string | number | boolean | Date | null | undefined;

/** What a list is narrowed by: slots are sent as `slot.<name>`. */
export function withSlots(query: object, slots: Record<string, string> = {}): Record<string, QueryValue> {
  return { ...query, ...Object.fromEntries(Object.entries(slots).map(([name, value]) => [`slot.${name}`, value])) };
}

/** What is sent. A write has a key, so that it is done once however often it is sent. */
export interface Call {
  method: string;
  path: string;
  query?: object;
  body?: object;
  writes?: boolean;
  options: VersionedOptions;
}

/** A path with the values of its places: at`/api/v1/entries/${uid}`. */
export function at(parts: TemplateStringsArray, ...places: (string | number)[]): string {
  return String.raw(
    { raw: parts },
    ...places.map((place) => {
      const text = String(place);
      if (["", ".", ".."].includes(text)) throw new TypeError(`"${text}" cannot stand in ${parts.join("…")}`);
      return encodeURIComponent(text);
    }),
  );
}

/** The call as fetch takes it, the same each time it is sent. */
export function requestOf(call: Call, base: string, key: string): { url: string; init: RequestInit } {
  const headers: Record<string, string> = { Authorization: `Bearer ${key}`, Accept: "application/json, */*;q=0.5" };
  if (call.body) headers["Content-Type"] = "application/json";
  if (call.writes) headers["Idempotency-Key"] = call.options.idempotencyKey ?? newKey();
  if (call.options.ifMatch !== undefined) headers["If-Match"] = `"${call.options.ifMatch}"`;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries<QueryValue>({ ...call.query })) {
    if (value !== undefined && value !== null) query.set(name, value instanceof Date ? value.toISOString() : `${value}`);
  }
  return {
    url: base + call.path + (query.size ? `?${query}` : ""),
    init: {
      method: call.method,
      headers,
      redirect: "manual", // to another host the key must not go
      ...(call.body ? { body: JSON.stringify(call.body, finite) } : {}),
    },
  };
}

/** An Idempotency-Key nobody else has. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function finite(name: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`${name} is ${value}: no number of JSON`);
  return value;
}

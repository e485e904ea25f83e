/** The client: where the platform is, the bot's key, and how often a call is tried. */

import { type Call, requestOf } from "./call.ts";
import { Calls } from "./calls.ts";
import { errorOf, NoAnswer } from "./errors.ts";
import { Records } from "./lines.ts";
import { pause, pauseAfter } from "./retries.ts";
import type { Page } from "./types.ts";

const LOCAL = "http://127.0.0.1:8000";

/** How a client asks. */
export interface ClientOptions {
  /** Milliseconds an attempt may go without hearing anything; 30,000. */
  timeout?: number;
  /** How often a call is tried again; 4. */
  retries?: number;
  /** What stands in for the global `fetch`: for a proxy, or certificates of your own. */
  fetch?: typeof fetch;
}

/** What one attempt came to: an answer with its text (empty while it is read as a stream), or what kept it away. */
type Outcome = { response: Response; text: string; silence: Silence } | Error;

/** Ends an attempt that nothing is heard of for too long, or that its caller ends. */
class Silence {
  readonly #controller = new AbortController();
  readonly #timeout: number;
  readonly #caller: AbortSignal | undefined;
  readonly #end = () => this.#controller.abort(this.#caller?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(timeout: number, caller: AbortSignal | undefined) {
    this.#timeout = timeout;
    this.#caller = caller;
    if (caller?.aborted) this.#end();
    caller?.addEventListener("abort", this.#end, { once: true });
    this.heard();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Something came: the time begins anew. */
  heard(): void {
    clearTimeout(this.#timer);
    const reason = new Error(`nothing was heard for ${this.#timeout} ms`);
    this.#timer = setTimeout(() => this.#controller.abort(reason), this.#timeout);
  }

  /** Nobody listens at this moment: the time stands still. */
  rest(): void {
    clearTimeout(this.#timer);
  }

  over(): void {
    this.rest();
    this.#caller?.removeEventListener("abort", this.#end);
  }
}

/** Every call of the platform. May be shared by everything that asks for one bot. */
export class Client extends Calls {
  readonly #key: string;
  readonly #url: string;
  readonly #timeout: number;
  readonly #retries: number;
  readonly #fetch: typeof fetch;

  constructor(key: string, url: string = LOCAL, options: ClientOptions = {}) {
    super();
    if (!/^https?:\/\//.test(url)) throw new TypeError(`url: ${url} does not begin with http:// or https://`);
    this.#key = key.trim();
    this.#url = url.replace(/\/+$/, "");
    this.#timeout = options.timeout ?? 30_000;
    this.#retries = options.retries ?? 4;
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
  }

  /** The answer to a call, tried again where that may help. Throws MemplatformError, or the reason of its signal. */
  protected async send<T>(call: Call): Promise<T> {
    const { response, text } = await this.#ask(call, false);
    if (response.ok) {
      try {
        return JSON.parse(text) as T;
      } catch {
        // a page of something between
      }
    }
    throw errorOf(aboutOf(call), response, text);
  }

  /** Row after row of a list, page after page. */
  protected async *rows<T>(call: Call): AsyncGenerator<T, void, undefined> {
    let cursor: string | null = null;
    do {
      const page: Page<T> = await this.send(cursor === null ? call : { ...call, query: { ...call.query, cursor } });
      yield* page.results;
      cursor = page.cursor;
    } while (cursor !== null);
  }

  /** Record after record of an answer, while it arrives. Throws MemplatformError, also where it breaks off. */
  protected async *lines<T extends { record: string }>(call: Call): AsyncGenerator<T, void, undefined> {
    const { response, text, silence } = await this.#ask(call, true);
    if (!response.ok || !response.body) throw errorOf(aboutOf(call), response, text);
    const records = new Records<T>(aboutOf(call));
    const reader = response.body.getReader();
    try {
      for (;;) {
        silence.heard();
        const { done, value } = await reader.read().catch((error: unknown) => {
          throw records.broken(error);
        });
        silence.rest();
        if (done) break;
        yield* records.wholeIn(value);
      }
    } catch (error) {
      call.options.signal?.throwIfAborted();
      throw error;
    } finally {
      silence.over();
      await reader.cancel().catch(() => undefined);
    }
    records.checkEnd();
  }

  /** What a call came to in the end. Throws NoAnswer, or the reason of the caller's signal. */
  async #ask(call: Call, stream: boolean): Promise<Exclude<Outcome, Error>> {
    const request = requestOf(call, this.#url, this.#key);
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#attempt(request, stream, call.options.signal);
      const came = outcome instanceof Error ? outcome : outcome.response;
      const again = attempt < this.#retries ? pauseAfter(came, attempt) : null;
      if (again !== null) {
        await pause(again, call.options.signal);
      } else if (outcome instanceof Error) {
        throw new NoAnswer(`${aboutOf(call)}: ${reasonOf(outcome)}`, { cause: outcome });
      } else {
        return outcome;
      }
    }
  }

  async #attempt(request: { url: string; init: RequestInit }, stream: boolean, caller?: AbortSignal): Promise<Outcome> {
    const silence = new Silence(this.#timeout, caller);
    let isRead = true;
    try {
      const response = await this.#fetch(request.url, { ...request.init, signal: silence.signal });
      isRead = !stream || !response.ok;
      return { response, text: isRead ? await response.text() : "", silence };
    } catch (error) {
      caller?.throwIfAborted();
      return error instanceof Error ? error : new Error(String(error));
    } finally {
      if (isRead) silence.over();
    }
  }
}

function aboutOf(call: Call): string {
  return `${call.method} ${call.path}`;
}

/** What kept an answer away; fetch itself says no more than that it failed. */
function reasonOf(error: Error): string {
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  const code = (cause as Error & { code?: unknown }).code;
  return [error.message, cause.message || code].filter(Boolean).join(": ");
}

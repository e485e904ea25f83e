/** Records that arrive line by line, cut out of bytes that come as they like. */

import { NoAnswer } from "./errors.ts";

/** The records of one answer. Only the line feed ends a line: texts hold other separators as they are. */
export class Records<T extends { record: string }> {
  #decoder = new TextDecoder();
  #rest = "";
  #last: T | undefined;
  #about: string;

  /** Of the call with this method and path. */
  constructor(about: string) {
    this.#about = about;
  }

  /** The error of an answer that is not whole. */
  broken(cause?: unknown): NoAnswer {
    return new NoAnswer(`${this.#about}: the answer broke off before its last line`, { cause });
  }

  /** The records that end in these bytes. Throws NoAnswer for a line that is none. */
  *wholeIn(part: Uint8Array): Generator<T> {
    const lines = (this.#rest + this.#decoder.decode(part, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      try {
        this.#last = JSON.parse(line) as T;
      } catch (error) {
        throw this.broken(error);
      }
      yield this.#last;
    }
  }

  /** Throws NoAnswer unless the last record says that it is the last. */
  checkEnd(): void {
    if (this.#rest || this.#last?.record !== "end") throw this.broken();
  }
}

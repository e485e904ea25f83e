/** Whether a call is tried again, and when. A write has its key, so that trying again never does it twice. */

const FIRST_PAUSE = 500; // milliseconds; twice as long after each attempt
const LONGEST_PAUSE = 8_000;
const LONGEST_WAIT = 60_000; // what an answer may ask for, before it is thrown as the error it is
const PASSING = [429, 502, 503, 504];

/** Milliseconds until the call is tried again; null: what came is what there is. */
export function pauseAfter(outcome: Response | Error, attempt: number): number | null {
  const backoff = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** attempt) * (0.5 + Math.random() / 2);
  if (outcome instanceof Error) return backoff;
  const wanted = milliseconds(outcome.headers.get("Retry-After"));
  if (wanted === null) return PASSING.includes(outcome.status) ? backoff : null;
  return outcome.ok || wanted > LONGEST_WAIT ? null : Math.max(wanted, 0) + backoff / 5;
}

/** Of a header that holds seconds or a date. */
function milliseconds(retryAfter: string | null): number | null {
  if (retryAfter === null) return null;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter) * 1_000;
  const date = Date.parse(retryAfter);
  return Number.isNaN(date) ? null : date - Date.now();
}

/** Waits. Throws the reason of a signal that ends it. */
export function pause(duration: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, duration);
    if (signal?.aborted) end();
    else signal?.addEventListener("abort", end, { once: true });
  });
}

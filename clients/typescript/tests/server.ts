/** A platform that answers by a script, the last of it for ever. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after } from "node:test";

/** One answer: its status, headers and body (JSON, or bytes as they are); or what is done in place of one. */
export type Answer =
  | { status: number; headers?: Record<string, string>; body?: unknown }
  | ((request: IncomingMessage, response: ServerResponse) => void);

export interface Asked {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage["headers"];
  body: string;
  at: number;
}

export async function platform(...script: [Answer, ...Answer[]]): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { method, url, headers } = request;
    asked.push({ method, url, headers, body: Buffer.concat(parts).toString(), at: Date.now() });
    const answer = script[Math.min(asked.length, script.length) - 1] ?? script[0];
    if (typeof answer === "function") return answer(request, response);
    response.writeHead(answer.status, answer.headers ?? {});
    response.end(Buffer.isBuffer(answer.body) ? answer.body : JSON.stringify(answer.body ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** The line is cut. */
export const cut: Answer = (request) => request.socket.destroy();

/** Long-term memory for OpenClaw: in the prompt of each turn, kept after it, and for people to see and correct. */

import { readFileSync } from "node:fs";

import { Memory, isCommand, wordsOf } from "./memory.js";

/** OpenClaw's channels as the API calls their platforms; others have the same name, or one that an operator adds. */
const PLATFORMS = {
  feishu: "lark",
  msteams: "teams",
  qqbot: "qq",
  weixin: "wechat",
  "openclaw-weixin": "wechat",
  webchat: "web",
};
/** The tools for its model, as the API describes them. */
const TOOLS = JSON.parse(readFileSync(new URL("./tools.json", import.meta.url), "utf8"));
/** How many messages, runs and names are kept at most. */
const MOST = 500;

/**
 * What all copies of this module share: OpenClaw loads a plugin several times in one process, from folders of its own
 * making, and what one copy hears another answers. `memories` by settings; `waiting`, by session and sender, the
 * messages that no run has taken up; `runs` by run the message that is being answered, and what was recalled for it;
 * `latest`, by session and sender, the message of the run that began last; `names` by channel and sender.
 */
const { memories, waiting, runs, latest, names } = (globalThis[Symbol.for("memplatform.openclaw.1")] ??= {
  memories: new Map(),
  waiting: new Map(),
  runs: new Map(),
  latest: new Map(),
  names: new Map(),
});

export default {
  id: "openclaw-memplatform",
  name: "memplatform",
  description: "Long-term memory from memplatform, per person and group",

  register(api) {
    const { url = "http://127.0.0.1:8000", key = "", language = "" } = api.pluginConfig ?? {};
    api.registerMemoryCapability({});
    if (!key) {
      api.logger.warn("memplatform: no key is set; nothing is remembered");
      return;
    }
    const settings = JSON.stringify([url, key, language]);
    if (!memories.has(settings)) {
      memories.set(settings, new Memory(url, key, language, (line) => api.logger.warn(line)));
    }
    const memory = memories.get(settings);

    api.on("message_received", (event, ctx) => {
      const name = event.metadata?.senderName;
      if (event.senderId && typeof name === "string") keep(names, `${ctx.channelId}\n${event.senderId}`, name);
    });

    api.on("before_dispatch", async (event, ctx) => {
      const message = messageOf(event, ctx);
      if (!message) return undefined;
      if (isCommand(message.text)) return { handled: true, text: await memory.command(message) };
      const place = placeOf(ctx.sessionKey ?? event.sessionKey, ctx.senderId ?? event.senderId);
      keep(waiting, place, [...(waiting.get(place) ?? []), message]);
      return undefined;
    });

    api.on("before_prompt_build", async (event, ctx) => {
      const turn = turnOf(event, ctx);
      if (!turn) return undefined; // nobody wrote: a job, a heartbeat, the command line
      turn.context ??= memory.context(turn.message, event.messages ?? []);
      const { text } = await turn.context;
      return text ? { prependContext: text } : undefined;
    });

    api.on("agent_end", async (event, ctx) => {
      const turn = runs.get(ctx.runId);
      if (!turn || !event.success) return;
      runs.delete(ctx.runId);
      const answer = wordsOf(event.messages.findLast((message) => message?.role === "assistant"));
      const { recallId = null } = (await turn.context) ?? {};
      if (answer) void memory.report(turn.message, answer, recallId);
    });

    for (const tool of TOOLS) {
      api.registerTool((ctx) => (ctx.requesterSenderId ? toolOf(tool, ctx, memory) : null), { name: tool.name });
    }
  },
};

/** A message that came in as memory takes it; null where nobody is known to have written it. */
function messageOf(event, ctx) {
  const channel = ctx.channelId ?? event.channel;
  const sender = event.senderId ?? ctx.senderId;
  if (!channel || !sender) return null;
  const isGroup = event.isGroup ?? /:(group|channel):/.test(ctx.sessionKey ?? "");
  return {
    platform: PLATFORMS[channel] ?? channel,
    account: ctx.accountId ?? "default",
    peer: String(sender),
    chat: isGroup ? String(ctx.conversationId ?? ctx.sessionKey) : `direct_${sender}`,
    isGroup,
    text: (event.body ?? event.content ?? "").trim(),
    id: String(event.messageId ?? ctx.messageId ?? ""),
    senderName: names.get(`${channel}\n${sender}`),
  };
}

/** The turn of a run: of the messages that wait, those its prompt has, or else the newest. */
function turnOf(event, ctx) {
  if (runs.has(ctx.runId)) return runs.get(ctx.runId);
  const place = placeOf(ctx.sessionKey, ctx.senderId);
  const messages = waiting.get(place) ?? [];
  if (!messages.length || !ctx.runId) return undefined;
  const inPrompt = messages.filter((message) => event.prompt?.includes(message.text));
  const taken = inPrompt.length ? inPrompt : messages.slice(-1);
  const until = messages.lastIndexOf(taken.at(-1)) + 1;
  waiting.set(place, messages.slice(until));
  const text = taken.map((message) => message.text).join("\n");
  const turn = { message: { ...taken.at(-1), text }, context: null };
  keep(runs, ctx.runId, turn);
  keep(latest, place, turn.message);
  return turn;
}

/** A tool as OpenClaw takes it, for whoever wrote the message that is being answered. */
function toolOf(tool, ctx, memory) {
  return {
    ...tool,
    async execute(_call, parameters) {
      const message = latest.get(placeOf(ctx.sessionKey, ctx.requesterSenderId));
      if (!message) throw new Error("memplatform: whose memory this is about is not known");
      const answer = await memory.tool(message, tool.name, parameters);
      if (answer.isError) throw new Error(answer.text);
      return { content: [{ type: "text", text: answer.text }], details: {} };
    },
  };
}

function placeOf(sessionKey, senderId) {
  return `${sessionKey}\n${senderId}`;
}

/** Put it last, and let the oldest go. */
function keep(map, key, value) {
  map.delete(key);
  map.set(key, value);
  if (map.size > MOST) map.delete(map.keys().next().value);
}

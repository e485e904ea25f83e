/**
 * Long-term memory for a bot of Koishi.
 *
 * Koishi has no model of its own. A plugin that asks one calls `ctx.memplatform.remembered(session)` before it, and puts
 * the text into its prompt; what the bot then answers is reported here, whoever sends it.
 */

const { Schema, Service, h } = require("koishi");

/** Koishi's platforms as the API calls them; others have the same name, or one that an operator adds. */
const PLATFORMS = {
  onebot: "qq",
  red: "qq",
  qqguild: "qq",
  feishu: "lark",
  "wechat-official": "wechat",
  mail: "email",
};
/** Milliseconds without another part of an answer after which it counts as whole. */
const SETTLED = 1_500;
/** How many turns are kept at most. */
const MOST = 500;

/** The service `memplatform`. */
class Memplatform extends Service {
  _module = import("./memory.mjs");
  _memory = null;
  /** By the id of a session, of which Koishi hands out several objects, the message and its answer so far. */
  _turns = new Map();
  /** Turns whose answer is not whole yet. */
  _open = new Set();

  constructor(ctx, config) {
    super(ctx, "memplatform", true);
    const log = ctx.logger("memplatform");
    if (config.key) {
      this._memory = this._module.then(({ Memory }) => {
        return new Memory(config.url, config.key, config.language, (line) => log.warn(line));
      });
    } else {
      log.warn("memplatform: no key is set; nothing is remembered");
    }
    ctx.middleware((session, next) => this._command(session, next), true);
    ctx.on("before-send", (sent, options) => this._collect(sent, options?.session));
    ctx.on("dispose", () => [...this._open].forEach((turn) => this._settle(turn)));
  }

  /**
   * What is remembered that helps to answer a message: `text` for the prompt of this turn, not for your history.
   * `history` are the messages before it (`role`, `content`) if your plugin keeps them; without it `history` of the
   * answer has the conversation as memory has it. Never throws; empty when memory does not answer within two seconds.
   */
  async remembered(session, history) {
    const turn = this._turnOf(session);
    turn.isAsked = true;
    if (!this._memory || !turn.message) return { text: "", recallId: null, history: [] };
    const context = await (await this._memory).context(turn.message, history);
    turn.recallId = context.recallId;
    return context;
  }

  /** Answer /memory, /correct and /forget. */
  async _command(session, next) {
    const { isCommand } = await this._module;
    const turn = this._turnOf(session);
    if (!this._memory || !turn.message || !isCommand(turn.message.text)) return next();
    turn.isOurs = true;
    return h.text(await (await this._memory).command(turn.message));
  }

  /** Take what is sent as a part of the answer to a conversation; once it is sent, its session names no question. */
  _collect(sent, session) {
    if (!session) return;
    const turn = this._turnOf(session);
    const text = wordsOf(sent.elements ?? sent.content ?? "");
    if (!text || !this._memory || !turn.message || turn.isOurs || turn.isReported || !isConversation(turn)) return;
    turn.parts.push(text);
    this._open.add(turn);
    clearTimeout(turn.timer);
    turn.timer = setTimeout(() => this._settle(turn), SETTLED);
  }

  /** Have a turn remembered whose answer is whole. */
  _settle(turn) {
    clearTimeout(turn.timer);
    this._open.delete(turn);
    turn.isReported = true;
    void this._memory.then((memory) => memory.report(turn.message, turn.parts.join("\n"), turn.recallId));
  }

  _turnOf(session) {
    if (!this._turns.has(session.id)) {
      this._turns.set(session.id, { session, message: messageOf(session), recallId: null, parts: [] });
      if (this._turns.size > MOST) this._turns.delete(this._turns.keys().next().value);
    }
    return this._turns.get(session.id);
  }
}

Memplatform.Config = Schema.object({
  url: Schema.string().default("http://127.0.0.1:8000"),
  key: Schema.string().role("secret").default(""),
  language: Schema.union(["", "en", "zh-hans"]).default(""),
}).i18n({
  "en-US": {
    url: "Where memplatform is.",
    key: "A key with the permissions read and write.",
    language: "Of the answers to the commands; empty: that of the person.",
  },
  "zh-CN": {
    url: "memplatform 的地址。",
    key: "有读和写权限的密钥。",
    language: "指令回答的语言；留空则随用户。",
  },
});

/** A session as memory takes it; null where nobody is known to have written it. */
function messageOf(session) {
  if (!session.userId || session.userId === session.selfId || !session.content) return null;
  return {
    platform: PLATFORMS[session.platform] ?? session.platform.replace(/^sandbox.*/, "web"),
    account: session.selfId,
    peer: session.userId,
    chat: session.isDirect ? `direct_${session.userId}` : session.channelId,
    isGroup: !session.isDirect,
    text: wordsOf(session.stripped.content),
    id: session.messageId ?? "",
    senderName: session.event.member?.nick || session.username || "",
  };
}

/** Whether a model was asked, or the bot was spoken to and not given a command. */
function isConversation({ isAsked, session, message }) {
  if (isAsked) return true;
  return (session.isDirect || session.stripped.appel) && !session.argv?.command && Boolean(message.text);
}

/** The words of what is written, without pictures and mentions. */
function wordsOf(content) {
  return h.select(content, "text").map((element) => element.attrs.content).join("").trim();
}

module.exports = Memplatform;

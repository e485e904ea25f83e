/** A plugin of Koishi with a model, as an owner writes it, configured by its environment. */

exports.name = "answering";
exports.inject = ["memplatform"];

exports.apply = (ctx) => {
  ctx.middleware(async (session, next) => {
    if (!session.isDirect && !session.stripped.appel) return next();
    const context = await ctx.memplatform.remembered(session);
    const messages = [{ role: "system", content: `You are a friendly bot.\n\n${context.text}` }, ...context.history];
    messages.push({ role: "user", content: session.stripped.content });
    const body = JSON.stringify({ model: "scripted", messages });
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch(`${process.env.MODEL_URL}/chat/completions`, { method: "POST", headers, body });
    return (await answer.json()).choices[0].message.content;
  });
};

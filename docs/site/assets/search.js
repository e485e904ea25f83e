/* A question as people type it, put to the search without the words that stand in every page. */
(() => {
  const small = new Set(("a an the i me my we our you your it its this that these those is are was were be been do does did " +
    "can cant could may will would should how what which who where when if of to in on at by for from with without and or " +
    "not dont any some get have has there other others else each").split(" "));
  const chinese = /怎么样|怎么办|怎么|怎样|如何|能不能|可不可以|会不会|可以|什么|多少|哪些|哪里|为什么|请问|是否|一个|里面|[的了吗呢吧我你您它在把]/g;
  // The theme looks for words that begin so, and the index has them as they are written: «stor» is there as store and stored.
  const stem = (word) => word.replace(/(?<=[a-z]{3})(ies|y|ations?|ings?|ed|es|s|e)$/i, (end) => (/^s$/i.test(end) && /ss$/i.test(word) ? end : ""));
  const plain = (question) => {
    const words = question.replace(chinese, " ").split(/\s+/).filter((word) => word && !small.has(word.toLowerCase().replace(/\W/g, "")));
    return words.length ? words.map(stem).join(" ") : question;
  };
  const QUERY = 2; // the theme's SearchMessageType
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...more) {
    const asked = message && message.type === QUERY && typeof message.data === "string";
    return post.call(this, asked ? { ...message, data: plain(message.data) } : message, ...more);
  };
})();

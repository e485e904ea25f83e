"""What models read of the tools and of their arguments, in both languages."""

from channels_app.tools.definition import Words

SEARCH: Words = {
    "en": (
        "Search long-term memory: notes, remembered facts, what happened on past days, and what was said earlier,"
        " word for word. Call it BEFORE you answer anything about the past: earlier work, decisions, preferences,"
        " people, dates, plans, to-dos, or when the user says «last time», «yesterday», «do you remember». The"
        " conversation you see is not all of it. If nothing is found, or not enough, say that you searched and did"
        " not find it. Never present a guess as a memory."
    ),
    "zh-hans": (
        "检索长期记忆：笔记、已记住的事实、过去某天发生的事，以及以前消息的原话。凡是涉及过去的问题，"
        "回答之前必须先调用：做过的事、历史决策、偏好、人物、日期、计划、待办，"
        "或者用户说“上次”“昨天”“之前”“还记得吗”。你看到的对话并不是全部。"
        "如果没有找到或信息不足，请说明已检索但未找到。不要把猜测当作记忆。"
    ),
}

QUERY: Words = {
    "en": (
        "What to look for, as a question or telling words, in the user's language. Name people, things"
        " and days («yesterday», «in March») instead of «she» or «it»: the search does not see the"
        " conversation."
    ),
    "zh-hans": (
        "要查找的内容：一个问题或关键词，使用用户的语言。请写出人名、事物和日期（如“昨天”“三月”），"
        "不要写“她”“它”：检索看不到当前对话。"
    ),
}

MAX_RESULTS: Words = {
    "en": "At most so many results, 1 to 50; 8 unless you say otherwise.",
    "zh-hans": "最多返回多少条结果，1 到 50，默认 8。",
}

MIN_SCORE: Words = {"en": "What scores less is no result.", "zh-hans": "低于这个分数的不算结果。"}

MODE: Words = {
    "en": "By words and meaning (hybrid), by either, or by words as typed.",
    "zh-hans": "检索方式。",
}

INCLUDE_SESSION_EVENTS: Words = {
    "en": "Whether messages and days are searched as well.",
    "zh-hans": "是否同时检索消息和每日记录。",
}

GET: Words = {
    "en": (
        "Read what a path of memory_search leads to, word for word: lines of a note, a memory, a day, or one earlier"
        " message. Call it BEFORE you give an exact figure, date, setting or quote, and when a result was cut. Only"
        " paths that memory_search or the context gave you; never make one up."
    ),
    "zh-hans": (
        "按 memory_search 给出的路径读取原文：笔记的若干行、一条记忆、某一天的记录，或以前的一条消息。"
        "在引用准确的数字、日期、配置或原话之前，以及结果被截断时，必须先调用。"
        "只使用 memory_search 或上下文给出的路径，不要编造路径。"
    ),
}

PATH: Words = {
    "en": "The path as it was given, with or without its line: memory/2026-11-23.md:12, entries/….",
    "zh-hans": "给出的路径，行号可有可无：memory/2026-11-23.md:12、entries/…。",
}

FROM: Words = {
    "en": "The first line to read, from 1; the line of the path unless you say otherwise.",
    "zh-hans": "从第几行开始读，最小为 1；默认为路径中的行号。",
}

LINES: Words = {
    "en": "How many lines, at most 300; 40 unless you say otherwise.",
    "zh-hans": "读多少行，最多 300，默认 40。",
}

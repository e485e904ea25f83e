"""What clients and models read of this door, beside what GET /tools tells of the tools."""

Words = dict[str, str]

INSTRUCTIONS = (
    "Long-term memory of this person or chat. Search it (memory_search) before you answer anything about the past, read"
    " exact words with memory_get, and save (memory_save) what you are asked to remember. Never present a guess as a"
    " memory."
)
PROMPT_TITLE = "What do you know about me?"
PROMPT = "Tells the user everything memory knows about them."
ASKED: Words = {
    "en": (
        "What do you know about me? Below is my profile as memory has it. Look for more with memory_search: people,"
        " work, plans, what I like, what happened lately. Tell me what you found in a few plain sentences, with dates"
        " where there are any, and say what you could not find. Guess nothing.\n\n{profile}"
    ),
    "zh-hans": (
        "你知道关于我的哪些事？下面是记忆中的个人资料。请用 memory_search 继续查找："
        "人物、工作、计划、喜好、最近发生的事。"
        "用几句简单的话告诉我找到了什么，有日期的写上日期，没有找到的也请说明。不要猜测。\n\n{profile}"
    ),
}
NOTHING: Words = {"en": "Nothing is remembered here yet.", "zh-hans": "这里还没有任何记忆。"}
NOT_FOUND: Words = {
    "en": "Nothing in memory bears on this. Say so; do not guess.",
    "zh-hans": "记忆中没有与此相关的内容。请如实说明，不要猜测。",
}

"""What models read of the tools and of their arguments, in both languages."""

Words = dict[str, str]  # by language

#: What a person is shown in place of a tool's name.
TITLES: dict[str, Words] = {
    "memory_search": {"en": "Search memory", "zh-hans": "检索记忆"},
    "memory_get": {"en": "Read a memory", "zh-hans": "读取记忆"},
    "memory_save": {"en": "Save a memory", "zh-hans": "保存记忆"},
    "memory_append": {"en": "Add to a note", "zh-hans": "追加笔记"},
    "memory_update": {"en": "Correct a memory", "zh-hans": "更正记忆"},
    "memory_list": {"en": "List the notes", "zh-hans": "列出笔记"},
    "memory_recall": {"en": "Recall what bears on a message", "zh-hans": "回忆相关内容"},
    "memory_context": {"en": "Read the context of a conversation", "zh-hans": "读取对话上下文"},
    "memory_forget": {"en": "Forget a memory", "zh-hans": "停用记忆"},
    "memory_restore": {"en": "Restore a memory", "zh-hans": "恢复记忆"},
}

UNKNOWN_TOOL: Words = {
    "en": "There is no tool “{name}”. The tools are: {tools}.",
    "zh-hans": "没有名为“{name}”的工具。可用的工具有：{tools}。",
}
NAME_CHARS = 100  # of what a model calls a tool, in an answer
#: What a model got wrong goes back to the model, in a sentence it can act on.
NOT_AN_OBJECT: Words = {
    "en": "The arguments of {name} are no JSON object. Call it again with its arguments as valid JSON.",
    "zh-hans": "{name} 的参数不是 JSON 对象。请用合法的 JSON 参数重新调用。",
}
NOT_DONE: Words = {
    "en": "{name} was not carried out. {problems} Correct the arguments and call it again.",
    "zh-hans": "{name} 未执行。{problems}请改正参数后重新调用。",
}
REFUSED: Words = {"en": "{name} was not carried out. {problems}", "zh-hans": "{name} 未执行。{problems}"}

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

SAVE: Words = {
    "en": (
        "Save something to long-term memory. Call it when the user asks to remember, note or save something, and when"
        " they settle what will still matter later: a decision, a preference, a plan. Save what was said, in one or two"
        " full sentences that stand by themselves; nothing guessed, no passwords unless the user insists. Say that it"
        " is remembered only after this tool has said «Saved»."
    ),
    "zh-hans": (
        "把内容保存到长期记忆。用户要求记住、记下或保存时，以及确定了以后仍然重要的事情（决定、偏好、计划）时调用。"
        "只保存说过的内容，用一两句完整、可以独立理解的话；不要猜测，除非用户坚持，不要保存密码。"
        "只有在工具返回“已保存”之后，才可以说已经记住。"
    ),
}

CONTENT: Words = {
    "en": (
        "What to remember, in the user's language. Write who, what and when: names instead of «she», dates instead of"
        " «tomorrow». At most 8,000 characters."
    ),
    "zh-hans": "要记住的内容，使用用户的语言。写清楚谁、什么、何时：写名字不写“她”，写日期不写“明天”。最多 8000 字。",
}

TARGET: Words = {
    "en": (
        "daily: what happened or is to be done, into today's note. long-term: what stays true, such as who somebody is,"
        " what they like, what was decided for good."
    ),
    "zh-hans": (
        "daily：发生的事或要做的事，写入今天的笔记。long-term：长期有效的内容，例如某人是谁、喜欢什么、已经确定的决定。"
    ),
}

APPEND: Words = {
    "en": (
        "Add lines to the end of a note of memory, today's unless you name another. Nothing that stands there is"
        " changed. For a running list or a log kept in a note of its own; to simply remember something use memory_save."
    ),
    "zh-hans": (
        "在一份记忆笔记的末尾追加内容，默认是今天的笔记。已有内容不会改动。"
        "适合在单独的笔记里维护清单或日志；只是要记住某件事时，请用 memory_save。"
    ),
}

LINES_TO_APPEND: Words = {
    "en": "What to add, in the user's language; full sentences that stand by themselves. At most 8,000 characters.",
    "zh-hans": "要追加的内容，使用用户的语言，写成可以独立理解的完整句子。最多 8000 字。",
}

APPEND_PATH: Words = {
    "en": "The note, under memory/, as memory_search or memory_get named it. Leave it out for today's note.",
    "zh-hans": "笔记路径，位于 memory/ 下，以 memory_search 或 memory_get 给出的为准。不填则为今天的笔记。",
}

UPDATE: Words = {
    "en": (
        "Correct one line of a note, or a memory that was saved, where it stands. Call it when the user says that"
        " something remembered is wrong or has changed, and memory_search or memory_get has shown where it stands; say"
        " what you changed. The words before are kept in its history. What is no longer wanted at all is not for this"
        " tool, and new things go to memory_save."
    ),
    "zh-hans": (
        "在原处更正笔记中的一行，或一条已保存的记忆。用户指出记住的内容有误或已经变化时调用，"
        "先用 memory_search 或 memory_get 确认它在哪里，并告诉用户改了什么。原来的文字保留在历史里。"
        "新的内容请用 memory_save；不再需要的内容不要用本工具处理。"
    ),
}

UPDATE_PATH: Words = {
    "en": (
        "Where it stands: a note with its line, such as memory/2026-11-23.md:12, or the path of the memory, entries/…."
    ),
    "zh-hans": "它的位置：带行号的笔记路径，如 memory/2026-11-23.md:12，或记忆的路径 entries/…。",
}

NEW_WORDS: Words = {
    "en": (
        "What it is to say from now on, whole, in the user's language, without the sign of a list before it. At most"
        " 8,000 characters."
    ),
    "zh-hans": "更正后的完整内容，使用用户的语言，前面不要写列表符号。最多 8000 字。",
}

LIST: Words = {
    "en": (
        "List the files of memory that can be read here, changed last first, each with its path, its size and when it"
        " was changed. Call it when the user asks which notes there are, or before lines are added to a note whose path"
        " you do not know. To find something in them use memory_search."
    ),
    "zh-hans": (
        "列出这里可以读取的记忆文件，最近改动的在前，并给出路径、大小和改动时间。"
        "用户询问有哪些笔记时，或要往一份不知道路径的笔记里追加内容之前调用。要查找内容请用 memory_search。"
    ),
}

LIST_FROM: Words = {
    "en": "The number of the first file to list, from 1; for the rest of a long list.",
    "zh-hans": "从第几个文件开始列出，最小为 1；用于继续很长的列表。",
}

RECALL: Words = {
    "en": (
        "The memories that bear on one message, ranked as the bot's own prompt would have them, each with why it was"
        " chosen. For a question about the past memory_search finds more, with paths to read on at."
    ),
    "zh-hans": (
        "与一条消息相关的记忆，排序与机器人自己的提示相同，并说明每条为何入选。"
        "关于过去的问题，memory_search 能找到更多内容，并给出可继续读取的路径。"
    ),
}

CONTEXT: Words = {
    "en": (
        "Everything worth knowing before a message is answered: who the user is, the memories that bear on the"
        " message, notes of the last days. Call it once, at the beginning of a conversation, with the user's first"
        " message."
    ),
    "zh-hans": (
        "回答一条消息之前值得知道的一切：用户是谁、与消息相关的记忆、最近几天的笔记。在对话开始时用用户的第一条消息调用一次。"
    ),
}

MESSAGE: Words = {"en": "The user's message, as it was said.", "zh-hans": "用户的消息原文。"}

FORGET: Words = {
    "en": (
        "Take one memory out of use. Call it only when the user asks to forget or correct something, and memory_search"
        " has shown which memory it is; say which. Nothing is destroyed: memory_restore brings it back."
    ),
    "zh-hans": (
        "停用一条记忆。只有用户要求忘记或更正时才调用，先用 memory_search 确认是哪一条，并告诉用户。"
        "内容不会被销毁，可以用 memory_restore 恢复。"
    ),
}

RESTORE: Words = {
    "en": "Bring a memory back that memory_forget took out of use, by the path that memory_forget answered.",
    "zh-hans": "恢复被 memory_forget 停用的记忆，使用 memory_forget 返回的路径。",
}

MEMORY_PATH: Words = {
    "en": (
        "The path of the memory as it was given: entries/…, daily_events/…, or a line of a note such as"
        " memory/2026-11-23.md:12."
    ),
    "zh-hans": "记忆的路径，以给出的为准：entries/…、daily_events/…，或笔记中的一行，如 memory/2026-11-23.md:12。",
}

"""What a model reads from us in its system text, in the language of the workspace."""

HEADINGS = {
    "profile": {"en": "# What is known of whom you talk with", "zh-hans": "# 关于对话对象"},
    "memories": {"en": "# Memories that may bear on the message", "zh-hans": "# 可能相关的记忆"},
    "events": {"en": "# Said before, word for word", "zh-hans": "# 以前的原话"},
    "notes": {"en": "# Notes of today and yesterday", "zh-hans": "# 今天和昨天的记录"},
    "recent_chat": {"en": "# Lately in this chat, not addressed to you", "zh-hans": "# 群里最近的消息（不是对你说的）"},
    "directives": {"en": "# What you are asked to do", "zh-hans": "# 请遵守"},
}

#: A question about the past (C13); what was found is said beside it (C3).
PAST_INSTRUCTION = {
    "en": (
        "The message asks about the past. Memory has been searched already: rely on what is given here. If it is not"
        " enough, say so; never present a guess as a memory. Give exact figures, dates and quotes only as they stand"
        " here, word for word; where they do not, ask."
    ),
    "zh-hans": (
        "这条消息在询问过去。记忆已经检索过：以这里给出的内容为准。"
        "如果不足以回答，就明确说明；不要把猜测当作记忆。准确的数字、日期和原话，只能照这里的原文引用；"
        "这里没有的，就向对方询问。"
    ),
}
#: By the verdict; «in_history»: the conversation itself says it best, «none_beyond»: nothing but that may.
EVIDENCE = {
    "found": {"en": "", "zh-hans": ""},
    "weak": {
        "en": " What was found is perhaps not enough.",
        "zh-hans": "检索到的内容可能不足以回答。",
    },
    "none": {
        "en": " Memory was searched and nothing was found that answers it.",
        "zh-hans": "已检索记忆，没有找到可以回答的内容。",
    },
    "none_beyond": {
        "en": " Memory was searched and nothing was found that answers it, beyond what this conversation itself says.",
        "zh-hans": "已检索记忆，除本次对话本身之外，没有找到可以回答的内容。",
    },
    "in_history": {
        "en": (
            " What bears on it best stands in this conversation itself, among the messages you are given: it is not"
            " repeated here."
        ),
        "zh-hans": "最相关的内容就在本次对话里，即你看到的对话消息中，这里不再重复。",
    },
}


#: A message that is a command and no question (B6).
RESET_INSTRUCTION = {
    "en": (
        "The message is the command /reset. Ask no model: report it with POST /turns, which clears the conversation,"
        " and give the user this reply: {reply}"
    ),
    "zh-hans": (
        "这条消息是 /reset 命令。不必调用模型：用 POST /turns 上报，对话历史随即清空，并把这句话回复给用户：{reply}"
    ),
}


def in_language(words: dict[str, str], language: str) -> str:
    return words.get(language, words["en"])

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
        "The message asks about the past. Memory has been searched: rely on what is given here, and search again with"
        " memory_search if you need more. If it is not enough, say so; never present a guess as a memory. For exact"
        " figures, dates and quotes read the source with memory_get first. If you are asked to remember something,"
        " use memory_save."
    ),
    "zh-hans": (
        "这条消息在询问过去。记忆已经检索过：以这里给出的内容为准，需要更多时先用 memory_search 检索。"
        "如果不足以回答，就明确说明；不要把猜测当作记忆。涉及准确的数字、日期或原话时，先用 memory_get 读取出处。"
        "如果对方要求记住某事，请用 memory_save。"
    ),
}
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
}


def in_language(words: dict[str, str], language: str) -> str:
    return words.get(language, words["en"])

"""The system text of a prompt: parts under headings, together never over a budget of tokens."""

from collections.abc import Sequence

from memories.language import text
from memories.language.quoting import notice_in
from memories.recall.answer import fit
from sessions_app.models import in_language

HEADINGS = {
    "profile": {"en": "# What is known of whom you talk with", "zh-hans": "# 关于对话对象"},
    "memories": {"en": "# Memories that may bear on the message", "zh-hans": "# 可能相关的记忆"},
    "files": {"en": "# What is written down for the long term", "zh-hans": "# 长期记录"},
    "days": {"en": "# Notes of the last days", "zh-hans": "# 最近几天的记录"},
    "events": {"en": "# Said before, word for word", "zh-hans": "# 以前的原话"},
    "notes": {"en": "# Notes of today and yesterday", "zh-hans": "# 今天和昨天的记录"},
    "recent_chat": {"en": "# Lately in this chat, not addressed to you", "zh-hans": "# 群里最近的消息（不是对你说的）"},
    "directives": {"en": "# What you are asked to do", "zh-hans": "# 请遵守"},
}

#: Of fewer tokens the share of memories holds no line below its heading.
SHORT_TEXT = 200
#: What the platform itself asks of the model; all else is what people wrote.
OWN_PART = "directives"

#: For a question about the past (C13), followed by how well memory answers it (C3).
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
#: The same for a model that has the tools of memory.
PAST_INSTRUCTION_WITH_TOOLS = {
    "en": (
        "The message asks about the past. Memory has been searched already, with this message as it is; what was found"
        " is given here. If it is not enough, search again with memory_search, in other words, before you answer."
        " Before you give exact figures, dates or quotes that do not stand here word for word, read their path with"
        " memory_get. If it is still not enough, say that you searched and did not find it; never present a guess as a"
        " memory."
    ),
    "zh-hans": (
        "这条消息在询问过去。已经用这条消息检索过记忆，结果就在这里。"
        "如果不足以回答，先换一种说法用 memory_search 再检索，再回答。"
        "需要准确的数字、日期或原话而这里没有原文时，先用 memory_get 读取对应路径。"
        "如果仍然不足，就明确说明已检索但未找到；不要把猜测当作记忆。"
    ),
}
#: For every message of a model that has the tools.
TOOLS_INSTRUCTION = {
    "en": (
        "You have tools for memory. What is given here is not all that is remembered: before you answer anything about"
        " earlier work, decisions, people, dates, preferences or plans that does not stand here, call memory_search."
        " Read exact words with memory_get. When the user asks to remember something, call memory_save, and say that it"
        " is remembered only after it was saved."
    ),
    "zh-hans": (
        "你有记忆工具。这里给出的并不是全部记忆：凡是涉及以前的工作、决定、人物、日期、偏好或计划，而这里没有的，"
        "回答之前先调用 memory_search。准确的原话用 memory_get 读取。"
        "用户要求记住时，调用 memory_save，保存成功之后才可以说已经记住。"
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


class SystemText:
    """A text that is being put together; its parts stand in the order of HEADINGS, whatever comes first.

    Where there is little room the parts have no headings, and few words say whose words they are.
    """

    def __init__(self, budget: int, language: str) -> None:
        self._budget, self._language = budget, language
        self.is_short = budget < SHORT_TEXT
        self._parts: dict[str, list[str]] = {}
        self._notice = notice_in(language, 0 if self.is_short else budget)
        self.used = 0

    @property
    def left(self) -> int:
        return self._budget - self.used

    def share(self, share: float) -> int:
        """The tokens of a share of the whole budget, as far as there are so many left."""
        return max(min(int(self._budget * share), self.left), 0)

    def room(self, part: str, limit: int) -> int:
        """What of so many tokens is left for the lines of a part, below its heading."""
        return max(limit - self._heading_tokens(part) - self._notice_tokens(part), 0)

    def fitting(self, part: str, lines: Sequence[str], limit: int) -> int:
        """How many of these lines, from the first on, fit under the heading of a part."""
        return len(fit(lines, self.room(part, min(limit, self.left)))[0])

    def put_fitting(self, part: str, lines: Sequence[str], limit: int) -> int:
        """Add as many of these lines, from the first on, as fit under the heading of a part; how many."""
        count = self.fitting(part, lines, limit)
        self.put(part, lines[:count])
        return count

    def put(self, part: str, lines: Sequence[str]) -> None:
        """Add a part, or put it in the place of what it was; without lines it has no heading either."""
        if before := self._parts.pop(part, None):
            self.used -= self._tokens(part, before)
        if lines:
            self.used += self._tokens(part, lines)
            self._parts[part] = list(lines)

    def _tokens(self, part: str, lines: Sequence[str]) -> int:
        """What a part costs beside those that are there."""
        return self._notice_tokens(part) + self._heading_tokens(part) + sum(tokens_of(line) for line in lines)

    def _notice_tokens(self, part: str) -> int:
        """What it costs to say whose words follow, where nothing of people is there yet."""
        return 0 if part == OWN_PART or self._parts.keys() - {OWN_PART} else tokens_of(self._notice) + 1

    def _heading(self, part: str) -> list[str]:
        return [] if self.is_short else [in_language(HEADINGS[part], self._language)]

    def _heading_tokens(self, part: str) -> int:
        return sum(map(tokens_of, self._heading(part))) + 1

    def __str__(self) -> str:
        parts = [(part, self._parts[part]) for part in HEADINGS if part in self._parts]
        texts = ["\n".join([*self._heading(part), *lines]) for part, lines in parts]
        return "\n\n".join([self._notice, *texts] if self._parts.keys() - {OWN_PART} else texts)


def tokens_of(line: str) -> int:
    """What a line costs with its end."""
    return text.count_tokens(line) + 1

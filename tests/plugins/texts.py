"""What plugins say to people, in both languages: where chat platforms of our own say the same, in their very words."""

import json
import re

from django.utils import translation
from django.utils.translation import gettext

from channels_app.platforms import commands

LANGUAGES = ("en", "zh-hans")
COMMANDS = ("memory", "correct", "forget")
#: Sentences of `channels_app.platforms.commands`, by their name in a plugin.
SHARED = {
    "nothing": "I know nothing about you yet.",
    "list": "What I know about you:",
    "how": "/memory 1 says where it is from; /correct 1 … and /forget 1 change it.",
    "one": "Remembered on %(day)s, %(where)s.",
    "forgotten": "Forgotten: %(words)s",
    "corrected": "Corrected: %(before)s is now “%(after)s”.",
    "number": "There is no number %(n)s in the last list. /memory shows it.",
    "words": "/correct 1 and then how it really is.",
    "direct": "That is for you alone. Write to me in a direct chat first, and ask again there.",
}
#: Those that plugins alone need: English, Chinese.
OWN = {
    "nothing_found": ("I know nothing about you with “{words}”.", "关于你，我不记得含“{words}”的事。"),
    "more": (
        "… and more. /memory and a word: only what has that word.",
        "……还有更多。/记忆 加一个词语：只列出含该词语的。",
    ),
    "which": ("Which one? /memory shows them with numbers.", "是哪一条？/记忆 会列出编号。"),
    "changed": (
        "That one has changed since you saw it. /memory shows it as it is now.",
        "这一条在你查看之后变了。/记忆 会显示现在的内容。",
    ),
    "away": (
        "My memory does not answer at the moment. Please try again later.",
        "我的记忆暂时没有回应，请稍后再试。",
    ),
    "secret": ("(a secret, not shown here)", "（保密内容，此处不显示）"),
    "chat_turn": ("from what you said in a chat", "来自你在聊天中说的话"),
    "fact": ("a fact drawn from what you said", "从你说的话里得出的事实"),
    "user_explicit": ("because you asked me to remember it", "因为你让我记住它"),
    "other": ("in a conversation", "在一次对话中"),
}


def texts() -> bytes:
    """They as a plugin has them, with the names of the commands."""
    by_language: dict[str, object] = {"commands": {name: list(commands.NAMES[name]) for name in COMMANDS}}
    for place, language in enumerate(LANGUAGES):
        with translation.override(language):
            shared = {name: re.sub(r"%\((\w+)\)s", r"{\1}", gettext(sentence)) for name, sentence in SHARED.items()}
        by_language[language] = shared | {name: words[place] for name, words in OWN.items()}
    return (json.dumps(by_language, ensure_ascii=False, indent=2) + "\n").encode()

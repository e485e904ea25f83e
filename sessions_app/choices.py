"""Closed vocabularies of conversations, the command that ends one, and what bots and people read from us."""

import re

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from memories.conf import conf


class EventKind(TextChoices):
    """The role of a message in a session."""

    USER = "user", _("User")
    ASSISTANT = "assistant", _("Assistant")
    TOOL = "tool", _("Tool")
    SUMMARY = "summary", _("Summary")
    AMBIENT = "ambient", _("Ambient")


#: Messages of a conversation itself: a summary covers some of them, and ambient talk is no part of it (B5).
SPOKEN = (EventKind.USER, EventKind.ASSISTANT, EventKind.TOOL)
#: Messages that are searched by words and meaning (C6).
SEARCHED = (EventKind.USER, EventKind.ASSISTANT, EventKind.SUMMARY)
#: Messages a bot may append.
REPORTED = (*SPOKEN, EventKind.AMBIENT)


RESET_COMMANDS = ("/reset", "/重置")
#: How platforms write that a message is meant for the bot: `@bot`, `<at user_id="…">bot</at>`, `/reset@bot`.
_MENTION = re.compile(r"<at\b[^<>]*+(?:(?<=/)>|>[^<]*+</at>)|[@＠][^\s@＠/]++")
RESET_REPLY = {
    "en": "The conversation history is cleared; the next conversation begins from zero.",
    "zh-hans": "已清空对话历史，下次对话将从零开始。",
}

FLUSH_INSTRUCTION = {
    "en": (
        "This conversation will soon be shortened. Before you answer further, take out of it what must not be lost, and"
        " report it with POST /api/v1/sessions/{id}/flush as JSON:"
        ' {{"version": 1, "continue": "what the conversation needs to go on: the goal, decisions, open questions, in'
        ' two or three paragraphs", "candidates": [{{"content": "one fact that was stated, in one sentence",'
        ' "category": "identity|config|decision|solution|event", "rests_on": [positions of its messages]}}]}}.'
        " Only what was said, nothing guessed, no secrets. If there is nothing worth keeping, report"
        ' {{"version": 1, "reply": "NO_REPLY"}}.'
    ),
    "zh-hans": (
        "本次对话即将被压缩。请在继续回答之前，把不能丢失的内容提取出来，"
        "以 JSON 通过 POST /api/v1/sessions/{id}/flush 上报："
        '{{"version": 1, "continue": "继续对话所需的内容：目标、已做的决定、未决问题，两三段", "candidates":'
        ' [{{"content": "一句话陈述一个说过的事实", "category": "identity|config|decision|solution|event",'
        ' "rests_on": [所依据消息的 position]}}]}}。'
        "只写对话中说过的，不要猜测，不要写入密钥。如果没有值得保留的内容，"
        '请上报 {{"version": 1, "reply": "NO_REPLY"}}。'
    ),
}


def in_language(words: dict[str, str], language: str) -> str:
    return words.get(language, words["en"])


def is_reset_command(message: str) -> bool:
    """Whether a message is the command and nothing else: trimmed, the mention of the bot removed."""
    if not conf.RESET_COMMAND or not any(command in message for command in RESET_COMMANDS):
        return False
    return _MENTION.sub(" ", message, count=1).strip() in RESET_COMMANDS


def reset_reply(language: str) -> str:
    return in_language(RESET_REPLY, language)

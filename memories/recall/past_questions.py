"""Questions about what was said before, and what is left of them when that is taken away (C5, C13)."""

import re
from collections.abc import Sequence
from datetime import date

from memories.language import text
from memories.language.dates import windows
from memories.recall.date_ranges import PAST_TENSE, DateRange
from memories.recall.gate.decision import LOOK_CHARS, is_question, is_question_about_past
from memories.recall.modes import content_words

_PAST = re.compile(
    r"\b(?:yesterday|last|past|previous(?:ly)?|earlier|before|ago|already|again|recent(?:ly)?|lately|remember(?:ed)?|recall"
    r"|did|was|were|said|told|mentioned|talked|discussed|the other day|just now|this morning)\b"
    r"|昨天|昨晚|昨夜|前天|前晚|前几天|上次|上回|上周|上月|上个|上礼拜|之前|以前|刚才|刚刚|那天|那时|当时|曾经|过去|从前|先前|去年|前年"
    r"|今早|早上|最近|还记得|记得|记不记得|[天日周週月年期拜时時钟鐘][之以]?前|前[儿兒夜日]|昨[儿兒日]|今晨|[上这這本][个個]?(?:周|週|星期|礼拜|禮拜)[一二三四五六日天]|[说聊讲谈提问]了|了[什啥哪多几谁些]|说过|聊过|提过|讲过|谈过|问过|剛才|剛剛|當時|曾經|過去|從前|上週|上個|說過|還記得|記得",
    re.IGNORECASE,
)
#: «What did I tell you», «have we ever talked», «我说过什么»: questions about the past that name no time.
_SPOKEN = re.compile(
    r"\b(?:did|have|had)\s+(?:i|we|you|he|she|they)\s+(?:ever\s+|already\s+|just\s+)*"
    r"(?:sa(?:y|id)|tell|told|mention|talk|spoke|speak|discuss|decide|agree|ask|promise|plan)\w*\b"
    r"|[我你您他她们咱][们們]?[都还還有曾]*[说說聊讲講谈談提问問][过過到了].*[什哪谁誰几幾吗嗎呢多怎?？]"
    r"|[什哪谁誰几幾多怎].*[我你您他她们咱][们們]?[都还還有曾]*[说說聊讲講谈談提问問][过過到了]",
    re.IGNORECASE,
)
#: A day, a month or a year that is named, and that something is asked.
_DATED = re.compile(
    r"\d{4}-\d\d?-\d\d?|\d{4}\s*年|\d{1,2}\s*月|[一二三四五六七八九十]月|\b(?:in|of|during)\s+(?:19|20)\d\d\b"
    r"|\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b|\b(?:\d{1,2}(?:st|nd|rd|th)?\s+)may\b|\bmay\s+\d",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"[?？]|\b(?:what|when|where|which|who|whom|how|why)\b|什[么麼]|[谁誰哪几幾吗嗎]|多少|怎[么麼样樣]", re.IGNORECASE
)
#: Words that ask what was said, and when, and name nothing that was: no event is found by them.
_ASKING_WORDS = (
    "say said says saying tell told telling talk talked talking speak spoke spoken discuss discussed "
    "discussing mention mentioned chat chatted chatting conversation conversations ask asked asking answer "
    "answered remember remembered recall last time times yesterday previous previously earlier before ago "
    "already again recent recently lately week weeks month months day days night year years today tonight "
    "morning afternoon evening noon exactly topic topics things thing stuff did do does was were other still ever "
    "just now know "
    "eat ate eaten meet met see saw seen have had having happen happened happening up to go going went gone get got been be am is are any anything something everything busy spend spent "
    "干 做 干嘛 干啥 做啥 啥 忙 忙什么 忙活 发生 些 哪儿 在 去 过来 那 中午 凌晨 傍晚 夜里 当天 天 发 有 都 玩 见 我见 吃 喝 過 發生 幹 幹嘛 "
    "聊 聊天 聊过 聊到 聊聊 说 说过 说到 说起 讲 讲过 谈 谈过 谈到 谈论 提 提到 提过 提起 讨论 讨论过 问 问过 "
    "告诉 记得 还 还记得 记不记得 昨天 昨晚 昨夜 前天 前晚 今天 今早 早上 晚上 上午 下午 上次 上回 上周 上月 "
    "上个 上礼拜 上个月 月 周 天 之前 以前 刚才 刚刚 那天 那时 当时 曾经 过去 从前 先前 去年 前年 最近 内容 "
    "话题 事 事情 东西 具体 到底 时候 次 过 說 說過 講 談 還 還記得 記得 討論 問 告訴 剛才 剛剛 內容 話題 "
    "什么 什麼 哪些 哪 哪个 哪里 谁 怎么 多少 几 我们 我 你 你们 咱们 他 她 吗 呢 了 的 是"
)
#: Whether a message names days does not depend on when it is said.
_ANY_DAY = date(2000, 1, 1)
_ASKING = frozenset(_ASKING_WORDS.split())


def is_about_past(message: str) -> bool:
    """Whether a message asks about what was: «昨天我们聊了什么», «what did I say about the port?»."""
    said = message.strip()[-LOOK_CHARS:]  # of a long message its end, where people ask
    if _SPOKEN.search(said) or (_DATED.search(said) and _ASKED.search(said)):
        return True
    if _PAST.search(said) and is_question_about_past(message):
        return True
    return is_question(message) and PAST_TENSE.search(said) is not None and bool(windows(said, asked=_ANY_DAY))


def has_question_mark_or_word(message: str) -> bool:
    """Whether a message asks something, by its words or its mark."""
    return _ASKED.search(message[-LOOK_CHARS:]) is not None


def telling_words(message: str, moments: Sequence[DateRange] = ()) -> list[str]:
    """The words of a question something can be found by: not those that only ask, nor those that name the days."""
    days = {word for moment in moments for word in text.words(moment.words)}
    return [
        word for word in content_words(message) if word not in _ASKING and word not in days and not word.isdecimal()
    ]

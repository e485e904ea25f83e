"""Does a message need memory at all? Rules only, in Chinese and English, well under a millisecond (D3).

Every rule has a name, and the answer says which one decided.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from memories.recall.gate import exclusions
from memories.recall.gate.short_forms import ERRAND, UNFINISHED
from memories.recall.gate.vocabulary import CHINESE_LOCAL, NAME, PERSONAL

MIN_BYTES = 5  # UTF-8: «好» is too short, «年糕» is not
#: What is looked at, so that no message takes long: its ends, the first of its lines, a greeting's length.
LOOK_CHARS = 1_000
LOOK_LINES = 30


@dataclass(frozen=True)
class GateDecision:
    """Whether to search, and the rule that said so."""

    retrieve: bool
    rule: str


_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
#: A line no person would write to another: keywords alone prove nothing («if you remember, …», «from Paris, …»).
_CODE_LINE = re.compile(
    r"\s*+(?:(?:(?:async\s+)?def|class)\s+\w+.*[:{]|(?:if|elif|else|for|while|try|with|except)\b[^,，。]*[:{]|import\s+[\w.{*]+.*"
    r"|from\s+\S+\s+import\b.*|return\b.*[;()\[\]{}]|return(?:\s+[\w.]+)?|(?:const|let|var)\s+\w+\s*=.*"
    r"|(?:public|private|static|package|func|function|export)\s.*[{};)]|(?-i:SELECT|INSERT INTO|UPDATE|DELETE FROM|FROM|WHERE)\s.*"
    r"|[{}()\[\],;]+|</?\w++[^>]*+>(?!\s*[:：]).*|#include\b.*|#!.*|//.*|\"[\w-]+\"\s*:\s.+|[\w.\[\]\"']+\s*[-+:]?=\s*\S.*|[\w.]+\([^，。]*\)[;:,]?"
    r"|(?:\$|>>>)\s.+)\s*",
    re.IGNORECASE,
)
#: One line of it that nobody would say.
_STATEMENT = re.compile(
    r"select\s+(?:distinct\s|\*|[\w.]+\s*[,(]).*\sfrom\s.*|select\s.*\sfrom\s.*;|insert\s+into\s.*\bvalues\b.*|update\s+\w+\s+set\s+\w+\s*=.*"
    r"|delete\s+from\s+\w+(?:\s+where\s.*)?;?|(?:create|alter|drop)\s+(?:table|index|database)\s.*|(?:def|class)\s+\w+\(.*\):.*|console\.log\(.*|(?:sudo|git|docker|kubectl|npm|pip3?|apt|brew|curl|ssh|chmod|grep)\s+[-\w./:]+(?:\s+[-\w./:=~@|]+){0,8}",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Rule:
    """A sign that memory may help: any of these words or phrases, or the pattern."""

    name: str
    english: str  # words; those of one phrase are joined by _
    chinese: str
    pattern: re.Pattern[str] | None = None

    def matches(self, folded: str, spoken: str, words: set[str]) -> bool:
        """`folded` is the text in lower case, `spoken` its English words in order between spaces, `words` their set."""
        single, phrases = self._english
        return (
            not single.isdisjoint(words)
            or any(phrase in spoken for phrase in phrases)
            or any(sign in folded for sign in self._chinese)
            or (self.pattern is not None and self.pattern.search(folded) is not None)
        )

    @cached_property
    def _english(self) -> tuple[frozenset[str], list[str]]:
        given = self.english.split()
        phrases = [f" {phrase.replace('_', ' ')} " for phrase in given if "_" in phrase]
        return frozenset(given), phrases

    @cached_property
    def _chinese(self) -> list[str]:
        return self.chinese.split()


#: In this order; the first that matches names the answer.
_POSITIVE = (
    _Rule(
        "remember",
        "remember remembers remembered remind reminds reminder recall forget forgot forgotten memory memories memorize memorise"
        " note_that keep_in_mind",
        "记得 记住 记一下 记下 提醒 忘 回忆 記得 記住 記一下 記下 回憶",
    ),
    _Rule(
        "time",
        "yesterday today tomorrow tonight last past previous previously earlier before ago once again recent recently weekend"
        " this_week this_month this_year this_morning next_week next_month next_year next_time the_other_day just_now"
        " monday tuesday wednesday thursday friday saturday sunday january february march april june july august september"
        " october november december",
        "昨天 昨晚 昨夜 昨儿 昨日 前晚 前儿 前日 今早 今晨 刚 今天 今晚 明天 明晚 前天 后天 後天 上次 上回 上周 上月 上个 上礼拜 下周 下月 下个 下礼拜 之前 以前 刚才 刚刚 最近 那天 那时"
        " 当时 曾经 过去 从前 先前 早上 周末 去年 前年 今年 明年 这周 本周 星期 上週 下週 上個 下個 剛才 剛剛 當時 曾經 過去 從前 週末",
        re.compile(
            r"[\d一二三四五六七八九十][月号號日]|[天日周週月年期拜时時钟鐘][之以]?前|国庆|國慶|[周週][一二三四五六日天]|\d{4}-\d\d-\d\d|\bin \d{4}\b"
        ),
    ),
    _Rule(
        "question",
        "what whats which who whos whom whose when whens where wheres why how hows did does do_you is_there are_there can_you could_you tell_me any_idea",
        "? ？ 啥 咋 干嘛 幹嘛 多久 多高 多远 多遠 多大 多长 多長 吗 呢 什么 怎么 怎样 如何 为什么 为何 哪 谁 几 多少 是否 是不是 有没有 能不能 请问 告诉我"
        " 嗎 什麼 怎麼 怎樣 為什麼 為何 誰 幾 請問 告訴我 有沒有",
        re.compile(r"\A(?:is|are|was|were|has|can|could|should|would)\b"),
    ),
    _Rule(
        "preference",
        "prefer prefers preferred preference preferences favorite favourite favorites favourites like likes love loves hate hates"
        " dislike dislikes always never usual usually config configure configured configuration setting settings set_up setup"
        " pick choose plan plans recommend recommends recommended recommendation suggest default defaults password passwords credential credentials token version port env environment deploy deployed deployment",
        "推荐 推薦 喜欢 偏好 爱好 讨厌 习惯 总是 从不 平时 通常 配置 设置 设定 默认 密码 版本 端口 环境 部署 喜歡 愛好 討厭 習慣 設置 設定 密碼 環境",
    ),
    _Rule(
        "pronoun",
        "i me my mine we us our ours you your yours he him his she her hers they them their theirs it its that those this these",
        "我 你 妳 您 他 她 它 咱 这 那 這",
    ),
    _Rule(
        "personal",
        "any_updates any_update any_news any_progress any_word",
        "的电话 的電話 的地址 的号码 的號碼 的邮箱 的郵箱 的账号 的帳號 的进度 的進度 的生日",
        PERSONAL,
    ),
    _Rule("unfinished", "", "往常 照常 照样 老地方 老时间", UNFINISHED),
    _Rule("local", "", "截止 公告 名单 群里 群文件", CHINESE_LOCAL),
    _Rule("errand", "", "", ERRAND),
)
_WORD = re.compile(r"[a-z\d]+")


def decide(message: str, *, projects: Iterable[str] = ()) -> GateDecision:
    """Whether a message needs memory. `projects` are the names of projects known in its scopes."""
    text = _ends(message.strip())
    if len(text.encode(errors="surrogatepass")) < MIN_BYTES:
        return GateDecision(False, "too_short")
    if exclusions.is_acknowledgement(text):
        return GateDecision(False, "acknowledgement")
    if _is_mostly_code(text):
        return GateDecision(False, "code")
    if any(names_project(text, project) for project in projects):
        return GateDecision(True, "project")
    rule = next(_signs(text), "name" if NAME.search(text) else None)
    if rule is None:
        return GateDecision(False, "no_sign")
    reason = exclusions.reason(text)
    return GateDecision(not reason, reason or rule)


def is_question_about_past(message: str) -> bool:
    """Whether a message is a question about what was: only then is «yesterday» the day before it is asked."""
    signs = set(_signs(_ends(message.strip())))
    return "question" in signs and not signs.isdisjoint({"time", "remember"})


def is_question(message: str) -> bool:
    """Whether a message asks something: only then is a day it names, or counts back to, the day that is meant."""
    signs = set(_signs(_ends(message.strip())))
    return not signs.isdisjoint({"question", "remember"})


def _signs(text: str) -> Iterator[str]:
    """The rules that match, in their order."""
    folded = text.casefold()
    words = _WORD.findall(folded)
    spoken = f" {' '.join(words)} "
    known = set(words)
    return (rule.name for rule in _POSITIVE if rule.matches(folded, spoken, known))


def _ends(text: str) -> str:
    """The beginning and the end of a long message, where people say what they want."""
    return text if len(text) <= 2 * LOOK_CHARS else f"{text[:LOOK_CHARS]}\n{text[-LOOK_CHARS:]}"


def names_project(text: str, project: str) -> bool:
    """Whether a project's name occurs as a word of its own: «go» is not in «good»; Chinese has no gaps to ask for."""
    name = re.escape(project.strip())
    return bool(name) and re.search(rf"(?<![a-z\d_]){name}(?![a-z\d_])", text, re.IGNORECASE) is not None


def _is_mostly_code(text: str) -> bool:
    """Whether more than half of what is looked at stands in code."""
    fenced = sum(len(block) for block in _FENCE.findall(text))
    if _STATEMENT.fullmatch(text):
        return True
    rest = _FENCE.sub("", text)
    lines = [line for line in rest.splitlines() if line.strip()][:LOOK_LINES]
    code = sum(len(line) for line in lines if _CODE_LINE.fullmatch(line)) if len(lines) > 1 or fenced else 0
    return (fenced + code) * 2 > fenced + sum(map(len, lines))

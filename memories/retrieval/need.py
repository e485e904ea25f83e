"""Does a message need memory at all? Rules only, in Chinese and English, well under a millisecond (D3).

Every rule has a name, and the answer says which one decided.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

MIN_BYTES = 5  # UTF-8: «好» is too short, «年糕» is not
#: What is looked at, so that no message takes long: its ends, the first of its lines, a greeting's length.
LOOK_CHARS = 1_000
LOOK_LINES = 30
ACKNOWLEDGEMENT_CHARS = 60


@dataclass(frozen=True)
class Need:
    """Whether to search, and the rule that said so."""

    retrieve: bool
    rule: str


#: Whole messages; a line is split at commas, so that «thank you» is one.
_ACKNOWLEDGEMENTS = """
    ok,okay,okey,k,kk,yes,yep,yeah,yup,no,nope,sure,fine,good,great,nice,cool,thanks,thanks a lot,thx,ty,done,right,that's right
    agreed,confirmed,confirm,continue,go,next,proceed,understood,roger,lgtm,alright,perfect,awesome,please,hi,hello,hey,bye,i see
    thank you,thank you so much,thank you very much,go on,go ahead,got it,sounds good,no problem,all good,exactly,correct,wow
    继续,好的,好,好啊,好呀,好滴,好嘞,确认,是的,是,是啊,对,对的,对啊,没错,不,不是,不用,不用了,不要,行,可以,可以的,嗯,嗯嗯,嗯好,哦,收到
    明白,明白了,我明白了,知道了,我知道了,了解,谢谢,谢谢你,谢谢您,多谢,没问题,同意,完成,完成了,好了,可,嗨,你好,您好,再见,拜拜,好吧,行吧,没事
    不客气,辛苦了,你辛苦了,繼續,確認,謝謝,謝謝你,沒問題,沒錯,收到了,對,對的
"""
_ACKNOWLEDGED = "|".join(
    phrase.replace(" ", r"\s+")
    for phrase in sorted(re.split(r"[,\n]\s*", _ACKNOWLEDGEMENTS.strip()), key=len, reverse=True)
)
_ACKNOWLEDGEMENT = re.compile(
    rf"(?:{_ACKNOWLEDGED})(?:[^\w?？]+(?:{_ACKNOWLEDGED}))*[^\w?？]*".replace("'", "['’]"), re.IGNORECASE
)
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
#: A line no person would write to another: keywords alone prove nothing («if you remember, …», «from Paris, …»).
_CODE_LINE = re.compile(
    r"\s*+(?:(?:(?:async\s+)?def|class)\s+\w+.*[:{]|(?:if|elif|else|for|while|try|with|except)\b[^,，。]*[:{]|import\s+[\w.{*]+.*"
    r"|from\s+\S+\s+import\b.*|return\b.*[;()\[\]{}]|return(?:\s+[\w.]+)?|(?:const|let|var)\s+\w+\s*=.*"
    r"|(?:public|private|static|package|func|function|export)\s.*[{};)]|(?-i:SELECT|INSERT INTO|UPDATE|DELETE FROM|FROM|WHERE)\s.*"
    r"|[{}()\[\],;]+|</?\w++[^>]*+>.*|#include\b.*|#!.*|//.*|\"[\w-]+\"\s*:\s.+|[\w.\[\]\"']+\s*[-+:]?=\s*\S.*|[\w.]+\([^，。]*\)[;:,]?"
    r"|(?:\$|>>>)\s.+)\s*",
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
        "昨天 昨晚 昨夜 今天 今晚 明天 明晚 前天 后天 後天 上次 上回 上周 上月 上个 上礼拜 下周 下月 下个 下礼拜 之前 以前 刚才 刚刚 最近 那天 那时"
        " 当时 曾经 过去 从前 先前 早上 周末 去年 前年 今年 明年 这周 本周 星期 上週 下週 上個 下個 剛才 剛剛 當時 曾經 過去 從前 週末",
        re.compile(r"[\d一二三四五六七八九十][月号號日]|[周週][一二三四五六日天]|\d{4}-\d\d-\d\d|\bin \d{4}\b"),
    ),
    _Rule(
        "question",
        "what whats which who whom whose when where why how did does do_you is_there are_there can_you could_you tell_me any_idea",
        "? ？ 吗 呢 什么 怎么 怎样 如何 为什么 为何 哪 谁 几 多少 是否 是不是 有没有 能不能 请问 告诉我"
        " 嗎 什麼 怎麼 怎樣 為什麼 為何 誰 幾 請問 告訴我 有沒有",
        re.compile(r"\A(?:is|are|was|were|has|can|could|should|would)\b"),
    ),
    _Rule(
        "preference",
        "prefer prefers preferred preference preferences favorite favourite favorites favourites like likes love loves hate hates"
        " dislike dislikes always never usual usually config configure configured configuration setting settings set_up setup"
        " default defaults password passwords credential credentials token version port env environment deploy deployed deployment",
        "喜欢 偏好 爱好 讨厌 习惯 总是 从不 平时 通常 配置 设置 设定 默认 密码 版本 端口 环境 部署 喜歡 愛好 討厭 習慣 設置 設定 密碼 環境",
    ),
    _Rule(
        "pronoun",
        "i me my mine we us our ours you your yours he him his she her hers they them their theirs it its that those this these",
        "我 你 妳 您 他 她 它 咱 这 那 這",
    ),
)
_WORD = re.compile(r"[a-z\d]+")


def need_of(message: str, *, projects: Iterable[str] = ()) -> Need:
    """Whether a message needs memory. `projects` are the names of projects known in its scopes."""
    text = _ends(message.strip())
    if len(text.encode(errors="surrogatepass")) < MIN_BYTES:
        return Need(False, "too_short")
    if len(text) <= ACKNOWLEDGEMENT_CHARS and _ACKNOWLEDGEMENT.fullmatch(text):
        return Need(False, "acknowledgement")
    if _is_mostly_code(text):
        return Need(False, "code")
    if any(names_project(text, project) for project in projects):
        return Need(True, "project")
    rule = next(_signs(text), None)
    return Need(rule is not None, rule or "no_sign")


def asks_of_the_past(message: str) -> bool:
    """Whether a message is a question about what was: only then is «yesterday» the day before it is asked."""
    signs = set(_signs(_ends(message.strip())))
    return "question" in signs and not signs.isdisjoint({"time", "remember"})


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
    rest = _FENCE.sub("", text)
    lines = [line for line in rest.splitlines() if line.strip()][:LOOK_LINES]
    code = sum(len(line) for line in lines if _CODE_LINE.fullmatch(line)) if len(lines) > 1 or fenced else 0
    return (fenced + code) * 2 > fenced + sum(map(len, lines))

"""When two texts are one memory, and when a small difference makes them two (A10)."""

import re
import unicodedata
from collections import Counter
from enum import Enum
from itertools import pairwise

import rjieba

from memories import stopwords, text

_NUMBER = re.compile(r"\d")
_LATIN = re.compile(r"[^\W\d_]+(?:['’][a-z]+)?", re.IGNORECASE)
#: Where a word may begin or end: not between two letters that are no Chinese ones.
_EDGE = r"(?<![a-z\d](?=[a-z\d]))"
_CHINESE_NUMERALS = frozenset("零〇一二两兩三四五六七八九十百千万萬亿億半")
#: Parts of speech of the segmenter that stand for names (people, places, bodies, others) and times.
_NAME_TAGS = frozenset({"nr", "nrt", "nrfg", "ns", "nt", "nz", "t"})
_SURNAME = re.compile("[姓老小阿].")
#: Words that a name follows, as in «my cat is called Rice» and «我的猫叫年糕».
_INTRODUCING = frozenset({"called", "named", "叫", "叫做", "叫作", "名叫", "姓", "name's"})
_PERSONS = frozenset({"i", "me", "you", "we", "us", "they", "them", "我", "你", "您", "我们", "你们", "他们"})
_NEGATION_CHARS = frozenset("不没沒无無非未别別莫勿否")

_TELLING_ENGLISH = """
    no not never none nobody nothing neither nor cannot without hardly isn't aren't wasn't weren't don't doesn't
    didn't won't wouldn't can't couldn't shouldn't hasn't haven't hadn't stop stopped stops quit dislike dislikes
    hate hates unlike disable disabled enable enabled on off before after start started starts begin began end ended
    up down in out open opened close closed left right more less most least first last next previous only always
    sometimes true false yes allow allowed deny denied accept accepted reject rejected win won lose lost love loves
    like likes increase increased decrease decreased buy bought sell sold hot cold early late old new big small good
    bad zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million
    billion half once twice third fourth fifth dozen january february march april may june july august september
    october november december jan feb mar apr jun jul aug sep sept oct nov dec spring summer autumn fall winter
    monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun today tomorrow yesterday
    tonight morning noon afternoon evening night midnight weekend week month year daily weekly monthly yearly he she
    him her his hers mother father mom dad sister brother son daughter wife husband nowhere except unless refuse
    refused cancel cancelled canceled minus plus above below under over inside outside mustn't needn't dont cant
    wont didnt doesnt isnt
"""
_TELLING_CHINESE = """
    停 停止 取消 讨厌 討厭 喜欢 喜歡 开 開 关 關 打开 打開 关闭 關閉 启用 啟用 禁用 之前 之后 之後 以前 以后 以後
    前 后 後 上 下 左 右 多 少 最 更 首次 最后 最後 总是 從不 从不 有时 是 否 对 错 允许 拒绝 接受 买 卖 买入 卖出
    增加 减少 早 晚 新 旧 大 小 好 坏 冷 热 今天 明天 昨天 前天 后天 後天 早上 上午 中午 下午 晚上 凌晨 周末 週末
    上周 下周 本周 上个月 下个月 今年 去年 明年 春天 夏天 秋天 冬天 他 她 爸爸 妈妈 父亲 母亲 哥哥 姐姐 弟弟 妹妹
    儿子 女儿 丈夫 妻子 買 賣 買入 賣出 錯 對 允許 拒絕 減少 增長 舊 壞 熱 總是 有時 媽媽 父親 母親 兒子 女兒
    下個月 上個月 左边 右边 左邊 右邊 东 西 南 北 東 成功 失败 失敗 除了 反对 反對 赞成 贊成 停用 開始 开始 结束
    結束 现在 過去 过去 将来 將來
"""
#: Words that turn a statement round, count, or date it: two texts that differ in one of these say different things.
TELLING_WORDS = frozenset(_TELLING_ENGLISH.split())
TELLING_CHINESE = frozenset(_TELLING_CHINESE.split())


class Likeness(Enum):
    """What a new text is beside an old one."""

    SAME = "same"  # the same words
    ALIKE = "alike"  # one memory, said a little differently
    APART = "apart"  # nearly the same words, but what differs matters
    OTHER = "other"  # different texts


def compare(old: str, new: str, *, threshold: float) -> tuple[Likeness, float]:
    """Whether a new text repeats, rewords or only resembles an old one, and their Jaccard similarity.

    Texts are alike from `threshold` on. What counts, dates or negates is then looked at word by word: «port 8080» and
    «port 9090» are nearly the same text, and two memories.
    """
    ours, theirs = text.shingles(old), text.shingles(new)
    alike = text.jaccard(ours, theirs)
    if text.fingerprint(old) == text.fingerprint(new):
        return Likeness.SAME, 1.0
    if alike >= threshold:
        return (Likeness.APART if _differ_in_substance(old, new) else Likeness.ALIKE), alike
    if text.jaccard(_plain(ours), _plain(theirs)) >= threshold and _differ_in_substance(old, new):
        return Likeness.APART, alike
    return Likeness.OTHER, alike


def _plain(shingles: set[str]) -> set[str]:
    """What two texts share when numbers, dates and negations are left out."""
    return {shingle for shingle in shingles if not _tells(shingle)}


def contains(old: str, new: str) -> bool:
    """Whether the old text already says all of the new one."""
    said = re.escape(text.normalise(new))
    return re.search(rf"{_EDGE}{said}{_EDGE}", text.normalise(old)) is not None


def _differ_in_substance(old: str, new: str) -> bool:
    ours, theirs = text.words(old), text.words(new)
    names = _names(old, ours) | _names(new, theirs)
    differing = set(_surplus(ours, theirs) + _surplus(theirs, ours))
    return (
        any(_tells(word) for word in differing)
        or not differing.isdisjoint(names)
        or text.marks(old) != text.marks(new)
        or _roles(ours, names - differing) != _roles(theirs, names - differing)
    )


def _surplus(ours: list[str], theirs: list[str]) -> list[str]:
    """The words one text has more often than the other."""
    return list(Counter(ours) - Counter(theirs))


def _tells(word: str) -> bool:
    """Whether a word counts, dates, negates or turns a statement round."""
    return bool(
        _NUMBER.search(word)
        or word.replace("’", "'") in TELLING_WORDS
        or word in TELLING_CHINESE
        or _CHINESE_NUMERALS.intersection(word)
        or _NEGATION_CHARS.intersection(word)
    )


def _roles(words: list[str], names: set[str]) -> list[str]:
    """Who and how much, in order: «Alice owes Bob 5» is not «Bob owes Alice 5»."""
    return [word for word in words if word in names or word in _PERSONS or _tells(word)]


def _names(original: str, words: list[str]) -> set[str]:
    """Words that look like names: capitalised, tagged so by the segmenter, or after a word that introduces one.

    A capital at the beginning of a sentence proves nothing; there every word that is not a common one counts, since
    keeping two memories costs less than losing one.
    """
    plain = unicodedata.normalize("NFKC", original)
    spelled = _LATIN.findall(plain)
    found = {
        word.casefold()
        for word in spelled
        if word[0].isupper()
        and word.casefold().replace("’", "'") not in stopwords.ENGLISH
        and word.lower() not in spelled
    }
    found.update(word for before, word in pairwise(words) if before in _INTRODUCING)
    found.update(filter(_SURNAME.fullmatch, words))
    for run in text.normalise(plain).split():
        if not run.isascii():
            found.update(word for word, tag in rjieba.tag(run) if tag in _NAME_TAGS)
    return found

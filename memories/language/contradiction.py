"""Whether a newer statement contradicts a line of the profile: by rules, no model (D1, D5).

It does where it says of the same somebody that what the line says is over (no longer, left, 不再, 离职), or where it
names a new home, employer or tool in its place. What may both be true does not: a second phone, another pet. A plan, a
rumour, a journey changes nothing. What is decided here hides a line and removes nothing.
"""

import re
from functools import lru_cache

from memories.language import subjects, text
from memories.language.conflicts import ConflictVerdict, judge
from memories.language.scripts import HAN, begins_with_han
from memories.language.word_lists import pattern, patterns, remembered, word_set, words

_MOST_CHARS = 600  # what is longer is no statement about one thing
_CLAUSE = re.compile(r"\s*(?:[,.;!?，。；！？\n]+|\band\b|\bbut\b|\bso\b)\s*", re.IGNORECASE)
_UNSURE = pattern("contradictions", "unsure")
_AWAY = pattern("contradictions", "away")
_BESIDE = pattern("contradictions", "beside")
_OVER = pattern("contradictions", "over")
_DENIES_BY_END = re.compile(r"不(?P<what>.+?)了$|没(?:有)?(?P<had>.+?)了$")
_NEW_HOME = pattern("contradictions", "new_home")
_NEW_WORK = pattern("contradictions", "new_work")
_NEW_TOOL = pattern("contradictions", "new_tool")
_AT_HOME = pattern("contradictions", "at_home")
_AT_WORK = pattern("contradictions", "at_work")
_WITH_TOOL = pattern("contradictions", "with_tool")
_KINDS = patterns("contradictions", "kinds", re.IGNORECASE)
_SELF = pattern("contradictions", "self")
_PRONOUN = pattern("contradictions", "pronoun")
_SUBJECT = re.compile(r"^(?P<who>(?:the user|user|my \w+(?:'s \w+)?|our \w+|(?:the )?[\w-]+?'s \w+|[\w-]+))\s+(?=\S)")
_CHINESE_SUBJECT = re.compile(
    rf"^(?P<who>(?:用户|本人)?[{HAN}]{{0,6}}?)(?:的?(?:家|公司))?(?=现在|目前|如今|已经|已|早|不|没|刚"
    r"|最近|上个?[周月]|去年|今年|从|在|住|定居|用|使用|改|换|搬|喜欢|爱"
    r"|养|有|是|叫|姓|辞|离|入职|跳槽|加入|戒|卖|停|退|开|每|会|说|学|吃|喝|做|分手|失业|被|结婚|放弃|取消|和"
    r"|跟|最|对|打)"
)
_VERBS = frozenset(map(text.stem, words("contradictions", "plain_verbs")))
_CHINESE_TIMES = pattern("contradictions", "chinese_times")
_CHINESE_VERBS = pattern("contradictions", "chinese_verbs")
_is_away = remembered(_AWAY)
_adds_to_it = remembered(_BESIDE)
_names_new_home = remembered(_NEW_HOME)
_names_new_work = remembered(_NEW_WORK)
_names_new_tool = remembered(_NEW_TOOL)
_is_of_home = remembered(_AT_HOME)
_is_of_work = remembered(_AT_WORK)
_is_of_tool = remembered(_WITH_TOOL)
_is_denied_by_end = remembered(_DENIES_BY_END)


def outdates(newer: str, line: str) -> bool:
    """Whether a newer statement makes an older one untrue."""
    if max(len(newer), len(line)) > _MOST_CHARS:
        return False
    older, said = _plain(line), _plain(newer)
    if older == said or _is_over(older) or _is_unsure(older):
        return False
    subject, things = _subject(older), subjects.tells_apart(line)
    who, which = "", frozenset[str]()
    for part in _clauses(newer):
        clause = _plain(part)
        if (own := _subject(clause)) and not (who and _PRONOUN.fullmatch(own)):
            who, which = own, subjects.tells_apart(part)
        if _is_unsure(clause) or not _is_same(who, subject) or subjects.are_apart(which, things):
            continue
        if _ends(clause, who, older, subject) or (
            not _adds_to_it(said)
            and (
                _is_of_the_same(clause, older)
                and not _is_away(clause)
                and not (_telling(older, "") <= _telling(clause, ""))
            )
        ):
            return True
    return not _adds_to_it(said) and not _is_unsure(said) and judge(line, newer) is ConflictVerdict.CERTAIN


@lru_cache(maxsize=2_048)  # a statement is compared with many
def _clauses(content: str) -> tuple[str, ...]:
    return tuple(part for part in map(str.strip, _CLAUSE.split(content.replace("’", "'"))) if _plain(part))


@lru_cache(maxsize=2_048)
def _is_unsure(said: str) -> bool:
    return _UNSURE.search(said) is not None


@lru_cache(maxsize=2_048)
def _is_over(said: str) -> bool:
    return _OVER.search(said) is not None


@lru_cache(maxsize=2_048)
def _plain(said: str) -> str:
    return " ".join(said.casefold().replace("’", "'").split()).strip(" .。!！")


@lru_cache(maxsize=2_048)
def _subject(said: str) -> str:
    """Who is spoken of; empty where nobody is named."""
    chinese = begins_with_han(said)
    found = (_CHINESE_SUBJECT if chinese else _SUBJECT).match(said)
    if chinese:
        return found["who"].removesuffix("的") or "我" if found else ""
    who = found["who"] if found else ""
    return "" if who in _NOBODY else who


_NOBODY = word_set("contradictions", "nobody")


def _is_same(one: str, other: str) -> bool:
    if not one or not other or _PRONOUN.fullmatch(one):
        return False
    return one == other or bool(_SELF.fullmatch(one) and _SELF.fullmatch(other))


def _ends(clause: str, who: str, older: str, subject: str) -> bool:
    """Whether it says that what the line tells is over."""
    if not (_is_over(clause) or _is_denied_by_end(clause)) or _is_away(clause):
        return False
    over = _telling(_OVER.sub(" ", clause).split(" to ")[0], who)
    told = _telling(older, subject)
    return bool(over) and all(
        word in told or (begins_with_han(word) and any(word in one for one in told)) for word in over
    )


@lru_cache(maxsize=2_048)
def _telling(said: str, who: str) -> frozenset[str]:
    """What is told, by stems and Chinese words, without who it is of and the plainest verbs."""
    rest = said.removeprefix(who)
    bare = _CHINESE_VERBS.sub(" ", _CHINESE_TIMES.sub(" ", rest).replace("不", " ").replace("没", " "))
    words = {text.stem(word.removesuffix("'s")) for word in text.words(bare)}
    return frozenset(word for word in words if word not in _VERBS and word not in _LIGHT)


_LIGHT = word_set("contradictions", "light")


def _is_of_the_same(clause: str, older: str) -> bool:
    """Whether both tell of a home, of work, or of a tool of one kind; nearly no two statements do."""
    if _names_new_home(clause) and _is_of_home(older):
        return True
    if _names_new_work(clause) and _is_of_work(older):
        return True
    if _names_new_tool(clause) and _is_of_tool(older):
        return any(kind.search(clause) and kind.search(older) for kind in _KINDS)
    return False

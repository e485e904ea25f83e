"""The names people go by, learnt from their messages; and what in a text looks like a name or a number (D1).

By rules, in Chinese and English. Learnt are pairs: a name somebody is called by, and the name they go under. A
rule wants a phrase that names («call me», «外号是») and, behind it, what looks like a name; better none is learnt than
a wrong one. Where two texts are compared it is the other way round: what is taken for a name too often only keeps two
memories apart.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from memories.language import text
from memories.language.text import HAN, MEASURE_WORDS, NUMERALS, begins_a_sentence, has_han, parts_of_speech, simplified
from memories.language.word_lists import deferred, source, word_set, words

LOOK_CHARS = 2_000  # of a text
NAME_CHARS = 40
#: Who speaks when nobody knows their name; no name begins so.
UNNAMED = "_"

#: Texts without any of these teach no name; PostgreSQL understands it, too.
TRIGGER = (
    "[Cc]all|[Nn]ame|known as|a[.]?k[.]?a|go(es)? by|short for|[=＝]|就是|又名|也叫|叫|喊|稱呼|称呼"
    "|外号|外號|绰号|綽號|昵称|暱稱|小名|花名|英文名|名字"
)
_TRIGGER = deferred(TRIGGER)
_SIMPLIFIED = simplified("names")
_SURNAMES = frozenset("".join(words("names", "surnames")))
_COMPOUND = tuple(words("names", "compound_surnames"))
FAMILIAR = word_set("names", "familiar")

EN_NAME = r"([A-Z][\w'’-]*\w(?: [A-Z][\w'’-]*\w){0,2})"
_EN_ONE = r"([A-Z][\w’'-]*\w)"
_OF_ONESELF = [
    deferred(rf"\b[Cc]alls? me {_EN_ONE}"),
    deferred(rf"\b[Mm]y (?:full |first |real |nick ?|user)?name(?:['’]s| is) {EN_NAME}"),
    deferred(rf"\bI(?:['’]m| am) (?:called|named|known as) {EN_NAME}"),
    deferred(rf"\bI (?:usually |also )?go by {_EN_ONE}"),
]
#: Each pair: which group is the name that is learnt, which the other one.
_OF_ANOTHER = [
    (
        deferred(
            rf"(?<![A-Za-z]){EN_NAME},?"
            rf" (?:a\.?k\.?a\.?|also known as|also called|nicknamed|(?:who )?goes by) {_EN_ONE}"
        ),
        2,
        1,
    ),
    (deferred(rf"{_EN_ONE} is short for {_EN_ONE}"), 1, 2),
    (deferred(rf"{_EN_ONE}['’]s (?:nick ?name|pet name) is {_EN_ONE}"), 2, 1),
    (deferred(rf"\bcalls? {_EN_ONE} {_EN_ONE}"), 2, 1),
]
_CALLED_SO = deferred(rf"\bcalls? (?:her|him|them) {_EN_ONE}")
_A_NAME = deferred(EN_NAME)
ZH_NAME = rf"([{HAN}]{{2,12}}|[A-Z][\w'’-]*\w)"
_SPOKEN_OF = "外号|绰号|昵称|小名|花名|英文名"
_ZH_OF_ONESELF = [
    deferred(rf"(?:叫|喊|称呼)我(?:为|作|做)?{ZH_NAME}"),
    deferred(rf"我的?(?:名字|全名|本名|{_SPOKEN_OF})(?:就)?(?:是|叫做?|[:：])\s*{ZH_NAME}"),
]
_ZH_MY_NAME = deferred(rf"(?<![叫喊呼])我(?:就)?(?:名叫|叫做?)(?![他她它你您我了过着]){ZH_NAME}")
_ZH_CALLED_SO = deferred(rf"(?:叫|喊|称呼)[他她](?:为|作|做)?{ZH_NAME}")
_ZH_NICKNAME = deferred(rf"(?<!我)(?<!我的)的?(?:{_SPOKEN_OF})(?:就)?(?:是|叫做?|[:：])?\s*{ZH_NAME}")
_ZH_EQUAL = deferred(rf"([{HAN}]{{2,4}})\s*(?:[=＝]|就是|[（(]?(?:又名|也叫))\s*([{HAN}]{{2,6}})")
_ZH_NICKNAME_OF = deferred(rf"([{HAN}]{{2,4}})是([{HAN}]{{2,4}})的(?:{_SPOKEN_OF})")
_TAIL = deferred(r"(?:就好了?|就行了?|就可以了?|好了|即可|吧|啦|哦|呀|啊|哈|呢|了)++$")
_NOT_CALLED = text.ENGLISH_STOPWORDS | word_set("names", "not_called")
#: With these a sentence begins that begins with no name.
_NO_NAMES = text.ENGLISH_STOPWORDS | word_set("names", "not_names")
_NO_NICKNAMES = text.CHINESE_STOPWORDS | word_set("names", "no_nicknames")


@lru_cache(maxsize=4_096)
def fold(name: str) -> str:
    """A name as names are compared: width, case and script aside."""
    return unicodedata.normalize("NFKC", name).casefold().translate(_SIMPLIFIED).strip()


def simplify(content: str) -> str:
    """A text with the characters of names in simplified form."""
    return content.translate(_SIMPLIFIED)


def learn(content: str, speaker: str) -> dict[str, str]:
    """The names a text teaches, folded, and whom each means; `speaker` wrote it, or the user's side of it."""
    own_words = own_side(content)[:LOOK_CHARS]
    if _TRIGGER.search(own_words) is None:
        return {}
    plain = simplify(unicodedata.normalize("NFKC", own_words))
    aliases: dict[str, str] = {}
    for alias, name in (*_english(plain, speaker), *_chinese(plain, speaker)):
        if fold(alias) != fold(name) and len(alias) <= NAME_CHARS >= len(name):
            aliases[fold(alias)] = name if aliases.get(fold(alias), name) == name else ""
    return aliases


#: «I'm Greta», «Greta here», 我是小李: may be anything («I'm Dutch»), so believed only where a name is looked for.
_INTRODUCED = (
    deferred(rf"\b(?:I['’]?m|I am|[Tt]his is|[Ii]t['’]s) {_EN_ONE}(?=[,.!;)]|\s*$| (?:and|from|here|by)\b)"),
    deferred(rf"(?:^|[,.!] ){_EN_ONE} (?:here|speaking)\b"),
    deferred(rf"(?<![叫你您他她])(?:我是|这是|本人|在下)([{HAN}]{{2,4}}?)(?=[，。！,.!]|$)"),
)


def introduced(content: str) -> set[str]:
    """The names by which a text may introduce whoever wrote it."""
    plain = unicodedata.normalize("NFKC", own_side(content)[:LOOK_CHARS])
    candidates = {match[1] for pattern in _INTRODUCED for match in pattern.finditer(plain)}
    return {name for name in candidates if name.casefold() not in _NOT_CALLED | word_set("relations", "no_names")}


def own_side(content: str) -> str:
    """The person's side of a turn: a bot that introduces itself teaches nothing about the user."""
    sides = re.split(r"^(User|Assistant): ", content, flags=re.MULTILINE)
    if len(sides) == 1:
        return content
    return "\n".join(words for side, words in zip(sides[1::2], sides[2::2], strict=False) if side == "User")


def _english(plain: str, speaker: str) -> Iterator[tuple[str, str]]:
    for pattern in _OF_ONESELF:
        for match in pattern.finditer(plain):
            if match[1].casefold() not in _NOT_CALLED:
                yield match[1], speaker
    for pattern, alias, name in _OF_ANOTHER:
        for match in pattern.finditer(plain):
            if not {match[1].casefold(), match[2].casefold()} & _NOT_CALLED:
                yield match[alias], match[name]
    for match in _CALLED_SO.finditer(plain):
        before = [name for name in _A_NAME.findall(plain[: match.start()]) if name.casefold() not in _NO_NAMES]
        if before and match[1].casefold() not in _NOT_CALLED:
            yield match[1], re.sub(r"['’]s$", "", before[-1])


def _chinese(plain: str, speaker: str) -> Iterator[tuple[str, str]]:
    for pattern in _ZH_OF_ONESELF:
        for match in pattern.finditer(plain):
            if name := nickname(match[1]):
                yield name, speaker
    for match in _ZH_MY_NAME.finditer(plain):
        if name := full_name(match[1]):
            yield name, speaker
    for match in _ZH_CALLED_SO.finditer(plain):
        if (alias := nickname(match[1])) and (name := _last_person(plain[: match.start()])):
            yield alias, name
    for match in _ZH_NICKNAME.finditer(plain):
        if (alias := nickname(match[1])) and (name := person_at_end(plain[: match.start()])):
            yield alias, name
    for pattern in (_ZH_EQUAL, _ZH_NICKNAME_OF):
        for match in pattern.finditer(plain):
            one, other = person_at_end(match[1]), full_name(match[2])
            if one and other:
                yield (one, other) if len(one) <= len(other) else (other, one)


def nickname(rest: str) -> str:
    """The nickname a clause begins with; empty when it is no name: «叫我起床»."""
    clause = _TAIL.sub("", rest)
    if not clause or clause[0].isascii():
        return clause
    if name := full_name(clause):
        return name
    tagged = parts_of_speech(clause)
    is_name = 2 <= len(clause) <= 4 and all(tag.startswith(("n", "x", "i", "j")) for _, tag in tagged)
    return clause if is_name and clause not in _NO_NICKNAMES else ""


def full_name(rest: str) -> str:
    """The person's name a clause begins with, as the segmenter and the surnames tell."""
    clause = _TAIL.sub("", rest)
    if not clause or clause[0].isascii():
        return clause
    words = parts_of_speech(clause)
    first, tag = words[0]
    if first in FAMILIAR and len(words) > 1 and len(words[1][0]) == 1:
        return first + words[1][0]
    if is_person(first) or (tag.startswith("nr") and 2 <= len(first) <= 4):
        return first
    joined = first + (words[1][0] if len(words) > 1 else "")
    short = len(clause) <= 4 and is_person(clause)
    return clause if short else joined if is_person(joined) and len(first) <= 2 and tag.startswith("n") else ""


def person_at_end(content: str) -> str:
    """The person a text ends with: «昨天王小明» ends with 王小明."""
    words = parts_of_speech(content[-12:])
    if not words:
        return ""
    last, tag = words[-1]
    joined = words[-2][0] + last if len(words) > 1 else ""
    if len(joined) <= 4 and is_person(joined) and words[-2][1].startswith(("nr", "a", "b")):
        return joined
    if is_person(last) or (tag.startswith("nr") and 2 <= len(last) <= 4):
        return last
    latin = re.search(r"[A-Z][\w-]*\w$", content)
    return latin.group() if latin else ""


def _last_person(content: str) -> str:
    """The person who was spoken of last."""
    tagged = parts_of_speech(content[-60:])
    people = [word for word, tag in tagged if tag.startswith("nr") and 2 <= len(word) <= 4]
    joined = [one + other for (one, _), (other, _) in pairwise(tagged) if is_person(one + other)]
    people = joined or people
    latin = [name for name in _A_NAME.findall(content[-60:]) if name.casefold() not in _NO_NAMES]
    return (people or latin or [""])[-1]


def is_person(name: str) -> bool:
    """Whether this looks like a Chinese name: 王小明, 欧阳娜娜, 小李, 阿明."""
    plain = simplify(name)
    if not 2 <= len(plain) <= 4:
        return False
    tagged = parts_of_speech(plain)
    if len(tagged) == 1 and not tagged[0][1].startswith("n"):
        return False  # a word like others: 高兴, 明天
    if plain[0] in FAMILIAR:
        return len(plain) == 2 and (len(tagged) == 2 or tagged[0][1].startswith("nr"))
    if plain.startswith(_COMPOUND):
        return len(plain) >= 3
    return plain[0] in _SURNAMES and len(plain) <= 3 and (len(tagged) > 1 or tagged[0][1].startswith("nr"))


def given_names(name: str) -> list[str]:
    """The given name of a full one: Melanie of Melanie Smith, 小明 of 王小明."""
    if surname := _surname(name):
        given_name = simplify(name)[len(surname) :]
        return [given_name] if len(given_name) == 2 else []
    parts = name.split()
    return [parts[0]] if len(parts) > 1 else []


def familiar_names(name: str) -> list[str]:
    """What friends make of a Chinese name: 阿明, 小明, 老王, 小王."""
    surname = _surname(name)
    last = simplify(name)[-1:]
    return [f"阿{last}", f"小{last}", f"老{surname}", f"小{surname}"] if surname else []


def _surname(name: str) -> str:
    """The surname of a full Chinese name; empty for others."""
    plain = simplify(name)
    if not is_person(plain) or plain[0] in FAMILIAR:
        return ""
    return plain[:2] if plain.startswith(_COMPOUND) else plain[0]


def words_of_name(name: str) -> str:
    """A name as it is looked for among the words of a message, without gaps."""
    return "".join(text.words(fold(name)))


_DIGITS = deferred(r"\d+(?:\.\d+)?")
_THOUSANDS = deferred(r"(?<=\d),(?=\d{3}(?!\d))")
_COUNTED = deferred(f"[{NUMERALS}半]+(?=[{MEASURE_WORDS}])|[{NUMERALS}]{{2,}}|第[一二三四五六七八九十百]+")
_CHINESE_DATES = deferred(
    "[今明昨前后後去]天|[今明去前后後]年|[上下本这這]个?個?[周週月]|[周週]末"
    f"|(?:{source('calendar', 'zh_week')}){source('calendar', 'zh_weekday')}"
    "|早上|上午|中午|下午|晚上|凌晨|[春夏秋冬]天"
)
_COUNTING = word_set("entities", "counting")
#: «Ann在上海» is a name beside Chinese, and no name of six characters.
_WORD = deferred(rf"[^\W\d_{text.CJK}](?:[^\W{text.CJK}]|['’-])*")
_BEGINS_AFTER = frozenset('.!?。！？:："“「(（')
#: Addresses, paths and whatever else has a sign within: as it stands.
_SIGNED = deferred(r"(?<![\w~])[\w~]*+[./@_\\][\w][\w./@:_\\+-]*[\w/]", re.ASCII)
_QUOTED = deferred(r"[\"“「『《]([^\"”」』》]{1,80})[\"”」』》]")
#: What the segmenter calls names of people, places, companies and others.
NAME_TAGS = frozenset({"nr", "nrt", "nrfg", "ns", "nt", "nz"})


def numbers(content: str) -> set[str]:
    """Digits, counting words and dates, each as it is written."""
    plain = _THOUSANDS.sub("", unicodedata.normalize("NFKC", content))
    values = {number.lstrip("0") or "0" for number in _DIGITS.findall(plain)}
    values.update(_COUNTED.findall(plain), _CHINESE_DATES.findall(plain))
    return values | ({text.bare(word.casefold()) for word in _WORD.findall(plain)} & _COUNTING)


def proper_names(content: str) -> set[str]:
    """What looks like a name: capitals, quoted words, addresses and paths, Chinese names; folded."""
    plain = unicodedata.normalize("NFKC", content)
    folded_names: set[str] = set()
    for word in _WORD.finditer(plain):
        spelling = word.group()
        if not any(character.isupper() for character in spelling) or spelling in ("I", "I'm", "I've"):
            continue
        # at the beginning of a sentence only a word that says something
        says_something = text.bare(spelling.casefold()) not in text.ENGLISH_STOPWORDS
        if says_something or not begins_a_sentence(plain[: word.start()], _BEGINS_AFTER):
            folded_names.add(spelling.casefold())
    folded_names.update(name.casefold() for name in [*_SIGNED.findall(plain), *_QUOTED.findall(plain)])
    if has_han(plain):
        tagged = parts_of_speech(plain)
        folded_names.update(word for word, tag in tagged if tag in NAME_TAGS and len(word) > 1 and has_han(word))
    return {text.bare(name) for name in folded_names}

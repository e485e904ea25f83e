"""What text is made of: scripts, lengths, tokens, words and bigrams, sentences and their kinds; when two are the same.

The ranges of Chinese, Japanese and Korean characters are written as they stand within the brackets of a pattern.
"""

import hashlib
import re
import threading
import unicodedata
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import Enum
from functools import cache, lru_cache
from itertools import chain

import snowballstemmer

from memories.language import word_lists
from memories.language.word_lists import deferred, pattern, word_set

#: The ideographs of the first block: what keys and the names of folders may hold besides ASCII.
PLAIN_HAN = "\u4e00-\u9fff"
#: The ideographs people write, and the few signs between their blocks.
HAN = "\u3400-\u9fff"
KANA = "\u3040-\u30ff"
#: Kana, ideographs and all that stands between them.
KANA_TO_HAN = "\u3040-\u9fff"
COMPATIBLE_HAN = "\uf900-\ufaff"
RARE_HAN = "\U00020000-\U0003134f"
#: With the mark of repetition 々, the zero 〇 and the compatibility forms: what may stand within a word.
IDEOGRAPHS = f"\u3005\u3007\u3400-\u4dbf{PLAIN_HAN}{COMPATIBLE_HAN}"
#: Kana, ideographs and Hangul, as they are in fonts and keyboards.
CJK_LETTERS = f"{KANA}\u3400-\u4dbf{PLAIN_HAN}{COMPATIBLE_HAN}\uac00-\ud7af"
#: What is written without gaps and is in fonts and keyboards.
COMMON_CJK = f"\u3005\u3007{CJK_LETTERS}"
#: All that is written without gaps and indexed by characters.
CJK = f"{COMMON_CJK}{RARE_HAN}"
#: Chinese numerals, and the words between one and what it counts.
NUMERALS = "零〇一二两兩三四五六七八九十百千万萬亿億"
MEASURE_WORDS = "年月日号號点點时時分秒个個岁歲天周週次只隻条條元块塊斤公楼樓层層位名本台辆輛度成折"
#: The characters of Chinese pronouns.
PRONOUNS = "我你您他她它们們"
_HAN = deferred(f"[{HAN}]")


def has_han(content: str) -> bool:
    """Whether a text holds an ideograph."""
    return _HAN.search(content) is not None


def begins_with_han(content: str) -> bool:
    """Whether a text begins with an ideograph."""
    return _HAN.match(content) is not None


def simplified(section: str) -> dict[int, str]:
    """A table for `str.translate`: the traditional characters of a section of `traditional.txt` as simplified ones."""
    return str.maketrans({pair[0]: pair[1] for pair in word_lists.words("traditional", section)})


ENGLISH_STOPWORDS = word_set("stopwords", "english")
CHINESE_STOPWORDS = word_set("stopwords", "chinese")


ELLIPSIS = " ... "
#: Dimensions of a keyword vector: terms are hashed into 1 … DIMENSIONS (the most pgvector's sparsevec takes).
DIMENSIONS = 1_000_000_000
_PRIME = 999_999_937

_RUN = deferred(rf"[{CJK}]+|[^\W{CJK}_]+(?:['’][a-z]+)?")
_HALF_WORD = deferred(rf"[^\W{CJK}_]{{2,}}")
_CJK_CHAR = deferred(rf"[{CJK}]")
_BETWEEN_CJK = deferred(rf"(?<=[{CJK}]) | (?=[{CJK}])")
#: What punctuation must not be lost of: signs, points and units of numbers, comparisons, C++ and C#, blood group A+,
#: and a crossed-out answer.
_MARK = deferred(
    r"(?:(?<![a-z\d])[-+~])?[$€£¥]?(?<!\d)\d+(?:[.:/~,-]\d+)*[%‰°$€£¥]?|(?<![a-z\d])[a-z](?:\+\+|#)"
    r"|(?<![a-z\d])[a-z]{1,2}[-+](?![a-z\d+-])|\*(?=/)|[<>=≤≥≠≈±×÷√→←↑↓]|&&|\|\||[👎❌✖🚫💔✗✘☐]"
)
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
#: Codes and passwords, whose case and signs count: letters and digits together.
_CODE = deferred(r"(?<![a-z\d])[a-z\d]+(?:[#$%^&*@!+=~\\_][a-z\d]+)*", re.IGNORECASE)
#: Addresses, paths and names of files, whose signs count.
_ADDRESS = deferred(r"(?<![a-z\d])[a-z\d]+(?:[./@_\\][a-z\d]+)+")
_PLAIN_CODE = deferred(r"[A-Za-z]*|\d*|[A-Z]?[a-z\d]*|[A-Z\d]*")
_SENTENCE = deferred(r"[^.!?。！;；\n]+[.!?。！]*")
_ASKING = deferred(
    r"\b(?:what|which|who|whom|whose|when|where|why|how)\b"
    r"|^\s*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|am)\b"
    rf"|[吗嗎呢谁誰哪几幾何]|什[么麼]|多少|怎|是否|(?P<verb>[{PLAIN_HAN}])[不没沒](?P=verb)"
)
#: Control characters and those that steer others: joiners, marks of direction, tags, BOM.
_SHAPELESS = frozenset({"Cc", "Cf"})
#: Letters and marks that are drawn as nothing: fillers of Hangul and Khmer, the empty Braille cell, selectors of
#: variants, and the joiner of marks.
_FILLERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
_UNSTORABLE = deferred("[\\0\ud800-\udfff]")
#: Joiners belong to emoji and to the scripts that need them; elsewhere they hide words, as others nobody sees.
_JOINED = "\u0600-\u0dff\u1000-\u109f\u1780-\u17ff\u2190-\u22ff\u2300-\u2bff\ufe0f\U0001f000-\U0001faff"
_INVISIBLE = deferred(
    "[\0-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
    f"|(?<![{_JOINED}])[\u200c\u200d]"
)
_LABEL = deferred(r"^(?:User|Assistant): ", re.MULTILINE)


class _English(threading.local):
    """A stemmer for each thread: it keeps the word it is at work on in itself."""

    def __init__(self) -> None:
        self.stem = snowballstemmer.stemmer("english").stemWord


_english = _English()


def without_invisible(text: str) -> str:
    """A text without what nobody sees: marks of direction, fillers, joiners where none belongs."""
    return _INVISIBLE.sub("", text)


def is_storable(text: str) -> bool:
    """Whether PostgreSQL can keep a text: it takes neither NUL nor half a surrogate pair."""
    return _UNSTORABLE.search(text) is None


def is_blank(text: str) -> bool:
    """Whether nothing of a text is seen: it has spaces and characters without a shape of their own at most.

    A sign that is put together with such characters, as a family of emoji by joiners, is seen.
    """
    return all(char.isspace() or unicodedata.category(char) in _SHAPELESS or char in _FILLERS for char in text)


def smart_truncate(text: str, limit: int) -> str:
    """A text of at most `limit` characters: as it is, or an ellipsis between its head, 60 % of the limit, and its end.

    A limit that has no room for an ellipsis leaves the head alone (A1).
    """
    text = text.strip()
    if len(text) <= limit:
        return text
    head = limit * 6 // 10
    tail = limit - head - len(ELLIPSIS)
    if tail < 0:
        return text[: max(limit, 0)]
    return text[:head] + ELLIPSIS + text[len(text) - tail :]


def count_tokens(text: str) -> int:
    """Roughly the tokens a language model sees: 0.75 a CJK character, one for 3.6 others."""
    cjk = len(_CJK_CHAR.findall(text))
    return round(cjk * 0.75 + (len(text) - cjk) / 3.6)


def last_tokens(text: str, limit: int) -> str:
    """The end of a text, about `limit` tokens long, from the beginning of a word on."""
    if count_tokens(text) <= limit:
        return text
    tokens = 0.0
    for start in range(len(text) - 1, -1, -1):
        tokens += 0.75 if _CJK_CHAR.match(text[start]) else 1 / 3.6
        if tokens > limit:
            end = text[start + 1 :]
            begun = _HALF_WORD.match(text, start)
            return end[len(begun.group()) - 1 :].lstrip() or end if begun else end.lstrip()
    return text


def first_tokens(text: str, limit: int) -> str:
    """The beginning of a text, about `limit` tokens long."""
    tokens = 0.0
    for position, char in enumerate(text):
        tokens += 0.75 if _CJK_CHAR.match(char) else 1 / 3.6
        if tokens > limit:
            return text[:position].rstrip()
    return text


def normalise(text: str) -> str:
    """A text without what does not count: width, case, punctuation, spacing and the labels of a turn."""
    runs = _RUN.findall(unicodedata.normalize("NFKC", _LABEL.sub("", text)).casefold())
    return " ".join(runs)


def fingerprint(text: str) -> str:
    """Equal for texts that say the same in the same words; 32 hex digits."""
    bare = text.strip()
    if bare.startswith("User: ") and "\nAssistant:" not in bare:
        # A turn nobody answered, as it was written once, with an empty answer: stored fingerprints are of that
        bare = f"{bare}\nAssistant:"
    normal = _BETWEEN_CJK.sub("", normalise(bare)) or bare
    with_marks = "\n".join([normal, *marks(bare)])
    return hashlib.sha256(with_marks.encode(errors="surrogatepass")).hexdigest()[:32]


def marks(text: str) -> list[str]:
    """What `normalise` loses and two texts may still differ by: «-5», «3.5», «5%», «C++», «aB3», «👎», a question."""
    spelled = unicodedata.normalize("NFKC", text).translate(_DASHES)
    plain = spelled.casefold()
    signs = [mark for mark in _MARK.findall(plain) if not mark.isdecimal()]
    codes = [code for code in _CODE.findall(spelled) if not _PLAIN_CODE.fullmatch(code)]
    return [
        *signs,
        *codes,
        *_ADDRESS.findall(plain),
        *("?" for sentence in _SENTENCE.findall(plain) if ("?" in sentence and _ASKING.search(sentence) is None)),
    ]


def cut(run: str) -> list[str]:
    """The words of a Chinese text."""
    import rjieba  # reading its dictionary takes a fifth of a second, and most commands read no Chinese

    return rjieba.cut(run)


def parts_of_speech(run: str) -> list[tuple[str, str]]:
    """The words of a Chinese text, each with its part of speech as jieba names them."""
    import rjieba

    return rjieba.tag(run)


def load() -> None:
    """Compile all patterns and read the dictionary: once, before processes are forked that are to answer at once."""
    word_lists.compile_all()
    parts_of_speech("")


def words(text: str) -> list[str]:
    """The words of a text in order, Chinese ones as segmented, nothing left out; for comparing texts."""
    out: list[str] = []
    for run in normalise(text).split():
        out.extend(cut(run) if _CJK_CHAR.match(run) else [run])
    return out


def bare(word: str) -> str:
    """A word without the «'s» of whom something is of."""
    return word.replace("’", "'").removesuffix("'s")


def bare_words(text: str) -> list[str]:
    """The words of a text in order, each without the «'s» of whom something is of."""
    return list(map(bare, words(text)))


def join_words(words: Iterable[str]) -> str:
    """Words as one text, Chinese ones without gaps: where one ends there is a guess of the segmenter's."""
    return _BETWEEN_CJK.sub("", " ".join(words))


def shingles(text: str) -> set[str]:
    """What two texts are compared by: words, and bigrams of Chinese (A10)."""
    out: set[str] = set()
    for run in normalise(text).split():
        if _CJK_CHAR.match(run):
            out.update(run[i : i + 2] for i in range(max(len(run) - 1, 1)))
        else:
            out.add(run)
    return out


def jaccard(one: set[str], other: set[str]) -> float:
    """The share two sets have in common, 0–1; two empty sets have nothing in common."""
    return len(one & other) / len(one | other) if one and other else 0.0


def common_start(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (word, other_word) in pairs if word != other_word), min(len(one), len(other)))


def terms(text: str) -> Counter[int]:
    """The hashed index terms of a text and how often each occurs (E5): stems, Chinese words and their bigrams."""
    return Counter(
        dimension_of(term)
        for run in normalise(text).split()
        for term in (_chinese_terms(run) if _CJK_CHAR.match(run) else _other_terms(run))
    )


def coverage(content: str, sources: Iterable[str]) -> float:
    """The share of the terms of a text that its sources hold, 0–1; of a text of nothing but stopwords 1."""
    own = terms(content).keys()
    sources_terms = {term for source in sources for term in terms(source)}
    return len(own & sources_terms) / len(own) if own else 1.0


def characters(text: str) -> set[str]:
    """The Chinese characters of a text that say something by themselves."""
    return set(_CJK_CHAR.findall(normalise(text))) - CHINESE_STOPWORDS


def terms_of_word(word: str) -> set[int]:
    """The terms and characters a text has to hold in which this word stands; none of a word that tells nothing."""
    if not _CJK_CHAR.match(word):
        return set(terms(word))
    parts = characters(word) if len(word) == 1 else {word[i : i + 2] for i in range(len(word) - 1)}
    return {dimension_of(part) for part in parts}


def term_positions(text: str, wanted_terms: Collection[int]) -> dict[int, set[int]]:
    """Where these terms stand in a text, counted in words and Chinese characters, of which any is found by itself."""
    positions: defaultdict[int, set[int]] = defaultdict(set)
    start = 1
    for run in normalise(text).split():
        is_chinese = _CJK_CHAR.match(run) is not None
        for offset, term in _chinese_places(run) if is_chinese else enumerate(_other_terms(run)):
            if (number := dimension_of(term)) in wanted_terms:
                positions[number].add(start + offset)
        start += len(run) if is_chinese else 1
    return positions


def telling_characters(text: str) -> list[str]:
    """The Chinese words of a text that are one character long and tell something."""
    characters = [word for word in words(text) if len(word) == 1 and _CJK_CHAR.match(word)]
    return [word for word in dict.fromkeys(characters) if word not in CHINESE_STOPWORDS]


def _chinese_places(run: str) -> Iterator[tuple[int, str]]:
    start = 0
    for word in cut(run):
        yield start, word
        start += len(word)
    for n, char in enumerate(run):
        yield n, char
        yield n, run[n : n + 2]


def _other_terms(run: str) -> list[str]:
    bare = run.replace("’", "'")
    if bare in ENGLISH_STOPWORDS:
        return []
    return [stem(bare.removesuffix("'s"))]


def _chinese_terms(run: str) -> list[str]:
    segmented = [word for word in cut(run) if word not in CHINESE_STOPWORDS]
    bigrams = [run[i : i + 2] for i in range(len(run) - 1)]
    whole_words = set(segmented)
    return segmented + [pair for pair in bigrams if pair not in whole_words]


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The English stem of a word; the word itself when it is not English."""
    return str(_english.stem(word)) if word.isascii() else word


@lru_cache(maxsize=262_144)
def dimension_of(term: str) -> int:
    """The dimension of a term in keyword vectors, 1 … DIMENSIONS."""
    return zlib.crc32(term.encode()) % _PRIME + 1


# -- where the sentences of a text begin and end, and what kind of sentence one is

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_MARKUP = re.compile(r"^[\s>#*•·\-–—]+|^\d+[.)、]\s+|\*\*|__|`", re.MULTILINE)
#: Where a sentence ends: after Chinese marks at once, after Western ones before a space; a point in 3.5 ends nothing.
_ENDS = re.compile(r"(?<=[。！？；…])|(?<=[.!?;])\s+|\n+")
#: As it was written, with lists and abbreviations: only . ! ? and the end of a line end a sentence, «;» and «…» do not.
_SPOKEN = re.compile(r"[^。！？!?\n]+?(?:[。！？!?]+|\.(?=\s|$)|\n|$)")
#: Where one of these ends; «3.» begins one, at the beginning of a line.
_SPOKEN_END = re.compile(r"[。！？!?]+|(?<!\b\d)(?<!\b\d\d)\.(?=\s)")
#: What stands before the first word of a sentence, or of what is quoted.
_BEGINS_AFTER = frozenset('.!?。！？:"“')


def sentences(content: str) -> list[str]:
    """The sentences of a message, without its blocks of code and its markup."""
    return _ENDS.split(_MARKUP.sub("", _FENCE.sub("\n", content)))


def begins_a_sentence(before: str, marks: frozenset[str] = _BEGINS_AFTER) -> bool:
    """Whether what follows this text begins a sentence: after one of these marks, or on a line of its own."""
    bare = before.rstrip()
    return not bare or bare[-1] in marks or "\n" in before[len(bare) :]


def is_pleasantry(sentence: str) -> bool:
    """Whether a sentence greets, thanks or agrees, and tells nothing."""
    return _empty_words().issuperset(words(sentence))


def spoken_sentences(content: str) -> list[str]:
    """The sentences of a message with their marks and whatever else was typed, each on one line."""
    return [" ".join(match.group().split()) for match in _SPOKEN.finditer(content)]


def nearest_sentence(content: str, texts: Iterable[str]) -> str:
    """The sentence of some texts that shares most words with another; of equal ones the first, of none nothing."""
    own = set(terms(content))
    candidates = [sentence for other in texts for sentence in spoken_sentences(other) if sentence]
    return max(candidates, key=lambda sentence: len(own.intersection(terms(sentence))), default="")


def joined(parts: Iterable[str]) -> str:
    """Sentences as a text: Chinese ones follow without a space."""
    return "".join(sentence if begins_with_han(sentence) else f" {sentence}" for sentence in parts).strip()


def cut_at_sentence(content: str, max_tokens: int) -> str:
    """The beginning of a text, at most so many tokens; it ends with a sentence, if that keeps a third."""
    beginning = first_tokens(content, max_tokens)
    ends = [match.end() for match in _SPOKEN_END.finditer(beginning)] if beginning != content else []
    return beginning[: ends[-1]] if ends and ends[-1] * 3 > len(beginning) else beginning


@cache
def _empty_words() -> frozenset[str]:
    """A sentence of nothing but these is left out."""
    return (
        frozenset(words(" ".join(word_lists.words("summary", "pleasantries")))) | ENGLISH_STOPWORDS | CHINESE_STOPWORDS
    )


class Sign(Enum):
    """A sign of a question; its value is the section with its pattern."""

    CLOSING_MARK = "closing_mark"  # a question mark at the end, within quotes or brackets as well
    PARTICLE = "particle"  # 吗 or 呢 at the end
    MARK = "mark"  # a question mark anywhere
    OPENING = "opening"  # an English sentence begins with «what», «do», «is»
    WORD = "word"  # 谁, 什么, 多少 anywhere
    A_NOT_A = "a_not_a"  # 是不是, 有没有
    REQUEST_ENGLISH = "request_english"  # «tell me …», «I wonder …», a question without its mark
    REQUEST_CHINESE = "request_chinese"  # 告诉我, 我忘了, and words of a question


BY_ITS_END = (Sign.CLOSING_MARK, Sign.PARTICLE)
#: Those of a question; a request may be none.
ANY = (*BY_ITS_END, Sign.MARK, Sign.OPENING, Sign.WORD, Sign.A_NOT_A)
_PATTERNS = {sign: pattern("asking", sign.value) for sign in Sign}


def is_question(sentence: str, by: Iterable[Sign] = BY_ITS_END) -> bool:
    """Whether a sentence has one of these signs of a question."""
    return any(_PATTERNS[sign].search(sentence) for sign in by)


_QUOTED = re.compile(r"^[ \t]{0,8}[>＞].*$", re.MULTILINE)
_ORDERED = pattern("wishes", "ordered")
_REQUESTED = pattern("wishes", "requested")
_NOT_FORGET = pattern("wishes", "kept_from_forgetting")
_ENDS_IN_NOT_FORGETTING = pattern("wishes", "at_the_end")
_BEFORE_STATEMENT = pattern("wishes", "before_statement")
_IS_REPORTED = pattern("wishes", "is_reported")
_ORDERED_CHINESE = pattern("wishes", "ordered_chinese")
_REQUESTED_CHINESE = pattern("wishes", "requested_chinese")
_NOT_FORGET_CHINESE = pattern("wishes", "not_forget_chinese")
_NOTHING_NAMED = word_set("wishes", "nothing_named")
_NOTHING_NAMED_CHARS = frozenset("".join(filter(has_han, _NOTHING_NAMED)))


def asks_to_keep(message: str) -> bool:
    """Whether a message asks that something be remembered; what it quotes does not count."""
    return any(map(_asks, _plain_sentences(message)))


def only_asks_to_keep(message: str) -> bool:
    """Whether a message asks that something be remembered, and beside that no question."""
    others = (sentence for sentence in _plain_sentences(message) if not _asks(sentence))
    return asks_to_keep(message) and not any(is_question(sentence, by=ANY) for sentence in others)


def names_what(message: str) -> bool:
    """Whether a request says itself what is to be kept; «please remember that» is about the messages before."""
    return not all(
        _NOTHING_NAMED_CHARS.issuperset(word) if has_han(word) else word in _NOTHING_NAMED
        for word in words(" ".join(_plain_sentences(message)))
    )


def _plain_sentences(message: str) -> Iterator[str]:
    for sentence in sentences(_QUOTED.sub("", message)):
        if plain := " ".join(sentence.replace("’", "'").casefold().split()):
            yield plain


def _asks(sentence: str) -> bool:
    may_order = not is_question(sentence)
    if has_han(sentence):
        not_forget_chinese = (match for match in _NOT_FORGET_CHINESE.finditer(sentence) if not match["who"])
        if any(not_forget_chinese) or _REQUESTED_CHINESE.search(sentence):
            return True
        if may_order and _ORDERED_CHINESE.search(sentence):
            return True
    requests = chain(_ORDERED.finditer(sentence) if may_order else (), _REQUESTED.finditer(sentence))
    not_forget = chain(_NOT_FORGET.finditer(sentence), _ENDS_IN_NOT_FORGETTING.finditer(sentence))
    own = chain(requests, (match for match in not_forget if not _BEFORE_STATEMENT.search(sentence[: match.start()])))
    return any(not _IS_REPORTED.search(sentence[: match.start()]) for match in own)

"""Which of several things a statement is about: what sets its subject apart (D5, A7).

«Room number 12» and «room number 14» are two rooms: a number, an ordinal, a letter or a name that stands before the
verb belongs to the subject, and is no value that another takes the place of. Pure and deterministic.
"""

import re
from functools import lru_cache
from itertools import pairwise

from memories.language import text
from memories.language.names import NAME_TAGS
from memories.language.text import has_han, parts_of_speech
from memories.language.word_lists import pattern, word_set

_VERBS = word_set("subjects", "verbs")
_BEFORE_NOUNS = word_set("subjects", "before_nouns")
_NO_VERBS = pattern("subjects", "no_verbs")
_WHICH = word_set("subjects", "which")
_CHINESE_WHICH = pattern("subjects", "chinese_which")
_OPENERS = word_set("subjects", "openers")
_WORD = re.compile(r"#?\d[\w.,-]*\w|#?\d|[^\W\d_][\w'’&-]*")
_KEY = re.compile(r"\A\W*(?P<key>[^\s:：][^:：\n]{0,39}?)\s*(?:(?<!\d)[:：]|[:：](?!\d))(?!//)\s*")
#: Shorter words with the ending of a verb are mostly nouns: gas, bed.
_LEAST_LETTERS = 4
#: What is longer makes more than one statement.
_READ_CHARS = 200
#: Verbs, prepositions, adverbs: with these the predicate of a Chinese sentence begins.
_PREDICATES = frozenset({"v", "p", "d", "df", "vn", "y"})
_CHINESE_NAMES = NAME_TAGS | {"eng"}


def are_apart(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Whether two subjects, by what sets them apart, are two things; one that is named more fully is not."""
    return not (ours <= theirs or theirs <= ours)


@lru_cache(maxsize=4_096)  # a statement is compared with many
def tells_apart(statement: str) -> frozenset[str]:
    """The numbers, ordinals, letters and names in the subject of a statement, folded; capitals count."""
    clause = statement[:_READ_CHARS]
    if key := _KEY.match(clause):
        name = key["key"]
        labels = _CHINESE_WHICH.findall(name) if has_han(name) else _labels(_WORD.findall(name))
        if labels and name.casefold() not in _OPENERS:
            return frozenset(labels)
        clause = clause[key.end() :]
    if has_han(clause):
        tagged = parts_of_speech(clause)
        end = next((n for n, (_word, tag) in enumerate(tagged) if n and tag in _PREDICATES), len(tagged))
        subject = "".join(word for word, _tag in tagged[:end])
        # whether a whole subject is a name the segmenter guesses, now so, now so; before 的 it is a name, of an owner
        owners = {
            word.casefold()
            for (word, tag), (after, _tag) in pairwise(tagged[: end + 1])
            if tag in _CHINESE_NAMES and (after == "的" or (tag == "eng" and len(word) == 1))
        }
        return frozenset(owners.union(_CHINESE_WHICH.findall(subject)))
    words = _WORD.findall(clause)
    end = next((n for n in range(1, len(words)) if _is_verb(words, n)), 0)
    return frozenset(_labels(words[:end]))


def _labels(words: list[str]) -> list[str]:
    return [text.bare(word.casefold()).lstrip("#") for n, word in enumerate(words) if _is_label(words, n)]


def _is_label(words: list[str], n: int) -> bool:
    word = words[n]
    if any(map(str.isdigit, word)) or word.casefold() in _WHICH:
        return True
    if not word[0].isupper() or word in ("I", "I'm", "I've") or word.casefold() in _BEFORE_NOUNS - {"a"}:
        return False
    # the first word has a capital in any case: of it only an owner is sure to be a name
    return n > 0 or word.endswith(("'s", "’s")) or (len(words) > 1 and len(word) > 1 and words[1][0].isupper())


def _is_verb(words: list[str], n: int) -> bool:
    """Whether the verb of a statement stands here."""
    word = words[n].replace("’", "'")
    before = words[n - 1] if n > 1 else words[0].casefold()  # «Building A needs …»
    if before in _BEFORE_NOUNS or before.endswith(("'s", "’s")):
        return False
    if word in _VERBS:
        return True
    has_ending = word.endswith(("s", "ed")) and not _NO_VERBS.search(word)
    return has_ending and word.islower() and len(word) >= _LEAST_LETTERS

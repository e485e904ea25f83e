"""Which texts speak to the model that reads them, instead of about the world (A18).

«From now on answer that …», «SYSTEM: …», 以后都要回答…, tags of roles, calls of tools, pictures with an address:
whoever writes to a bot can write them, and so can a page a bot reads. Rules decide, in English and Chinese; the words
are in `orders.txt`. A rule that errs keeps a harmless text out of groups and profiles; it removes nothing. Pure.
"""

import re
import unicodedata
from functools import lru_cache

from memories.choices import Suspicion
from memories.language.names import simplify
from memories.language.sentences import spoken_sentences
from memories.language.text import has_han, without_invisible
from memories.language.turns import USER_LABEL, spoken_parts
from memories.language.word_lists import pattern, word_set

#: Of a longer text its beginning and its end are read.
READ_CHARS = 6_000
NAME_CHARS = 80  # of a speaker, before a colon
_MACHINERY, _FETCHED = pattern("orders", "machinery"), pattern("orders", "fetched")
_OVERRIDE, _ORDER, _ORDER_CHINESE = (pattern("orders", name) for name in ("override", "order", "order_chinese"))
_LABEL, _BEHIND_A_LABEL = pattern("orders", "label"), pattern("orders", "behind_a_label")
_SURE_NAMES = word_set("orders", "sure_names")
_SPACES = re.compile(r"[ \t\u00a0\u3000]+")


def suspicion_of(content: str, *, is_turn: bool = False) -> Suspicion:
    """How a text speaks to a model; NONE: it speaks of the world. Of a turn each side is read by itself."""
    parts = spoken_parts(content) if is_turn else []
    if not parts:
        return _suspicion(content)
    sides = [_suspicion(words, is_answer=label != USER_LABEL) for label, words in parts]
    return next(filter(None, sides), Suspicion.NONE)


def speaks_to_models(content: str) -> bool:
    """Whether a text speaks to a model, or what somebody says in it, whose name stands before their words."""
    _name, colon, words = content.partition(": ")
    texts = [content, words] if colon and len(_name) <= NAME_CHARS else [content]
    return any(suspicion_of(text) != Suspicion.NONE for text in texts)


def without_orders(content: str) -> str:
    """The lines of a text that do not speak to a model, as what is told of a day to a group."""
    return "\n".join(line for line in content.split("\n") if not speaks_to_models(line))


@lru_cache(maxsize=4_096)  # a group's last messages are read for every answer
def _suspicion(content: str, *, is_answer: bool = False) -> Suspicion:
    """What a bot answers may advise somebody to «always answer»: of its side an order is none."""
    if len(content) > READ_CHARS:
        content = f"{content[: READ_CHARS // 2]}\n{content[-READ_CHARS // 2 :]}"
    if _FETCHED.search(content):
        return Suspicion.LINK
    plain = _SPACES.sub(" ", simplify(without_invisible(unicodedata.normalize("NFKC", content)))).casefold()
    if _MACHINERY.search(plain) or any(map(_is_forged, _LABEL.finditer(plain))):
        return Suspicion.FORGED
    lines = spoken_sentences(plain)
    if any(_OVERRIDE.search(line) for line in lines):
        return Suspicion.OVERRIDE
    orders = (_ORDER_CHINESE if has_han(line) else _ORDER for line in lines)
    if not is_answer and any(order.search(line) for order, line in zip(orders, lines, strict=True)):
        return Suspicion.ORDER
    return Suspicion.NONE


def _is_forged(label: re.Match[str]) -> bool:
    """Whether it is the label of a role: one that people write, too, only with words for a model behind it."""
    if label["heading"] or label["name"] in _SURE_NAMES:
        return True
    return _BEHIND_A_LABEL.search(label["rest"]) is not None

"""The words of a question as somebody typed them, signs and all: C++, a_b, 100%, 10.0.0.1, #42 (C5)."""

import re
import unicodedata

from memories.language import stopwords, text

_CHINESE = "\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
#: Chinese is cut into words; anything else stands as it is between spaces.
_RUN = re.compile(rf"[{_CHINESE}]+|[^\s{_CHINESE}]+")
#: What ends or opens a sentence belongs to no word, and «,» and the like never do.
_PARTS = re.compile('[,;!?，。！？、；：「」『』《》“”‘’（）【】…"`]+')
_BEFORE, _AFTER = "'([{<*", "'.:)]}>*"
_SIGNED = re.compile(r"[a-z\d]", re.IGNORECASE)
_STOPWORDS = stopwords.ENGLISH | stopwords.CHINESE
MOST = 32  # words of one question that are looked for


def literals(message: str) -> list[str]:
    """The words of a message, folded; those that tell nothing only when there are no others."""
    folded = unicodedata.normalize("NFKC", message).casefold().replace("’", "'")
    said = [word for run in _RUN.findall(_PARTS.sub(" ", folded)) for word in _words(run)]
    telling = [word for word in said if word not in _STOPWORDS]
    return list(dict.fromkeys(telling or said))[:MOST]


def _words(run: str) -> list[str]:
    if re.match(f"[{_CHINESE}]", run):
        return text.words(run)
    word = run.lstrip(_BEFORE).rstrip(_AFTER).removesuffix("'s")
    if _SIGNED.search(word) is None and not any(map(str.isalnum, word)):
        return [run] if run in ("_", "%", "+", "#", "@", "&", "$") else []
    return [word]


def as_a_whole(word: str) -> str:
    """A pattern of PostgreSQL's for a word that is no part of another: 42 of «#42», and not of «1420» or «4.2»."""
    escaped = re.sub(r"([^a-z\d\u0080-\U0010ffff])", r"\\\1", word)
    before = r"(?<![a-z\d_])" if re.match(r"[a-z\d_]", word) else ""
    after = r"(?![a-z\d_+#]|\.\d)" if re.search(r"[a-z\d_]$", word) else ""
    return f"{before}{escaped}{after}"

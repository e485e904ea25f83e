"""Which names a file or folder of the workspace may have, so that no spelling of a path leads elsewhere."""

import os
import re
import unicodedata

NAME_BYTES = 200
_SIGNS = re.compile(r"[\\:]|%(?:[0-9a-f]{2}|u[0-9a-f]{4})", re.IGNORECASE)
#: Characters nobody sees: control, format (text turned round, zero width), half surrogate pairs, line separators.
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
#: Full-width signs people write in Chinese names. All else that stands for another character is refused.
_CHINESE_SIGNS = str.maketrans("", "", "（）！，；？＋－＝＆")


def is_plain(name: str) -> bool:
    """Whether a name means the same on every disk, and nothing but itself."""
    return (
        bool(name)
        and name[0] not in ".~ "
        and name[-1] not in ". "
        and not _SIGNS.search(name)
        and not any(unicodedata.category(char) in _UNSEEN for char in name)
        and len(name.encode()) <= NAME_BYTES
        and _stands_for_itself(name)
    )


def _stands_for_itself(name: str) -> bool:
    """No look-alike of another character, and composed: «é» is one character, as git stores it."""
    rest = name.translate(_CHINESE_SIGNS)
    return unicodedata.normalize("NFKC", rest) == rest


def readable(name: str) -> str:
    """A name as it can be shown and stored, whatever bytes it has on the disk."""
    return os.fsencode(name).decode(errors="replace")

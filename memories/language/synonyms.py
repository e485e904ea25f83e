"""Words that stand for one another without changing what is said, in English and Chinese (A10).

Words that differ in number, date, degree, modality or direction are never in one group; what has a second meaning is
listed in pairs, which hold for two words at the same place and no others.
"""

from memories.language.word_lists import groups, words


def _regular(base: str) -> list[str]:
    """The third person, the -ing form, the past and the participle of a regular verb."""
    if base.endswith("e"):
        return [f"{base}s", f"{base[:-1]}ing", f"{base}d", f"{base}d"]
    third = f"{base}es" if base.endswith(("s", "x", "ch", "sh", "o")) else f"{base}s"
    return [third, f"{base}ing", f"{base}ed", f"{base}ed"]


def _english() -> dict[str, str]:
    """Each word and the name of what it stands for, with its ending: a past is no present."""
    found: dict[str, str] = {}
    for group in groups("synonyms", "verbs"):
        name = group[0].split("/")[0]
        for verb in group:
            forms = verb.split("/") if "/" in verb else [verb, *_regular(verb)]
            for form, ending in zip(forms, ("", "s", "ing", "ed", "ed"), strict=True):
                found.setdefault(form, name + ending)
    for group in groups("synonyms", "nouns"):
        name = group[0].split("/")[0]
        for noun in group:
            singular, _slash, plural = noun.partition("/")
            found.setdefault(singular, name)
            found.setdefault(plural or f"{singular}s", f"{name}s")
    for group in groups("synonyms", "others"):
        name = next((word for word in group if "_" not in word), group[0])
        name = found.get(name, name)
        for word in group:
            found.setdefault(word, name)
    return found


ENGLISH = _english()
CHINESE = {word: group[0] for group in reversed(groups("synonyms", "chinese")) for word in group}
_SAID_AS = ENGLISH | CHINESE
PAIRS = frozenset(
    frozenset(_SAID_AS.get(word, word) for word in pair.split("/")) for pair in words("synonyms", "pairs")
)
#: Of how many words the longest word of several words is.
LONGEST = max(word.count("_") + 1 for word in ENGLISH)

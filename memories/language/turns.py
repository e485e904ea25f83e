"""A captured turn as text, and what of it tells something new (A7).

The user's questions, requests and small talk tell nothing; nor does an answer that does not know, or that repeats what
memory holds. A turn of nothing else is an echo of the question. A statement beside a question («since I moved to Porto,
where should I eat?») tells something.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from memories.choices import Echo, EntryType
from memories.language import text
from memories.language.text import BY_ITS_END, PRONOUNS, Sign, has_han, is_pleasantry, is_question, spoken_sentences
from memories.language.word_lists import pattern, word_set

USER_LABEL, ASSISTANT_LABEL = "User", "Assistant"
USER, ASSISTANT = f"{USER_LABEL}: ", f"{ASSISTANT_LABEL}: "
#: The share of an answer's words that may be new to memory, in an answer that repeats it.
NEW_SHARE = 0.25
#: Memories one answer may be put together from.
SOURCES = 3

_TURN = re.compile(rf"\A{USER}(?P<user>.*?)\n{ASSISTANT}(?P<assistant>.*)\Z", re.DOTALL)
_SIDE = re.compile(rf"^({USER_LABEL}|{ASSISTANT_LABEL}): ", re.MULTILINE)
_SPEAKER = re.compile(r"^([^\s:][^:\n]{0,199}): ", re.MULTILINE)
_BEGINS_A_SIDE = re.compile(rf"(?<=[\n\r])(?={USER}|{ASSISTANT})")
_BEGINS_A_SPEAKER = re.compile(r"(?<=[\n\r])(?=[^\s:][^:\n]{0,199}: )")
_CLAUSE = re.compile(r"[,，;；:：、—]|\s[-–]\s|\b(?:but|because|since|given that|now that)\b", re.IGNORECASE)
_ASKING = (*BY_ITS_END, Sign.REQUEST_ENGLISH, Sign.REQUEST_CHINESE)
_ASKS_NOTHING = pattern("turns", "asks_nothing", re.IGNORECASE)
_ASKS_TO_KEEP = pattern("turns", "asks_to_keep", re.IGNORECASE)
_TELLS_ENGLISH = pattern("turns", "tells_english", re.IGNORECASE)
_TELLS_CHINESE = pattern("turns", "tells_chinese")
_TELLS_NOTHING = pattern("turns", "tells_nothing", re.IGNORECASE)
_TAG = pattern("turns", "tag", re.IGNORECASE)
_UNKNOWN = pattern("turns", "unknown", re.IGNORECASE)
_CHATTER = word_set("turns", "chatter_english", "chatter_chinese")
_BUT = re.compile(r"\b(?:but|however|although|though)\b|不过|不過|但是?|然而", re.IGNORECASE)
_INTRODUCTION = pattern("turns", "introduction", re.IGNORECASE)


def turn_of(user: str, assistant: str, name: str = "") -> str:
    """The sides of a turn as one text; one on which nobody speaks is not among them.

    Under a `name` stands the message of a member of a group. A line within a side that begins as a side does is set in
    by a space: every line that begins so begins one.
    """
    within = _BEGINS_A_SPEAKER if name else _BEGINS_A_SIDE
    sides = ((name or USER_LABEL, user), (ASSISTANT_LABEL, assistant))
    return "\n".join(f"{label}: {within.sub(' ', words)}" for label, words in sides if words.strip())


def sides_of(content: str) -> tuple[str, str] | None:
    """The user's side and the bot's side of a turn; None of any other text."""
    match = _TURN.match(content)
    return (match["user"], match["assistant"]) if match else None


def is_turn(entry_type: str, content: str) -> bool:
    """Whether an entry is a turn as it was captured: also one its user asked to have kept."""
    return entry_type == EntryType.CHAT_TURN or (
        entry_type == EntryType.USER_EXPLICIT and content.startswith((USER, ASSISTANT))
    )


def spoken_parts(content: str, *, names: bool = False) -> list[tuple[str, str]]:
    """Who says what in a text of turns, as `turn_of` writes them, with `names` or without; of other texts nothing."""
    parts = (_SPEAKER if names else _SIDE).split(content)
    if parts[0]:
        return []
    return list(zip(parts[1::2], parts[2::2], strict=True))


def substance_of(content: str, echo: str | None) -> str:
    """What search knows of an entry: of a turn whose answer is an echo only what the user tells; else all of it."""
    sides = sides_of(content) if echo == Echo.ANSWER else None
    return "\n".join(telling_sentences(sides[0])) if sides else content


def telling_sentences(message: str) -> list[str]:
    """The sentences of a message that tell something."""
    return list(_telling(message))


@lru_cache(maxsize=4_096)  # recall reads the same turns question after question
def _telling(message: str) -> tuple[str, ...]:
    return tuple(sentence for sentence in spoken_sentences(message) if sentence.strip() and tells_something(sentence))


def tells_something(sentence: str) -> bool:
    """Whether a sentence of a user tells something: a statement, or a question with one beside it."""
    if is_pleasantry(sentence):
        return False
    if not asks_something(sentence) or _ASKS_TO_KEEP.search(sentence):
        return True
    clauses = [clause.strip(" .。!！?？") for clause in _CLAUSE.split(sentence) if clause and clause.strip()]
    if len(clauses) < 2 or _TAG.search(clauses[-1]):
        return False
    for clause in clauses:
        # one that is a statement of its own, and not part of what is asked
        chinese = has_han(clause)
        request = Sign.REQUEST_CHINESE if chinese else Sign.REQUEST_ENGLISH
        if is_question(clause, by=(request,)) or _TELLS_NOTHING.search(clause):
            continue
        least = 4 if chinese else 3
        size = len(clause) if chinese else len(clause.split())
        if size >= least and (_TELLS_CHINESE if chinese else _TELLS_ENGLISH).search(clause):
            return True
    return False


def asks_something(sentence: str) -> bool:
    """Whether a sentence is a question or a request, whatever it tells beside."""
    return is_question(sentence, by=_ASKING) and _ASKS_NOTHING.search(sentence) is None


def new_sentences(answer: str, *, question: str, memories: Iterable[str] = ()) -> list[str]:
    """The sentences of an answer that tell something which stands neither in the question nor in these memories.

    Courtesy, «I don't know» and a question back tell nothing. An answer may be put together from several memories.
    """
    rest = _full_sentences(answer)
    memory_texts = [text.normalise(memory) for memory in memories] if rest else []
    question_text = text.normalise(question)
    new: list[str] = []
    for sentence in rest:
        new_words, _sources = _trace_words(_words_beside(sentence, question_text), memory_texts)
        # A number or a code that is new makes a statement new, and so do more words than a few
        is_new = any(any(map(str.isdigit, word)) for word in new_words)
        if is_new or len(new_words) > NEW_SHARE * len(_answering_words(sentence)):
            new.append(sentence)
    return new


def repeated_memories(answer: str, *, question: str, memories: Iterable[str]) -> set[int]:
    """Positions of the memories that the sentences of an answer are put together from.

    Of those that hold the same words it is the one that shares more with question and answer, or else the first.
    """
    question_text, shared = text.normalise(question), _telling_words(f"{question}\n{answer}")
    numbered = [(n, text.normalise(memory)) for n, memory in enumerate(memories)]
    numbered.sort(key=lambda memory: -sum(_holds(memory[1], word) for word in shared))
    contents = [content for _n, content in numbered]
    words = [_words_beside(sentence, question_text) for sentence in _full_sentences(answer)]
    return {numbered[n][0] for new in words for n in _trace_words(new, contents)[1]}


def _full_sentences(answer: str) -> list[str]:
    """The sentences of an answer that say something of the matter: no courtesy, no ignorance, no question back."""
    return [
        sentence
        for sentence in spoken_sentences(answer)
        if sentence.strip() and not (is_question(sentence) or is_pleasantry(sentence))
        if _BUT.search(sentence) or not _UNKNOWN.search(sentence)
    ]


def _words_beside(sentence: str, question_text: str) -> set[str]:
    """The words that tell something and are not in the question."""
    return {word for word in _answering_words(sentence) if not _holds(question_text, word)}


def _trace_words(words: set[str], memories: Sequence[str]) -> tuple[set[str], list[int]]:
    """The words that stand in none of these texts, and the positions of the few texts that hold most of the others."""
    sources = []
    for _ in range(SOURCES):
        counts = [sum(_holds(memory, word) for word in words) for memory in memories]
        if not any(counts):
            break
        sources.append(counts.index(max(counts)))
        words = {word for word in words if not _holds(memories[sources[-1]], word)}
    return words, sources


def _answering_words(sentence: str) -> set[str]:
    return _telling_words(_INTRODUCTION.sub(" ", sentence))


def _telling_words(sentence: str) -> set[str]:
    return set(text.bare_words(sentence)) - text.ENGLISH_STOPWORDS - text.CHINESE_STOPWORDS - _CHATTER


def _holds(content: str, word: str) -> bool:
    """Whether a normalised text holds a word: Chinese anywhere, others as a word with the same stem."""
    return word.strip(PRONOUNS) in content if has_han(word) else text.stem(word) in _stems(content)


@lru_cache(maxsize=512)
def _stems(content: str) -> frozenset[str]:
    return frozenset(map(text.stem, text.bare_words(content)))

"""Messages that need no memory though they ask for something: thanks, small talk, commands, world knowledge (D3).

What is somebody's own decides first: «write a poem» is for anybody, «write a poem for my wife» is not.
"""

import re

from memories.recall.gate import small_talk
from memories.recall.gate import vocabulary as words
from memories.recall.gate.general_questions import is_general
from memories.recall.gate.world_knowledge import is_about_the_world

ACKNOWLEDGEMENT_CHARS = 60
SMALL_TALK_CHARS = 80
LINE_CHARS = 120  # a command beside the text it is given
MOST_CHARS = 400  # of a message that gives no text; longer ones tell something


def is_acknowledgement(text: str) -> bool:
    """Whether the whole message is thanks, consent, laughter or a greeting."""
    said = text.translate(words.SIMPLIFIED)
    if len(text) > ACKNOWLEDGEMENT_CHARS:
        return False
    return words.ACKNOWLEDGEMENT.fullmatch(said) is not None or small_talk.is_social(said)


def reason(text: str) -> str:
    """Why a message with a sign of need needs no memory after all; empty: it does."""
    said = text.translate(words.SIMPLIFIED).strip()
    if len(said) <= SMALL_TALK_CHARS and (words.SMALL_TALK.fullmatch(said) or small_talk.is_small_talk(said)):
        return "small_talk"
    asked = _asked(said)
    if len(asked) > MOST_CHARS:
        return ""
    bare = _bare(asked)
    if words.COMMAND.match(bare):
        return "" if _is_for_somebody(bare) else "command"
    anyones = words.ANYONES.sub("a person", words.ALL_OF_US.sub(r"\1 do people ", bare))
    if is_general(anyones):
        return "world_knowledge"
    general = words.ANYBODY.sub("how do you", anyones)
    if _is_of_somebody(general) or words.CHINESE_LOCAL.search(general):
        return ""
    return "world_knowledge" if is_about_the_world(general) else ""


def _asked(text: str) -> str:
    """What is asked, without the text it is asked of: that stands in quotes, behind a colon or on other lines."""
    first, _, rest = text.partition("\n")
    head = words.GIVEN_AFTER.split(first, maxsplit=1)[0]
    if (rest.strip() or head != first) and _works_on_text(head):
        return words.MINE.sub(" ", head)
    last = rest.strip().rpartition("\n")[2]
    alone = last if _works_on_text(last) else text
    return words.SAID_ABROAD.sub(_abroad, words.QUOTED.sub(" x ", alone)) if len(alone) <= MOST_CHARS else alone


def _abroad(match: re.Match[str]) -> str:
    parts = match.groupdict()
    return f"{parts['before'] or parts['verb'] or ''} x{parts['after'] or parts['into'] or ''}"


def _works_on_text(line: str) -> bool:
    return len(line) <= LINE_CHARS and words.GIVEN.search(line) is not None


def _bare(text: str) -> str:
    """Without what stands between a person and what they want: «can you», «for me», 帮我."""
    return " ".join(words.HELPERS.sub(" ", words.VERB_FOR_ME.sub(r"\1", text)).split())


def _is_of_somebody(text: str) -> bool:
    return any(pattern.search(text) for pattern in (words.PERSONAL, words.POSSESSIVE, words.DEFINITE_LOCAL))


def _is_for_somebody(command: str) -> bool:
    """Whether a command is about somebody's own things, or for a certain person."""
    own = words.CHINESE_LOCAL.search(command) and not words.INDEFINITE.search(command)
    given = (words.TO_SOMEBODY, words.MADE_TO_MEASURE)
    return _is_of_somebody(command) or bool(own) or any(pattern.search(command) for pattern in given)

"""Messages that need no memory though they ask for something: thanks, small talk, commands, world knowledge (D3).

What is somebody's own decides first: «write a poem» is for anybody, «write a poem for my wife» is not.
"""

import re

from memories.language.confidential import asks_which
from memories.language.word_lists import pattern, phrases, source, words
from memories.recall.gate import vocabulary
from memories.recall.gate.general_questions import is_about_the_world, is_general

ACKNOWLEDGEMENT_CHARS = 60
SMALL_TALK_CHARS = 80
LINE_CHARS = 120  # a command beside the text it is given
MOST_CHARS = 400  # of a message that gives no text; longer ones tell something

_PARTICLE = "[啊呀吧啦哦喔噢哈呢嘞滴哒的了呐嘛哟咯喽哇～~]"
_ENGLISH_UNIT = (
    rf"(?:(?:{source('gate', 'goodbye')}|{source('gate', 'praise')}|{phrases(words('gate', 'thanks'))}"
    r"|(?:ha){2,15}h?|(?:he){2,15}|a+ha+|lo+l|o+k+|ye+s+|no+|hm+|wo+w|so+|th+x)(?![a-z0-9]))"
)
_CHINESE_UNIT = (
    rf"(?:(?:谢谢|感谢|多谢)(?:你|您|大家|你们)的\w{{1,6}}|(?:{phrases(words('gate', 'zh_thanks'))}){_PARTICLE}{{0,4}})"
)
#: Units in a row, between whatever is no word and no question; longest first and never taken back, so it stays linear.
ACKNOWLEDGEMENT = re.compile(
    rf"[^\w?？]*+(?>(?:{_ENGLISH_UNIT}|{_CHINESE_UNIT})[^\w?？]*+)++".replace("'", "['’]?"), re.IGNORECASE
)
SMALL_TALK = pattern("gate", "small_talk", re.IGNORECASE)
#: Thanks with a reason, praise, promises to try, good wishes.
_SOCIAL = tuple(pattern("small_talk", name, re.IGNORECASE) for name in ("en_social", "zh_social"))
#: Questions to the bot about itself, the hour or the weather.
_ABOUT_THE_BOT = tuple(pattern("small_talk", name, re.IGNORECASE) for name in ("en_bot", "zh_bot", "weather"))


def is_acknowledgement(text: str) -> bool:
    """Whether the whole message is thanks, consent, laughter or a greeting."""
    said = text.translate(vocabulary.SIMPLIFIED)
    if len(text) > ACKNOWLEDGEMENT_CHARS:
        return False
    return ACKNOWLEDGEMENT.fullmatch(said) is not None or any(social.fullmatch(said) for social in _SOCIAL)


def reason(text: str) -> str:
    """Why a message with a sign of need needs no memory after all; empty: it does."""
    said = text.translate(vocabulary.SIMPLIFIED).strip()
    if len(said) <= SMALL_TALK_CHARS and any(one.fullmatch(said) for one in (SMALL_TALK, *_ABOUT_THE_BOT)):
        return "small_talk"
    asked = _asked(said)
    if len(asked) > MOST_CHARS:
        return ""
    bare = _bare(asked)
    if vocabulary.COMMAND.match(bare):
        return "" if _is_for_somebody(bare) else "command"
    anyones = vocabulary.ANYONES.sub("a person", vocabulary.ALL_OF_US.sub(r"\1 do people ", bare))
    if is_general(anyones):
        return "" if asks_which(bare) else "world_knowledge"
    general = vocabulary.ANYBODY.sub("how do you", anyones)
    if _is_of_somebody(general) or vocabulary.CHINESE_LOCAL.search(general):
        return ""
    return "world_knowledge" if is_about_the_world(general) and not asks_which(bare) else ""


def _asked(text: str) -> str:
    """What is asked, without the text it is asked of: that stands in quotes, behind a colon or on other lines."""
    first, _, rest = text.partition("\n")
    head = vocabulary.GIVEN_AFTER.split(first, maxsplit=1)[0]
    if (rest.strip() or head != first) and _works_on_text(head):
        return vocabulary.MINE.sub(" ", head)
    last = rest.strip().rpartition("\n")[2]
    alone = last if _works_on_text(last) else text
    return (
        vocabulary.SAID_ABROAD.sub(_abroad, vocabulary.QUOTED.sub(" x ", alone)) if len(alone) <= MOST_CHARS else alone
    )


def _abroad(match: re.Match[str]) -> str:
    parts = match.groupdict()
    return f"{parts['before'] or parts['verb'] or ''} x{parts['after'] or parts['into'] or ''}"


def _works_on_text(line: str) -> bool:
    return len(line) <= LINE_CHARS and vocabulary.GIVEN.search(line) is not None


def _bare(text: str) -> str:
    """Without what stands between a person and what they want: «can you», «for me», 帮我."""
    return " ".join(vocabulary.HELPERS.sub(" ", vocabulary.VERB_FOR_ME.sub(r"\1", text)).split())


def _is_of_somebody(text: str) -> bool:
    return any(
        pattern.search(text) for pattern in (vocabulary.PERSONAL, vocabulary.POSSESSIVE, vocabulary.DEFINITE_LOCAL)
    )


def _is_for_somebody(command: str) -> bool:
    """Whether a command is about somebody's own things, or for a certain person."""
    own = vocabulary.CHINESE_LOCAL.search(command) and not vocabulary.INDEFINITE.search(command)
    given = (vocabulary.TO_SOMEBODY, vocabulary.MADE_TO_MEASURE)
    return _is_of_somebody(command) or bool(own) or any(pattern.search(command) for pattern in given)

"""What can be the value of a kind of secret, at a position of a text."""

import re
from dataclasses import dataclass

from memories.language.confidential.forms import IBAN, SSN, is_harmless
from memories.language.confidential.kinds import SecretKind
from memories.language.word_lists import source

_ABOUT = re.compile(rf"(?:{source('confidential', 'about')})", re.IGNORECASE)
_ABOUT_CHINESE = re.compile(source("confidential", "about_chinese"))
UNITS = re.compile(rf"\s?-?(?:{source('confidential', 'units')})(?![a-z])", re.IGNORECASE)
_FILLERS = re.compile(f"(?:{source('confidential', 'filler')})*", re.IGNORECASE)
_QUOTED = re.compile(r"([\"'`])([^\"'`\n]{3,90})\1")
_RUN = re.compile(r"[!-~\u00c0-\u017f]{3,160}")
_DIGITS = re.compile(r"[*#]?\d(?:[ .-]?\d){2,22}[*#]?(?![\w])|\d(?:[ -]\d){2,}")
_MIXED_CODE = re.compile(r"[*#]?(?=[A-Za-z-]{0,12}\d)[A-Za-z\d]{3,12}(?:-[A-Za-z\d]{2,12}){0,7}[*#]?(?![\w])")
_DIGIT_WORD = f"(?:{source('confidential', 'digit_word')})"
_SPOKEN = re.compile(
    rf"{_DIGIT_WORD}(?:[\s,-]{{1,2}}{_DIGIT_WORD}){{2,15}}\b|[零〇一二三四五六七八九幺两壹贰叁肆伍陆柒捌玖]{{4,20}}",
    re.IGNORECASE,
)
_HAN = re.compile(r"[\u3400-\u9fff]{2,12}(?=$|[\s,.;!?，。；！？、~)）\"])")
_HAN_AND_DIGITS = re.compile(r"[\u3400-\u9fff]{1,8}[A-Za-z]{0,12}\d{2,12}(?=$|[\s,.;!?，。；！？、~)）\"])")
_WORDS = re.compile(r"[a-z]{2,12}+(?:(?:,\s?|\s-\s|\s|\d{1,2}[.)]\s?){1,3}+[a-z]{2,12}+){2,29}+", re.IGNORECASE)
_HAN_GROUPS = re.compile(
    r"[\u3400-\u9fff](?:[\s,、]{0,2}[\u3400-\u9fff]){5,40}|[a-z]{3,8}(?:[\s,、]{1,2}[a-z]{3,8}){5,30}", re.IGNORECASE
)
_IDENTIFIER = re.compile(r"(?=[A-Za-z -]{0,8}\d)[A-Za-z]{0,4}[ -]?\d(?:[ -]?[\dA-Za-z]){4,20}(?!\w)")
_PHONE = re.compile(r"[+(]?\d(?:[ ().-]{0,2}\d){6,16}(?!\w)")
_SORT_CODE = re.compile(r"\d{2}-\d{2}-\d{2}(?!\d)")
_DAY = re.compile(
    r"(?:19|20)\d{2}(?:[-/.]\d{1,2}(?:[-/.]\d{1,2})?)?$|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)\d{2}$|\d{1,2}:\d{2}",
    re.IGNORECASE,
)
_STRONG = re.compile(r"\d|[!@#$%^&*_+=~<>|\\]|[a-z][A-Z]")
_PLAIN = re.compile(r"[A-Za-z\u00c0-\u017f][A-Za-z\u00c0-\u017f'-]{3,40}")
_PLAIN_ENDS = re.compile(
    r"\s*(?:$|[.,;!?)\]\n\"'`，。；！？、）]|-\s|(?:and|but|for|so|on|at|in case|please|if|though|yours)\b"
    r"|[\u3040-\u9fff])"
)
_INFLECTED = re.compile(r"(?:ed|ing|ly|able|ible|sensitive|n't)$")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+$")
_SEPARATORS = (":", ",", "=", "}")
#: Signs of code that are in no key.
_CALL = re.compile(r"[()\[\]{}<>]")
_PLAIN_FILE = re.compile(r"\.(?:pem|json|ya?ml|txt|pub|env|key|crt|md|py|js|com|io|org)$")
_LICENSE = re.compile(r"[A-Z\d]{3,8}(?:-[A-Z\d]{3,8}){2,8}")
_DIGIT, _SMALL, _CAPITAL = re.compile(r"\d"), re.compile("[a-z]"), re.compile("[A-Z]")
_BARE_KEY = ("secret", "token", "bearer", "cookie", "key")


_NEAR = re.compile(r"(?<![A-Za-z\d])(?=[!-~]{0,20}\d)[!-~]{4}")
_NEAR_CHARS = 20
_LONG_NUMBER = re.compile(r"(?<![\w.])\d(?:[ -]?\d){11,18}(?!\w)")
_ACCOUNT_NUMBER = re.compile(r"\d(?:[ -]?\d){5,20}(?!\w)")
_BASE32 = re.compile(
    r"(?:[A-Z2-7]{4}[ -]){3,12}[A-Z2-7]{1,8}(?!\w)|[A-Z2-7]{16,64}(?!\w)"
    r"|(?:[a-z2-7]{4} ){3,12}(?=[a-z]{0,3}[2-7])[a-z2-7]{4}\b"
)
_LONG_IDENTIFIER = re.compile(r"(?<![\w.])(?:\d{17}[\dXx]|\d{3}-\d{2}-\d{4}|[A-Z]{1,2}\d{6,9}[A-Z]?|\d{9})(?![\w-])")
_LONG_PHONE = re.compile(
    r"(?<![\w.])(?:1[3-9]\d[ -]?\d{4}[ -]?\d{4}"
    r"|\+\d{1,3}[ -]?(?:\(?\d{2,5}\)?[ -]?){2,5}\d{2,5}|\(?\d{3}\)?[ -]\d{3}[ -]\d{4})(?!\w)"
)
_LONG_KEY = re.compile(r"(?<![!-~])(?=[!-~]{0,60}\d)(?=[!-~]{0,60}[A-Za-z])(?![!-~]{0,12}://)[\w+/=.-]{20,200}(?![\w])")


@dataclass(frozen=True)
class Value:
    """What can be a value of a kind of secret, at a position of a text."""

    folded: str
    kind: SecretKind
    noun: str

    def at(self, at: int, *, may_be_plain: bool) -> tuple[int, int] | None:
        """The value that begins there, after words that say nothing; a plain word is one only where it may be."""
        filler = _FILLERS.match(self.folded, at)
        signs = self.folded[at : at + 4]
        for begin in dict.fromkeys([at + len(signs) - len(signs.lstrip(" =:")), filler.end() if filler else at]):
            if span := self._quoted(begin) or self._match(begin, may_be_plain):
                return span
        return None

    def anywhere(self, at: int, until: int) -> tuple[int, int] | None:
        """A value whose form leaves no doubt, further on in the sentence."""
        form = {
            SecretKind.CARD: _LONG_NUMBER,
            SecretKind.IDENTITY: _LONG_IDENTIFIER,
            SecretKind.ACCOUNT: _LONG_NUMBER,
            SecretKind.PHONE: _LONG_PHONE,
            SecretKind.KEY: _LONG_KEY,
            SecretKind.PASSWORD: _NEAR,
            SecretKind.CODE: _NEAR,
        }.get(self.kind)
        if form is _NEAR:  # in Chinese a value needs no word before it
            near = form.search(self.folded, at, min(until, at + _NEAR_CHARS)) if self.noun[-1:] >= "\u3040" else None
            return self.at(near.start(), may_be_plain=False) if near else None
        match = form.search(self.folded, at, min(len(self.folded), until + 40)) if form else None
        is_value = match and match.start() < until and not is_harmless(self.folded, match.start())
        return match.span() if match and is_value and not _DAY.match(match[0]) else None

    def _quoted(self, at: int) -> tuple[int, int] | None:
        match = _QUOTED.match(self.folded, at)
        if not match or self.kind not in (SecretKind.PASSWORD, SecretKind.CODE, SecretKind.KEY, SecretKind.PHRASE):
            return None
        if match[2].lstrip()[:1] in _SEPARATORS:  # the quotes are of names, as in JSON
            return None
        if self.kind == SecretKind.KEY and (
            len(match[2]) < 8 or not _STRONG.search(match[2]) or _CALL.search(match[2])
        ):
            return None
        return match.span(2)

    def _match(self, at: int, may_be_plain: bool) -> tuple[int, int] | None:
        at += len(self.folded[at : at + 2]) - len(self.folded[at : at + 2].lstrip("\"'"))
        match self.kind:
            case SecretKind.PASSWORD:
                if spoken := _SPOKEN.match(self.folded, at):
                    return spoken.span()
                if run := _RUN.match(self.folded, at):
                    token = run[0].rstrip(".,;:?)]}>\"'`")
                    end = at + len(token)
                    if _MAIL.match(token) or "://" in token or len(token) < 3 or _DAY.match(token):
                        return None
                    if _STRONG.search(token):
                        is_counted = token.isdigit() and UNITS.match(self.folded, end)
                        is_word = UNITS.fullmatch(token.lstrip("0123456789"))
                        return None if is_counted or is_word or (token.isdigit() and len(token) < 3) else (at, end)
                    is_bare = self.noun[-1:] >= "\u3040" and len(token) >= 6  # «密码 sunshine»
                    return self._plain(at) if may_be_plain or is_bare else None
                if may_be_plain and (mixed := _HAN_AND_DIGITS.match(self.folded, at)):
                    return None if UNITS.match(self.folded, mixed.end()) else mixed.span()
                han = _HAN.match(self.folded, at) if may_be_plain else None
                return None if not han or _ABOUT_CHINESE.search(han[0]) else han.span()
            case SecretKind.CODE:
                for form in (_DIGITS, _MIXED_CODE, _SPOKEN):
                    match = form.match(self.folded, at)
                    if not match:
                        continue
                    if UNITS.match(self.folded, match.end()) or _DAY.match(match[0]) and len(match[0]) != 4:
                        return None
                    if re.fullmatch(r"\d+(?:st|nd|rd|th|am|pm|h|m|s|x|k|gb|mb|kg|cm)", match[0], re.IGNORECASE):
                        return None
                    if re.match(r"[:/.]\d", self.folded[match.end() : match.end() + 2]):
                        return None
                    return match.span()
                return None
            case SecretKind.KEY:
                return self._key(at)
            case SecretKind.PHRASE:
                return self._phrase(at)
            case _:
                return self._number(at)

    def _plain(self, at: int) -> tuple[int, int] | None:
        """A word, or several of a pass phrase, that say nothing about the password."""
        words = _WORDS.match(self.folded, at)
        if words and len(several := words[0].split()) > 2 and _PLAIN_ENDS.match(self.folded, words.end()):
            is_phrase = "phrase" in self.noun or len(several) >= 4
            if is_phrase and not any(
                _ABOUT.fullmatch(word.strip(",")) for word in several[1:] + [several[0]] * ("phrase" not in self.noun)
            ):
                return words.span()
        word = _PLAIN.match(self.folded, at)
        if not word or _ABOUT.fullmatch(word[0]) or _INFLECTED.search(word[0].lower()):
            return None
        return word.span() if _PLAIN_ENDS.match(self.folded, word.end()) else None

    def _key(self, at: int) -> tuple[int, int] | None:
        if groups := _BASE32.match(self.folded, at):
            return groups.span()
        run = _RUN.match(self.folded, at)
        if not run:
            return None
        token = run[0].rstrip(".,;:?!)]}>\"'`")
        is_bare = self.noun in _BARE_KEY
        if len(token) < (10 if is_bare else 6) or not _is_key(token, is_bare=is_bare) or _CALL.search(token):
            return None
        return None if _PLAIN_FILE.search(token) or "://" in token or _DAY.match(token) else (at, at + len(token))

    def _phrase(self, at: int) -> tuple[int, int] | None:
        words = _WORDS.match(self.folded, at)
        if words and len(re.findall(r"[a-z]+", words[0], re.IGNORECASE)) >= 6:
            return words.span()
        groups = _HAN_GROUPS.match(self.folded, at)
        return groups.span() if groups and len(re.sub(r"[\s,、]", "", groups[0])) >= 6 else None

    def _number(self, at: int) -> tuple[int, int] | None:
        forms = {
            SecretKind.CARD: (_LONG_NUMBER,),
            SecretKind.ACCOUNT: (_SORT_CODE, IBAN, _ACCOUNT_NUMBER),
            SecretKind.IDENTITY: (_IDENTIFIER, SSN),
            SecretKind.PHONE: (_PHONE,),
        }[self.kind]
        for form in forms:
            if (match := form.match(self.folded, at)) and not _DAY.match(match[0]):
                return match.span()
        return None


def _is_key(token: str, *, is_bare: bool) -> bool:
    """Whether a word is made as keys are: of letters and digits, of large and small letters, or a long number."""
    is_small, is_large = _SMALL.search(token) is not None, _CAPITAL.search(token) is not None
    if not _DIGIT.search(token):
        return is_small and is_large and len(token) >= 16 or _LICENSE.fullmatch(token) is not None
    return is_small or is_large or token.isdigit() and len(token) >= 8 and not is_bare

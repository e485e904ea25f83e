"""What of a conversation that is sent again is stored already, though it is stored in another form.

Answers that follow one another are one row there, line by line, and secrets are taken out of all of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from memories.language.confidential import find_secrets, is_masked_form, mask
from memories.language.secret_forms import MASKED
from memories.language.text import is_blank
from sessions_app.models import EventKind


def known_count(messages: Sequence[Mapping[str, str]], rows: Sequence[tuple[str, str]]) -> int:
    """How many messages at the beginning are the end of the rows; the last one is new in any case."""
    stored_lines = [line for row in rows for line in _lines(*row)]
    stored, texts = "".join(stored_lines), list(_as_stored(messages, stored_lines))
    sent, ends = "".join(texts), list(accumulate(map(len, texts)))
    counts = range(min(len(texts), len(messages) - 1), 0, -1)
    return next((count for count in counts if stored.endswith(sent[: ends[count - 1]])), 0)


def _as_stored(messages: Sequence[Mapping[str, str]], stored_lines: Sequence[str]) -> Iterator[str]:
    """The messages in the form they are stored in, up to the first one that is stored nowhere."""
    known = set(stored_lines)
    masked_lines = sorted((line for line in known if MASKED in line), key=len, reverse=True)  # what says most, first
    values = set[str]()  # of the secrets of a turn: an answer repeats them
    for message in messages:
        role, content = message["role"], message["content"]
        values = set() if role == EventKind.USER else values
        lines = _lines(role, content)
        if not known.issuperset(lines):
            values |= {secret.value for secret in find_secrets(content)}
            lines = [
                line if line in known else next((form for form in masked_lines if is_masked_form(form, line)), "")
                for line in _lines(role, mask(content, values))
            ]
            if not all(lines):
                return
        yield "".join(lines)


def _lines(role: str, content: str) -> list[str]:
    """The lines of an answer, or the whole of what a user said, each begun by what no text holds."""
    lines = [content] if role == EventKind.USER else content.splitlines()
    return [f"\0{role} {line}" for line in lines if not is_blank(line)]

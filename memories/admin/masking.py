"""Credentials are masked on every page of the admin, wherever they stand in it; revealing one is recorded.

What is hidden of a memory that is a credential: its words, former ones too, the quotes and messages it rests on, and
every word in any of these that looks like a secret. It is taken out of the finished page, so that no page, and none
that is made later, can forget it.
"""

import html
import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Q
from django.http import HttpRequest

from memories.admin.access import in_workspaces
from memories.admin.events import found_events
from memories.batches import Description
from memories.choices import SECRET, category_rule
from memories.language.confidential import find_secrets, secret_words
from memories.language.secret_forms import MASKED
from memories.models import BufferedTurn, Change, Entry, Evidence
from memories.staff.rights import workspaces_of

MASK = "••••••"
#: By how many of its first letters a text is recognised: it may be cut after them.
_BEGINNING = 24
#: Bytes of a text that is recognised by itself; messages are longer, since «Noted.» is a whole one, and says nothing.
_SHORTEST, _SHORTEST_MESSAGE = 4, 12
_MANY, _END = 200, 8
#: Credentials that are looked for by their words on every page; a page takes half a second with 5,000.
MOST = 2_000
#: From a beginning on; on a page not where the secret was taken out: that can be read, but for single words.
_TO_ITS_END = r'[^<"\n]*'
_UNLESS_TAKEN_OUT = rf'(?![^<"\n]*{re.escape(MASKED)})'
#: Where a word begins: «secret» is not in «secrets»; in JSON also behind a line break.
_BEFORE_WORD = r"(?:(?<![A-Za-z\d])|(?<=\\[nrt]))"
T = TypeVar("T")
_NUMBER = re.compile(r"(?<!\d)\d{1,18}(?!\d)")
_TAG = re.compile(r"(<[^<>]*>)")
_JSON_STRING = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")')
_JSON = ("application/json", "application/jsonl", "application/x-ndjson")
_ATTRIBUTE = re.compile(
    r"""((?<![\w-])(?:value|title|href|alt|placeholder|aria-label|data-[\w-]{1,40})=)("[^"]*"|'[^']*')"""
)


def is_secret(entry: Entry) -> bool:
    """Whether an entry is a credential."""
    return category_rule(entry.category).is_secret


@dataclass(frozen=True)
class Masking:
    """The beginnings of texts that are hidden from there to their end, and single words that are."""

    beginnings: Collection[str]
    words: Collection[str]

    def __bool__(self) -> bool:
        return bool(self.beginnings or self.words)

    def and_of(self, texts: Collection[str]) -> "Masking":
        """With texts that are a credential and stand in no memory yet."""
        if not texts:
            return self
        secret_values = (secret.value for text in texts for secret in find_secrets(text))
        words = {word for text in texts for word in secret_words(text)}
        return Masking({*self.beginnings, *_beginnings(texts, _SHORTEST)}, {*self.words, *words, *secret_values})

    def of_html(self, page: str) -> str:
        """A page without them: in its texts, and in what its fields, links and titles hold."""
        pattern = self._pattern(html.unescape(page), _UNLESS_TAKEN_OUT + _TO_ITS_END)
        if pattern is None:
            return page
        parts = _TAG.split(page)
        for n, part in enumerate(parts):
            if part.startswith("<"):
                parts[n] = _ATTRIBUTE.sub(lambda match: match[1] + _masked_value(match[1], match[2], pattern), part)
            else:
                parts[n] = _masked(part, pattern)
        return "".join(parts)

    def of_json(self, answer: str) -> str:
        """An answer of JSON, or a file with one a line, without them, however its strings are escaped."""
        parts = _JSON_STRING.split(answer)
        strings = [json.loads(part, strict=False) for part in parts[1::2]]
        pattern = self._pattern("\n".join(strings), r"[^\n]*")
        if pattern is None:
            return answer
        for n, string in enumerate(strings):
            if (masked := pattern.sub(MASK, string)) != string:
                parts[2 * n + 1] = json.dumps(masked, ensure_ascii=False)
        return "".join(parts)

    def of_text(self, text: str) -> str:
        """A file without them; a text that is cut off goes to the end of its line."""
        pattern = self._pattern(text, _TO_ITS_END)
        return pattern.sub(MASK, text) if pattern else text

    def _pattern(self, page: str, rest: str) -> re.Pattern[str] | None:
        """Of those that occur in this page; None: it can stay as it is."""
        whole = sorted((re.escape(text) + rest for text in _occurring(self.beginnings, page)), key=len, reverse=True)
        words = sorted(map(re.escape, _occurring(self.words, page)), key=len, reverse=True)
        alone = [f"{_BEFORE_WORD}(?:{'|'.join(words)})(?![A-Za-z\\d])"] if words else []
        return re.compile("|".join([*whole, *alone])) if whole or words else None


def masking_for(request: HttpRequest, page: str) -> Masking:
    """What is hidden from whoever looks: the credentials of all workspaces they see.

    Of more than MOST those whose numbers are in the page: what shows a memory links to it.
    """
    secret = in_workspaces(Entry.objects.filter(category__in=SECRET), workspaces_of(request)).order_by()
    secret = secret.values_list("pk", "workspace_id", "content", "origins")
    rows = list(secret[: MOST + 1])
    if len(rows) > MOST:
        condition = Q(pk__in={int(number) for number in _NUMBER.findall(page)})
        # The messages of the extraction batch whose page this is: it shows them, and no memory
        match = request.resolver_match
        if match is None or not (match.url_name or "").startswith("memories_extractionbatch_"):
            waiting: list[str] = []
        else:
            pk = str(match.kwargs.get("object_id", ""))
            turns = BufferedTurn.objects.filter(batch_id=int(pk)) if pk.isdecimal() else BufferedTurn.objects.none()
            waiting = [
                str(message["id"]) for messages in turns.values_list("messages", flat=True) for message in messages
            ]
        rows = list(secret.filter(condition | Q(origins__overlap=waiting) if waiting else condition))
    texts, messages = [content for _pk, _workspace, content, _origins in rows], []
    if rows:
        pks = [pk for pk, *_others in rows]
        former = Change.objects.filter(table_name="memories_entry", row_id__in=pks, old__has_key="content")
        texts += filter(None, former.values_list("old__content", flat=True))
        texts += Evidence.objects.filter(entry__in=pks).values_list("quote", flat=True)
    for workspace in {workspace for _pk, workspace, *_others in rows}:
        origins = sorted({path for _pk, its, _content, paths in rows for path in paths if its == workspace})
        messages += [event.words for event in found_events(workspace, origins).values()]
    beginnings = {*_beginnings(texts, _SHORTEST), *_beginnings(messages, _SHORTEST_MESSAGE)}
    return Masking(beginnings, {word for text in (*texts, *messages) for word in secret_words(text)})


def _occurring(texts: Collection[str], page: str) -> list[str]:
    """Those that stand in a page; many are recognised by their ends first, since each search reads all of the page."""
    if len(texts) > _MANY:
        ends = {page[n : n + _END] for n in range(len(page))}
        texts = [text for text in texts if len(text) < _END or text[-_END:] in ends]
    return [text for text in texts if text in page]


def _beginnings(texts: Iterable[str], shortest: int) -> Iterator[str]:
    for text in texts:
        for line in text.splitlines():
            if len(line.strip().encode()) >= shortest:
                yield line.strip()[:_BEGINNING]


def _masked(part: str, pattern: re.Pattern[str]) -> str:
    plain = html.unescape(part)
    masked = pattern.sub(MASK, plain)
    return part if masked == plain else html.escape(masked)


def _masked_value(name: str, quoted: str, pattern: re.Pattern[str]) -> str:
    """The value of an attribute; the path of a link leads to a page of ours, whatever somebody's password is."""
    path, mark, query = quoted[1:-1].partition("?") if name.startswith("href") else ("", "", quoted[1:-1])
    return f"{quoted[0]}{path}{mark}{_masked(query, pattern)}{quoted[-1]}"


def with_planned(response: T, descriptions: Iterable[Description]) -> T:
    """A page that shows what batches would do; credentials they would store are taken out of it, too."""
    response.planned_secrets = [text for row in descriptions for text in row.secrets]  # type: ignore[attr-defined]
    return response


def holds_mask(request: HttpRequest) -> bool:
    """Whether a form sends back what was masked for it: saved, it would take the place of the secret."""
    return request.method == "POST" and any(MASK in value for _name, values in request.POST.lists() for value in values)


def mask(request: HttpRequest, response: Any) -> None:
    """Take the credentials out of an answer, unless it is the one that reveals."""
    if getattr(response, "is_revealing", False) or response.streaming:
        return
    kind = response.get("Content-Type", "").partition(";")[0]
    if kind not in ("text/html", "text/csv", *_JSON):
        return
    page = response.content.decode(response.charset)
    if masking := masking_for(request, page).and_of(getattr(response, "planned_secrets", ())):
        masked = masking.of_html if kind == "text/html" else masking.of_json if kind in _JSON else masking.of_text
        response.content = masked(page)

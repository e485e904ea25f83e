"""Saving a question of the lab as a pinned test."""

from collections.abc import Iterable

from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.evaluation.pinned import asked_of, whom_of
from memories.exceptions import InvalidDraft
from memories.models import Entry, PinnedTest, Workspace
from memories.models.change import acting
from memories.recall import Query
from memplatform.lab.form import LabForm

MUST, MUST_NOT, ANSWER = "must", "must_not", "answer"
ANSWER_MOST = 200
#: Words of one test, and characters of each.
WORDS_MOST, WORDS_CHARS = 20, 300
_ROW = "row_"


def pin(workspace: Workspace, actor: str, query: Query, form: LabForm, sent: QueryDict) -> PinnedTest:
    """The pinned test of what is ticked on the page and of the words that are named. Raises InvalidDraft."""
    test = PinnedTest(
        workspace=workspace,
        message=query.message,
        mode=query.mode,
        need=query.need,
        scope_keys=list(query.scope_keys) or [scope.key for scope in query.scopes],
        whom=whom_of(query, form.said()),
        asked=asked_of(query, workspace),
        answer=_answer(query, sent),
        must_entries=_ticked(query, sent, MUST),
        must_not_entries=_ticked(query, sent, MUST_NOT),
        must_words=_lines(sent.get("must_words", "")),
        must_not_words=_lines(sent.get("must_not_words", "")),
        created_by=actor,
        created_at=timezone.now(),
    )
    if not (test.must_entries or test.must_not_entries or test.must_words or test.must_not_words):
        raise InvalidDraft(_("Tick what must or must not be returned, or name words."))
    with acting(actor):
        test.save()
    return test


def _ticked(query: Query, sent: QueryDict, value: str) -> list[int]:
    """The entries that are ticked so, as far as they are of the scopes that are asked."""
    names = (name.removeprefix(_ROW) for name, ticked in sent.items() if name.startswith(_ROW) and ticked == value)
    return sorted(_there(query, [int(name) for name in names if _is_number(name)]))


def _answer(query: Query, sent: QueryDict) -> list[list[int]]:
    """The answer that stood on the page, best first: each entry with the version that was read there."""
    parts = [row.partition(".") for row in sent.getlist(ANSWER)[:ANSWER_MOST]]
    rows = [(int(pk), int(version)) for pk, _dot, version in parts if _is_number(pk) and _is_number(version)]
    there = _there(query, [pk for pk, _version in rows])
    return [[pk, version] for pk, version in rows if 1 <= version <= there.get(pk, 0)]


def _there(query: Query, ids: list[int]) -> dict[int, int]:
    """The entries of these that are of the scopes that are asked, each with its version."""
    there = Entry.objects.filter(workspace_id=query.workspace_id, scope__in=query.scope_ids, pk__in=ids)
    return dict(there.values_list("pk", "version"))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19


def _lines(text: str) -> list[str]:
    lines: Iterable[str] = (line.strip()[:WORDS_CHARS] for line in text.splitlines())
    return [line for line in lines if line][:WORDS_MOST]

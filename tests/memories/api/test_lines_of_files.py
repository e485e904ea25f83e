"""By the API, too, a line of a file is changed with its entry, or neither is (C2)."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from memories.entries.files import folder_of
from memories.models import Entry, Scope
from memories.notes.index import sync_scope
from tests.conftest import Api

TEXT = "- Nina moved her lessons to Tuesday\n- 妹妹叫小雨，住在杭州\n"
pytestmark = pytest.mark.django_db


@pytest.fixture
def file(scope: Scope) -> Path:
    folder = folder_of(scope)
    path = folder.workspace / folder.long_term
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TEXT)
    sync_scope(scope, now=timezone.now())
    return path


def entry() -> Entry:
    return Entry.objects.get(content__startswith="Nina")


def reword(api: Api, content: str) -> Any:
    return api.request("PATCH", f"entries/{entry().uid}", json.dumps({"content": content}))


def refusal(answer: Any) -> tuple[int, str, str]:
    (error,) = answer.json()["errors"]
    return answer.status_code, error["code"], error["detail"]


def test_a_change_over_a_line_that_is_another_by_now_names_both_texts(api: Api, file: Path) -> None:
    uid, theirs = entry().uid, TEXT.replace("Tuesday", "Wednesday")
    assert reword(api, "Nina plays on Friday").status_code == 200
    reword(api, "Nina moved her lessons to Tuesday")
    file.write_text(theirs)
    status, code, detail = refusal(reword(api, "Nina plays on Friday"))
    assert (status, code) == (409, "line_changed")
    assert "«Nina moved her lessons to Tuesday» → «Nina moved her lessons to Wednesday»" in detail
    reverted = refusal(api.post(f"entries/{uid}/revert", {"version": 2}))
    assert reverted[:2] == (409, "line_changed")
    assert file.read_text() == theirs
    assert entry().content == "Nina moved her lessons to Tuesday"


def test_a_full_disk_leaves_entry_and_file_as_they_were(api: Api, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr("memories.files.disk.os.write", full)
        answer = reword(api, "Nina plays on Friday")
    status, code, detail = refusal(answer)
    assert (status, code) == (503, "file_unwritable")
    assert "No space left" in detail
    assert file.read_text() == TEXT
    assert entry().content == "Nina moved her lessons to Tuesday"

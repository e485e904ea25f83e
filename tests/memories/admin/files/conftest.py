"""Files of Alice's scope, written by hand, and the addresses of their pages."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.entries.files import folder_of
from memories.models import Entry, Scope
from memories.notes.index import sync_scope
from tests.memories.admin.conftest import House

TEXT = """# Saturday

- Nina moved her lessons to Tuesday
- 妹妹叫小雨，住在杭州

Some words of a person.
"""
Write = Callable[[str, str], str]


@pytest.fixture(autouse=True)
def _empty_folder(mine: House) -> Iterator[None]:
    """The workspace is kept for all tests of the module; its files are not."""
    yield
    shutil.rmtree(folder_of(mine.scope).workspace, ignore_errors=True)


@pytest.fixture
def write(mine: House) -> Write:
    """Writes a file of Alice's scope, by its path below the scope's folder."""

    def written(name: str, text: str) -> str:
        folder = folder_of(mine.scope)
        path = f"{folder.base}/{name}"
        (folder.workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (folder.workspace / path).write_text(text)
        return path

    return written


def on_disk(scope: Scope, path: str) -> Path:
    return folder_of(scope).workspace / path


def index(scope: Scope) -> None:
    sync_scope(scope, now=timezone.now())


def overview() -> str:
    return reverse("admin:memories_filestate_changelist")


def tree(scope: Scope) -> str:
    return reverse("admin:memories_filestate_scope", args=[scope.pk])


def page(scope: Scope) -> str:
    return reverse("admin:memories_filestate_file", args=[scope.pk])


def index_now(client: Client, **asked: object) -> str:
    answer = client.post(reverse("admin:memories_filestate_index"), asked, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def entry(words: str) -> Entry:
    return Entry.objects.select_related("scope__workspace").get(content__startswith=words)


def shown(client: Client, address: str, **asked: object) -> str:
    answer = client.get(address, asked)
    assert answer.status_code == 200, address
    return answer.content.decode()

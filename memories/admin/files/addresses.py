"""Where the pages of files are."""

from urllib.parse import urlencode

from django.urls import reverse


def scope_url(scope_id: int) -> str:
    """The page of the files of a scope."""
    return reverse("admin:memories_filestate_scope", args=[scope_id])


def file_page(scope_id: int) -> str:
    """The page of whichever file of a scope is asked for."""
    return reverse("admin:memories_filestate_file", args=[scope_id])


def file_url(scope_id: int, path: str, line: int | None = None) -> str:
    """The page of a file; with a line, the part of it that line stands in."""
    return file_url_on(file_page(scope_id), path, line)


def file_url_on(page: str, path: str, line: int | None = None) -> str:
    """The same, where the page of the scope's files is at hand: to look it up for each takes its time."""
    asked = {"path": path, **({"line": line} if line else {})}
    address = f"{page}?{urlencode(asked)}"
    return f"{address}#L{line}" if line else address


def index_url() -> str:
    """Where «index now» is sent to."""
    return reverse("admin:memories_filestate_index")

"""Row-level security: the second wall between workspaces, set for each request, closed when nothing is set.

The first wall is that every query starts from what the caller may see. Should one not, the web's database role sees
only the rows of the workspaces set here. Functions of the database tell the workspace of a key and those of an
operator, since no row can be read before a workspace is set.
"""

from collections.abc import Iterable
from contextvars import ContextVar

from django.db import Error, connection

#: The role of the web processes, where it has no other name. It owns nothing, so the policies bind it.
WEB_ROLE = "memplatform_web"
_SETTING = "memplatform.workspaces"
_inside: ContextVar[bool] = ContextVar("inside the wall", default=False)


def enter(workspace_ids: Iterable[int]) -> None:
    """Let this connection see the rows of these workspaces."""
    _inside.set(True)
    _set("%s", "{" + ",".join(str(int(pk)) for pk in workspace_ids) + "}")


def enter_by_key(digest: str) -> None:
    """Let this connection see the rows of the workspace of a key, or none where there is no such key."""
    _inside.set(True)
    _set("coalesce('{' || memplatform_workspace_of_key(%s) || '}', '')", digest)


def enter_as_operator(user_id: int) -> None:
    """Let this connection see the rows of the workspaces of a staff account; an owner's are all."""
    _inside.set(True)
    _set("coalesce(memplatform_workspaces_of_user(%s)::text, '')", user_id)


def widen(workspace_id: int) -> None:
    """Let this connection see a new workspace, too."""
    _set("(memplatform_workspaces() || %s::bigint)::text", workspace_id)


def is_inside() -> bool:
    """Whether the workspaces of this connection are set."""
    return _inside.get()


def forget() -> None:
    """Take the wall for closed: its connection is gone, and was never another's."""
    _inside.set(False)


def leave() -> None:
    """Let this connection see no rows; it is closed when that fails."""
    if not _inside.get():
        return
    _inside.set(False)
    try:
        _set("%s", "")
    except Error:
        connection.close()


def _set(expression: str, value: str | int) -> None:
    """Set the workspaces to an SQL expression of one parameter."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT set_config(%s, {expression}, false)", [_SETTING, value])  # noqa: S608 (constants)

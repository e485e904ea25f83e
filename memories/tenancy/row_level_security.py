"""The second wall between workspaces: row-level security, set for each request, closed when nothing is set.

The first wall is that every query starts from what the caller may see. Should one forget, the web's database role sees
only the rows of the workspaces named here; with none named it sees none. What must be known before a workspace can be
named, whose key this is and what this operator may see, a function of the database answers, and nothing else.
"""

from collections.abc import Iterable
from contextvars import ContextVar

from django.db import Error, connection

#: The role of the web processes, where it has no other name. It owns nothing, so the policies bind it.
WEB_ROLE = "memplatform_web"
_SETTING = "memplatform.workspaces"
_inside: ContextVar[bool] = ContextVar("inside the wall", default=False)


def enter(workspace_ids: Iterable[int]) -> None:
    """From here on this connection sees the rows of these workspaces."""
    _inside.set(True)
    _set("{" + ",".join(str(int(pk)) for pk in workspace_ids) + "}")


def enter_by_key(digest: str) -> None:
    """From here on this connection sees the rows of the workspace this key belongs to; of none, where there is none."""
    _inside.set(True)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config(%s, coalesce('{' || memplatform_workspace_of_key(%s) || '}', ''), false)",
            [_SETTING, digest],
        )


def enter_as_operator(user_id: int) -> None:
    """From here on this connection sees what this account of the staff may see: its workspaces, an owner's are all."""
    _inside.set(True)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config(%s, coalesce(memplatform_workspaces_of_user(%s)::text, ''), false)", [_SETTING, user_id]
        )


def widen(workspace_id: int) -> None:
    """A workspace that was made just now is seen, too."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config(%s, (memplatform_workspaces() || %s::bigint)::text, false)", [_SETTING, workspace_id]
        )


def is_inside() -> bool:
    """Whether this connection is told whose rows it sees."""
    return _inside.get()


def leave() -> None:
    """From here on this connection sees the rows of no workspace; a connection that cannot be told so is closed."""
    if not _inside.get():
        return
    _inside.set(False)
    try:
        _set("")
    except Error:
        connection.close()


def _set(workspaces: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config(%s, %s, false)", [_SETTING, workspaces])

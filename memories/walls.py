"""The second wall between workspaces: row-level security, set for each request, closed when nothing is set.

The first wall is that every query starts from what the caller may see. Should one forget, the web's database role sees
only the rows of the workspaces named here; with none named it sees none.
"""

from collections.abc import Iterable
from contextvars import ContextVar

from django.db import Error, connection

#: The role web processes act as. It owns nothing, so the policies bind it; jobs and migrations act as the owner.
WEB_ROLE = "memplatform_web"
_SETTING = "memplatform.workspaces"
_inside: ContextVar[bool] = ContextVar("inside the wall", default=False)


def enter(workspace_ids: Iterable[int]) -> None:
    """From here on this connection sees the rows of these workspaces."""
    _inside.set(True)
    _set("{" + ",".join(str(int(pk)) for pk in workspace_ids) + "}")


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

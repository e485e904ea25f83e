"""Row-level security: the second wall between workspaces, set for each request, closed when nothing is set.

The first wall is that every query starts from what the caller may see. Should one not, the web's database role sees
only the rows of the workspaces set here. Functions of the database tell the workspace of a key and those of an
operator, since no row can be read before a workspace is set.
"""

import json
from collections.abc import Iterable
from contextvars import ContextVar
from datetime import datetime
from typing import Any

from django.db import Error, connection

from memories import postgresql

#: The role of the web processes, where it has no other name. It owns nothing, so the policies bind it.
WEB_ROLE = "memplatform_web"
_SETTING, _ACTOR = "memplatform.workspaces", "memplatform.actor"
#: Behind a pooler each transaction is told the wall and the actor (memories.postgresql): a function that sets them for
#: the session is followed by what takes that back, in one transaction.
_TAKEN_BACK = f"; SELECT set_config('{_SETTING}', '', false), set_config('{_ACTOR}', '', false)"
#: A key's last use is written at most this often, so that a busy bot does not rewrite its key all day.
USE_RECORDED_EVERY = "1 minute"
_inside: ContextVar[bool] = ContextVar("inside the wall", default=False)
#: As whose changes are recorded outside of any block of another actor, and on which connection to the server.
_actor: ContextVar[tuple[str, int] | None] = ContextVar("the actor of the request", default=None)


def enter(workspace_ids: Iterable[int]) -> None:
    """Let this connection see the rows of these workspaces."""
    _inside.set(True)
    _set("%s", wall_of(workspace_ids)[_SETTING])


def wall_of(workspace_ids: Iterable[int]) -> dict[str, str]:
    """The setting of a transaction that lets it see the rows of these workspaces, by its name."""
    return {_SETTING: "{" + ",".join(str(int(pk)) for pk in workspace_ids) + "}"}


def enter_by_key(digest: str, now: datetime, *, counted: datetime | None) -> dict[str, Any] | None:
    """Let this connection see the rows of the workspace of a usable key, and act as its bot; the key's row, or None.

    The call is counted in the minute that `counted` begins, and the key's last use kept. One statement: all of it or
    nothing.
    """
    _inside.set(True)
    statement = "SELECT memplatform_admit(%s, %s, %s, %s)" + (_TAKEN_BACK if postgresql.is_pooled() else "")
    with postgresql.cursor() as cursor:
        cursor.execute(statement, [digest, now, counted, USE_RECORDED_EVERY])
        admitted = cursor.fetchone()[0]
    if admitted is None:
        _inside.set(False)
        return None
    row: dict[str, Any] = json.loads(admitted)
    actor = f"bot:{row['bot']['name']}"
    if postgresql.is_pooled():
        postgresql.put_settings({_SETTING: f"{{{row['workspace']['id']}}}", _ACTOR: actor})
    _actor.set((actor, id(connection.connection)))
    return row


def acts_as(actor: str) -> bool:
    """Whether what this connection changes is recorded as this actor's without anything being set."""
    return _actor.get() == (actor, id(connection.connection))


def enter_as_operator(user_id: int) -> None:
    """Let this connection see the rows of the workspaces of a staff account; an owner's are all."""
    _inside.set(True)
    _set("coalesce(memplatform_workspaces_of_user(%s)::text, '')", user_id)


def enter_by_invitation(digest: str) -> None:
    """Let this connection see the rows of the workspace of an invitation, or none where there is no such one."""
    _inside.set(True)
    _set("coalesce('{' || memplatform_workspace_of_invitation(%s) || '}', '')", digest)


def enter_by_grant(digest: str) -> None:
    """Let this connection see the rows of the workspace of a grant over MCP, by a token of it, or none."""
    _inside.set(True)
    _set("coalesce('{' || memplatform_workspace_of_grant(%s) || '}', '')", digest)


def enter_by_connection(uid: str) -> None:
    """Let this connection to the database see the rows of the workspace of a connection to a platform, or none."""
    _inside.set(True)
    _set("coalesce('{' || memplatform_workspace_of_connection(%s::uuid) || '}', '')", uid)


def widen(workspace_id: int) -> None:
    """Let this connection see a new workspace, too."""
    _set("(memplatform_workspaces() || %s::bigint)::text", workspace_id)


def is_inside() -> bool:
    """Whether the workspaces of this connection are set."""
    return _inside.get()


def forget() -> None:
    """Take the wall for closed: its connection is gone, and was never another's."""
    _inside.set(False)
    _actor.set(None)
    postgresql.remove_settings(_SETTING, _ACTOR)


def leave() -> None:
    """Let this connection see no rows and act as nobody; it is closed when that fails."""
    if not _inside.get():
        return
    forget()
    if postgresql.is_pooled():
        return
    try:
        with postgresql.cursor() as cursor:
            cursor.execute("SELECT set_config(%s, '', false), set_config('memplatform.actor', '', false)", [_SETTING])
    except Error:
        connection.close()


def _set(expression: str, value: str | int) -> None:
    """Set the workspaces to an SQL expression of one parameter."""
    with postgresql.cursor() as cursor:
        if postgresql.is_pooled():
            cursor.execute(f"SELECT {expression}", [value])  # noqa: S608 (constants)
            postgresql.put_settings({_SETTING: cursor.fetchone()[0]})
            return
        cursor.execute(f"SELECT set_config(%s, {expression}, false)", [_SETTING, value])  # noqa: S608 (constants)

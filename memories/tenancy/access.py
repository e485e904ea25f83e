"""Callers: the actor behind a call, its workspace, and the scopes it may reach; and canaries, planted where none may.

A canary is a token nobody can guess; in an answer to somebody else it sings. It names its workspace and is signed with
the secret of the platform, so that an invented one is recognised without the database.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import tzinfo
from fnmatch import fnmatchcase

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac


@dataclass(frozen=True, kw_only=True)
class Caller:
    """The caller of a verb: a bot by its key, a channel platform, an importer, a command.

    Made by `BotKey.caller()` or `Workspace.caller()`; every query starts from what it may see.
    """

    workspace_id: int
    language: str  # of the workspace, for what is answered in words
    zone: tzinfo  # of the workspace, where its days begin
    actor: str  # as the history names it
    permissions: tuple[str, ...] = ()
    scope_patterns: tuple[str, ...] = ()  # such as telegram:*; none: every scope of the workspace
    bot_id: int | None = None
    folder: str = ""  # of the workspace's files
    uses_database: bool = True  # else the workspace's files answer and store (A4)

    @property
    def reaches_everything(self) -> bool:
        return not self.scope_patterns

    def may_reach(self, scope_key: str) -> bool:
        """Whether the patterns admit this scope."""
        return self.reaches_everything or any(fnmatchcase(scope_key, pattern) for pattern in self.scope_patterns)


#: Looked for in every answer: as rare as it is short.
PREFIX = b"mpcanary-"
#: The scope of a workspace that no address leads to, and the subtype of what is planted there.
SCOPE_KEY = SUBTYPE = "canary"
_DIGITS = 32
_TOKEN = re.compile(rb"mpcanary-([1-9][0-9]{0,17})-([0-9a-f]{%d})" % _DIGITS)
#: Characters of the longest token: a piece of a stream may end within one.
LONGEST = len(PREFIX) + 18 + 1 + _DIGITS


def token_of(workspace_id: int) -> str:
    """The token of a workspace."""
    return f"{PREFIX.decode()}{workspace_id}-{_signature(workspace_id, settings.SECRET_KEY)}"


def planted_in(body: bytes) -> Iterable[int]:
    """The workspaces whose tokens stand in a body."""
    if PREFIX not in body:
        return ()
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return {
        int(number)
        for number, signed in _TOKEN.findall(body)
        if any(constant_time_compare(signed.decode(), _signature(int(number), key)) for key in keys)
    }


def _signature(workspace_id: int, key: str) -> str:
    value = salted_hmac("memplatform.canary", str(workspace_id), secret=key, algorithm="sha256")
    return value.hexdigest()[:_DIGITS]

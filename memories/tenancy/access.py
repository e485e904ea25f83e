"""Callers: the actor behind a call, its workspace, and the scopes it may reach."""

from dataclasses import dataclass
from datetime import tzinfo
from fnmatch import fnmatchcase


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

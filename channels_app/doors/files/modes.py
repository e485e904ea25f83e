"""Which way a call goes: asked with every call, so that a change needs no restart (A4, D9)."""

from channels_app.doors.files.place import FilePlace
from memories.choices import PathMode
from memories.offline import journal
from memories.offline.modes import DATABASE, FILES, LeaveToFiles
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Resolution


def check_database_answers(resolved: Resolution) -> None:
    """Raises LeaveToFiles where a channel is answered from its files."""
    if resolved.path_mode == PathMode.LEGACY_ONLY:
        raise LeaveToFiles(FILES)


def check_database_takes(caller: Caller, resolved: Resolution) -> None:
    """The same of what is to be stored, and where earlier calls of the channel still wait in the journal: it goes
    behind them.
    """
    check_database_answers(resolved)
    if journal.is_pending(FilePlace(caller, resolved).stream):
        raise LeaveToFiles(DATABASE)

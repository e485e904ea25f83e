"""What goes on without the database: whether it is away, the cache of keys, and the journal of calls (C11)."""

#: In `degraded`: the database is away, or has not taken in yet what the journal holds; or the files answer by choice.
DATABASE, FILES = "database", "files"
#: The same: the database is away, and a replica answers with what it has.
STALE = "stale"


class NotCached(Exception):
    """Only the database can tell; the call is answered as one that needs it."""


class LeaveToFiles(Exception):
    """This call is for the files and the journal; raised before anything is written."""

    def __init__(self, degraded: str) -> None:
        super().__init__(degraded)
        self.degraded = degraded

    @property
    def is_pending(self) -> bool:
        """Whether it goes into the journal only because others are there before it."""
        return self.degraded == DATABASE

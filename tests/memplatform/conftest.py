"""The people who come to the admin (tests.memories.admin), for the pages of the platform."""

from tests.memories.admin.conftest import alice, charlie, dora, mine, owner, theirs

__all__ = ["alice", "charlie", "dora", "mine", "owner", "theirs"]

"""The embedded PostgreSQL: `with lease(data) as url` is all that most callers need. No Django here."""

from memplatform.postgres.backup import backup, backup_before_upgrade, restore, upgrade_is_done, verify
from memplatform.postgres.cluster import THROWAWAY, Conf
from memplatform.postgres.place import PostgresError, require
from memplatform.postgres.server import down, is_up, lease, up, url

__all__ = [
    "THROWAWAY",
    "Conf",
    "PostgresError",
    "backup",
    "backup_before_upgrade",
    "down",
    "is_up",
    "lease",
    "require",
    "restore",
    "up",
    "upgrade_is_done",
    "url",
    "verify",
]

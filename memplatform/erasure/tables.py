"""What an erasure does with every table of the database: ours say it at their model, the others' here.

A table that is named nowhere is one in which something of an erased person may stay; a test misses none.
"""

from collections.abc import Mapping
from functools import cache

from memories.models.table import Fate, tables

OTHERS: Mapping[str, Fate] = {
    **dict.fromkeys(("django_admin_log", "django_session", "django_q_task"), Fate.SEARCHED),
    "django_q_ormq": Fate.NOTHING,  # ids of what is to be worked on
    **dict.fromkeys(
        (
            *("auth_user", "auth_group", "auth_permission", "auth_group_permissions", "auth_user_groups"),
            *("auth_user_user_permissions", "axes_accessattempt", "axes_accessattemptexpiration"),
            *("axes_accessfailurelog", "axes_accesslog", "django_content_type", "django_migrations"),
            "django_q_schedule",
        ),
        Fate.NOTHING,
    ),
}
#: Places outside the tables that no platform reaches, in the order of the certificate. Logs hold ids, and no words.
NOT_REACHED = ("backups", "exports", "logs")


@cache
def fates() -> Mapping[str, Fate]:
    """By table, what becomes of the rows about an erased person."""
    return {model._meta.db_table: table.fate for model, table in tables()} | dict(OTHERS)

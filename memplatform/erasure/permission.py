"""Who may erase a person: owners, and nobody else."""

from typing import Any


def may_erase(user: Any) -> bool:
    """Whether somebody who is logged in may look for people, erase them and see certificates."""
    return bool(user.is_active and user.is_staff and user.is_superuser)

"""Roles: what each may do in the workspace it is given for. The one table of it, as plain data.

A role is given to a person for a workspace (memories.staff.models.Member). Above them stand superusers, who own the
platform and hold every right everywhere.
"""

from collections.abc import Mapping
from enum import StrEnum

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from memories.choices import Permission


class Role(TextChoices):
    """What a person is in a workspace, from the least."""

    VIEWER = "viewer", _("Viewer")
    AUDITOR = "auditor", _("Auditor")
    CURATOR = "curator", _("Curator")
    OPERATOR = "operator", _("Operator")
    OWNER = "owner", _("Owner")


class Right(StrEnum):
    """One thing a role may let somebody do."""

    READ = "read"  # every page, history included; credentials masked
    AUDIT = "audit"  # the audit log
    CURATE = "curate"  # edit, expire, restore, merge and pin memories; answer the review
    REVEAL = "reveal"  # see a credential that is masked; recorded
    OPERATE = "operate"  # jobs, undoing batches, policies, channels, bots, scopes, the settings of the workspace
    KEYS = "keys"  # issue and revoke keys of bots
    MEMBERS = "members"  # admit, dismiss and invite people, give roles
    WEBHOOKS = "webhooks"  # addresses that are told what happens
    ERASE = "erase"  # what cannot be undone
    EXPORT = "export"  # take data out of the platform


_CURATOR = frozenset({Right.READ, Right.CURATE, Right.REVEAL})
ROLES: Mapping[str, frozenset[Right]] = {
    Role.VIEWER: frozenset({Right.READ}),
    Role.AUDITOR: frozenset({Right.READ, Right.AUDIT}),
    Role.CURATOR: _CURATOR,
    Role.OPERATOR: _CURATOR | {Right.OPERATE},
    Role.OWNER: frozenset(Right),
}

#: What a person must hold to give a bot's key this permission; not named: superusers alone.
KEY_NEEDS: Mapping[Permission, Right] = {
    Permission.READ: Right.READ,
    Permission.WRITE: Right.CURATE,
    Permission.WEBHOOKS: Right.WEBHOOKS,
}


def rights_of(role: str) -> frozenset[Right]:
    """The rights of a role; of an unknown role, none."""
    return ROLES.get(role, frozenset())


def roles_within(rights: frozenset[Right]) -> list[Role]:
    """The roles somebody with these rights may give: none that could do more."""
    return [role for role in Role if rights_of(role) <= rights]

"""Setting the rules of a channel, also before anybody has spoken from it (E1)."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from channels_app.models import Channel
from channels_app.places import place_of
from memories.exceptions import VersionConflict
from memories.models.change import acting


def set_rules(
    workspace_id: int,
    place: tuple[str, str],
    rules: Mapping[str, Any],
    *,
    actor: str,
    expected_version: int | None = None,
) -> tuple[Channel, bool]:
    """Give the channel of a platform and account these rules; it begins if need be, which is the second answer.

    Rules that are not named stay. Raises InvalidAddress or VersionConflict.
    """
    with transaction.atomic(), acting(actor):
        platform, known = place_of(workspace_id, *place, may_be_new=True, inside="")
        found = {"workspace_id": workspace_id, "platform": platform, "account": place[1]}
        if known is None and expected_version is None:
            channel, is_new = Channel.objects.get_or_create(**found, defaults=dict(rules))
            if is_new:
                return channel, True
        held = Channel.objects.select_for_update().filter(**found).first()
        if held is None or expected_version not in (None, held.version):
            raise VersionConflict(_("The channel was changed since you read it."))
        for name, value in rules.items():
            setattr(held, name, value)
        if rules:
            held.save(update_fields=list(rules))
            held.refresh_from_db(fields=["version"])
    return held, False

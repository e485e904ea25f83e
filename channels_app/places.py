"""Places: the platform and account of an address or of a channel, under the names they are known by."""

from collections.abc import Collection

from django.utils.translation import gettext as _

from channels_app import platforms
from channels_app.models import Channel
from memories.exceptions import InvalidAddress

_ADDRESS = "address."


def place_of(
    workspace_id: int, platform: str, account: str, *, may_be_new: bool = False, inside: str = _ADDRESS
) -> tuple[str, Channel | None]:
    """The name a platform is known by, and the channel of this account there, if that has been heard of.

    Raises InvalidAddress where the platform is not known, unless it may be new, or where the account differs from a
    known one by its case alone. Fields are named as those `inside` of what was asked.
    """
    channels = Channel.objects.filter(workspace_id=workspace_id)
    if known := channels.filter(platform=platform, account=account).first():
        return platform, known
    places = set(channels.values_list("platform", "account"))
    allowed = {name for name, _account in places}
    if platform not in platforms.KNOWN and platforms.has_memories(workspace_id, platform):
        allowed.add(platform)
    spelled = platforms.spelled if may_be_new else platforms.named
    name = spelled(platform, allowed, field=f"{inside}platform")
    if (name, account) in places:
        return name, channels.filter(platform=name, account=account).first()
    _check_spelling(account, {other for place, other in places if place == name}, field=f"{inside}account")
    return name, None


def _check_spelling(account: str, known: Collection[str], *, field: str) -> None:
    """Raises InvalidAddress when a known account is this one in another spelling."""
    plain = platforms.folded(account)
    for other in known:
        if platforms.folded(other) == plain:
            said = _("This account is known as “%(account)s”: another spelling would begin another memory.")
            raise InvalidAddress(said % {"account": other}, field=field)

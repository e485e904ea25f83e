"""Lines about channels and what comes from them: calls that wait or were given up, and memory shared by strangers."""

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from channels_app.api.turns import EFFECTS
from channels_app.doors.files import replay
from channels_app.models import Channel, ReplayedRecord, ReplayOutcome
from channels_app.people import linking
from memories.choices import DmScope
from memories.staff.roles import Right
from memories.tenancy.platforms import LOCAL_PLATFORMS
from memplatform.site.attention.items import Item, Viewer
from memplatform.site.attention.workspaces import SAMPLE


def parked_calls(viewer: Viewer) -> Iterator[Item]:
    """Calls that were accepted, and are nowhere but in their record."""
    calls = viewer.rows(ReplayedRecord.objects.filter(outcome=ReplayOutcome.PARKED))
    newest = list(calls.order_by("-pk").values_list("pk", flat=True)[:SAMPLE])
    if newest:
        text = ngettext(
            "%(n)d call taken in while the database was away could not be applied",
            "%(n)d calls taken in while the database was away could not be applied",
            len(newest),
        )
        address = reverse("admin:channels_app_replayedrecord_changelist") + "?outcome__exact=parked"
        hint = _("Its body is kept, with the reason.")
        retry = partial(_apply_again, viewer, calls) if viewer.may(Right.OPERATE) else None
        yield Item("parked-calls", text % {"n": len(newest)}, hint, address, True, mark=str(newest[0]), retry=retry)


def _apply_again(viewer: Viewer, calls: QuerySet[ReplayedRecord]) -> int:
    """Apply those again that this person may; how many were applied."""
    outcomes = replay.retry(viewer.rows(calls, Right.OPERATE), EFFECTS, now=viewer.now)
    return outcomes[ReplayOutcome.APPLIED] + outcomes[ReplayOutcome.KNOWN]


def shared_by_strangers(viewer: Viewer) -> Iterator[Item]:
    """One memory for all direct chats is for a bot with one owner; a second person there is a leak (E1)."""
    channels: defaultdict[tuple[int, str], list[Channel]] = defaultdict(list)
    for channel in viewer.rows(Channel.objects.exclude(platform__in=LOCAL_PLATFORMS)):
        if linking.shares_one_memory(channel):
            channels[channel.workspace_id, channel.platform].append(channel)
    every = [channel for alike in channels.values() for channel in alike]
    for (workspace, platform), count in linking.people_sharing(every, now=viewer.now).items():
        if count > 1:
            text = _("%(n)d people share one memory on %(channel)s") % {"n": count, "channel": platform}
            hint = _("Its rule «one memory for all direct chats» is meant for a bot with a single owner.")
            address = _where(channels[workspace, platform])
            yield Item(f"shared:{workspace}:{platform}", text, hint, address, is_grave=True)


def _where(channels: list[Channel]) -> str:
    """The page of the channel, or of several the list: a memory names only its platform."""
    if len(channels) == 1:
        return reverse("admin:channels_app_channel_change", args=[channels[0].pk])
    sought = {"platform__exact": channels[0].platform, "dm_scope__exact": DmScope.MAIN}
    return f"{reverse('admin:channels_app_channel_changelist')}?{urlencode(sought)}"

"""Lines about channels and what comes from them: calls that wait or were given up, and memory shared by strangers."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from urllib.parse import urlencode

from django.db.models import Count, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from channels_app.api.replayed import EFFECTS
from channels_app.file_mode import parked
from channels_app.models import Channel, ReplayedRecord, ReplayOutcome
from memories.choices import DmScope
from memories.models import Entry
from memories.tenancy.platforms import LOCAL_PLATFORMS
from memories.tenancy.roles import Right
from memplatform.site.attention.items import Item, Viewer
from memplatform.site.attention.workspaces import SAMPLE

_OWNERS_WINDOW = timedelta(days=30)


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
    outcomes = parked.retry(viewer.rows(calls, Right.OPERATE), EFFECTS, now=viewer.now)
    return outcomes[ReplayOutcome.APPLIED] + outcomes[ReplayOutcome.KNOWN]


def shared_by_strangers(viewer: Viewer) -> Iterator[Item]:
    """One memory for all direct chats is for a bot with one owner; a second person there is a leak (E1)."""
    single = viewer.rows(Channel.objects.filter(dm_scope=DmScope.MAIN).exclude(platform__in=LOCAL_PLATFORMS))
    channels: defaultdict[tuple[int, str], list[Channel]] = defaultdict(list)
    for channel in single:
        channels[channel.workspace_id, channel.platform].append(channel)
    if not channels:
        return
    entries = Entry.objects.filter(
        workspace_id__in={workspace for workspace, _platform in channels},
        scope__key="main",
        channel__in={platform for _workspace, platform in channels},
        created_at__gt=viewer.now - _OWNERS_WINDOW,
    )
    speakers = entries.order_by().values_list("workspace_id", "channel").annotate(n=Count("sender_id", distinct=True))
    for workspace, platform, count in speakers:
        if count > 1 and (workspace, platform) in channels:
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

"""Settings have a history too, and any version of them can be brought back, field by field (F2)."""

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from channels_app.models import Channel
from memories.models import Change
from tests.memories.admin.conftest import House

pytestmark = pytest.mark.django_db
YES = {"confirmed": "yes"}


@pytest.fixture
def channel(mine: House) -> Channel:
    """A channel whose rules somebody changed by hand in the database."""
    channel = Channel.objects.get(workspace=mine.workspace)
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('memplatform.actor', '', true)")
        cursor.execute("UPDATE channels_app_channel SET label = '商店', dm_scope = 'main' WHERE id = %s", [channel.pk])
    channel.refresh_from_db()
    return channel


def history_of(row: Channel) -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_history", args=[row.pk])


def version_of(row: Channel, version: int) -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_version", args=[row.pk, version])


def test_what_was_changed_by_hand_is_told_and_brought_back(alice: Client, channel: Channel) -> None:
    before = channel.version - 1
    page = alice.get(history_of(channel)).content.decode()
    assert "sql:" in page and "<ins>商店</ins>" in page and version_of(channel, before) in page
    assert version_of(channel, channel.version) not in page
    asked = alice.get(version_of(channel, before)).content.decode()
    assert "商店 → channel-marmalade" in asked
    assert alice.post(version_of(channel, before), {"fields_back": ["label"]}).status_code == 200  # not confirmed
    assert alice.post(version_of(channel, before), YES | {"fields_back": ["nonsense"]}).status_code == 200
    channel.refresh_from_db()
    assert channel.label == "商店"
    alice.post(version_of(channel, before), YES | {"fields_back": ["label"]})
    channel.refresh_from_db()
    assert (channel.label, channel.dm_scope, channel.version) == ("channel-marmalade", "main", before + 2)
    change = Change.objects.filter(table_name="channels_app_channel", row_id=channel.pk).latest("id")
    assert (change.actor, change.old) == ("user:alice", {"label": "商店"})
    alice.post(version_of(channel, before), YES | {"fields_back": ["dm_scope"]})
    again = alice.get(version_of(channel, before), follow=True).content.decode()
    assert "Nothing differs from that version." in again


def test_a_version_that_breaks_a_rule_of_today_is_refused(alice: Client, mine: House, channel: Channel) -> None:
    rows = Change.objects.filter(table_name="channels_app_channel", row_id=channel.pk, version=channel.version)
    rows.update(old={"group_prefix": "direct_"})
    address = version_of(channel, channel.version - 1)
    alice.post(address, YES | {"fields_back": ["group_prefix"]}, follow=True)
    channel.refresh_from_db()
    assert channel.group_prefix == "group_"


def test_there_is_no_such_version(alice: Client, channel: Channel) -> None:
    for version in (0, channel.version + 1, 10**12):
        assert alice.get(version_of(channel, version)).status_code == 404


def test_strangers_bring_nothing_back(charlie: Client, channel: Channel) -> None:
    address = version_of(channel, channel.version - 1)
    assert charlie.get(address).status_code == charlie.post(address, YES).status_code == 404

"""The web tells of silent channels where a platform is connected, though it sees the connections of no workspace."""

from pathlib import Path

from django.db import migrations

from memories.migrations import _sql


class Migration(migrations.Migration):

    dependencies = [
        ('channels_app', '0001_initial'),
    ]

    operations = [
        _sql.run(Path(__file__).with_name('sql') / 'has_connections.sql'),
    ]

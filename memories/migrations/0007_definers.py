"""The function that gives history to the archive trusts no table of its caller."""

from pathlib import Path

from django.db import migrations

from memories.migrations import _sql


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0006_named_entries'),
    ]

    operations = [
        _sql.run(Path(__file__).with_name('sql') / 'definers.sql'),
    ]

"""Suppressions know every wording of what was taken out, so that the same turn sent again is known for it (A15)."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0031_scopes_a_recall_asked_for")]

    operations = [
        migrations.AddField(
            model_name="suppression",
            name="wordings",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=32), default=list, size=None
            ),
        ),
    ]

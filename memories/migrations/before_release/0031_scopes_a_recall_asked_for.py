"""Receipts name the scopes a recall asked for, also those nobody had written to yet: who may read a receipt goes by it."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0030_suppressions_by_conversation")]

    operations = [
        migrations.AddField(
            model_name="receipt",
            name="scope_keys",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=255),
                default=list,
                editable=False,
                size=None,
                verbose_name="scopes",
            ),
        ),
    ]

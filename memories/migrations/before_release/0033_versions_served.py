"""Receipts keep the version of each entry they served: what it says may be changed later."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0032_sender_names")]

    operations = [
        migrations.AddField(
            model_name="receipt",
            name="versions",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.PositiveIntegerField(),
                default=list,
                editable=False,
                help_text="Of the served entries, in their order; empty where it was not kept.",
                size=None,
                verbose_name="versions",
            ),
        ),
    ]

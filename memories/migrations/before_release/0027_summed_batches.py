"""Batches say whether what they retire counts towards what machines may retire within a month (F4)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0026_days_in_batches")]

    operations = [
        migrations.AddField(
            model_name="batch",
            name="is_summed",
            field=models.BooleanField(
                default=False,
                help_text="What it retires counts towards what machines may retire within a month.",
                verbose_name="judged by a machine",
            ),
        ),
    ]

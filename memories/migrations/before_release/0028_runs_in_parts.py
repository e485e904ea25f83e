"""Runs of jobs that one task begins and others go on with."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0027_summed_batches")]

    operations = [
        migrations.AddField(
            model_name="jobrun",
            name="taken_at",
            field=models.DateTimeField(
                blank=True,
                help_text="When the process that works on it began, or went on with it.",
                null=True,
                verbose_name="taken",
            ),
        ),
        migrations.RunSQL("UPDATE memories_jobrun SET taken_at = started_at", migrations.RunSQL.noop),
    ]

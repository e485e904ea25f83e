"""Runs of jobs that somebody asked for, beside the nightly ones."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0022_reviews")]

    operations = [
        migrations.RemoveConstraint(
            model_name="jobrun",
            name="jobrun_once_a_local_date",
        ),
        migrations.RemoveConstraint(
            model_name="jobrun",
            name="jobrun_state_known",
        ),
        migrations.AddField(
            model_name="jobrun",
            name="actor",
            field=models.CharField(blank=True, default="", max_length=200, verbose_name="by"),
        ),
        migrations.AddField(
            model_name="jobrun",
            name="asked",
            field=models.CharField(
                blank=True,
                default="",
                help_text="Of a run somebody asked for; empty: by itself.",
                max_length=36,
                verbose_name="asked",
            ),
        ),
        migrations.AddField(
            model_name="jobrun",
            name="is_dry",
            field=models.BooleanField(default=False, verbose_name="dry run"),
        ),
        migrations.AlterField(
            model_name="jobrun",
            name="state",
            field=models.CharField(
                choices=[("queued", "Queued"), ("running", "Running"), ("done", "Done"), ("failed", "Failed")],
                default="running",
                max_length=10,
                verbose_name="state",
            ),
        ),
        migrations.AddConstraint(
            model_name="jobrun",
            constraint=models.UniqueConstraint(
                fields=("job", "workspace", "local_date", "asked"),
                name="jobrun_once_a_local_date",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="jobrun",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["queued", "running", "done", "failed"])), name="jobrun_state_known"
            ),
        ),
    ]

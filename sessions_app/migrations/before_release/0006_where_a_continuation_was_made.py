"""A conversation goes on after a bot said what it goes on with: up to where that text knows it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0005_walls_around_flushes")]
    operations = [
        migrations.AddField(
            model_name="flush",
            name="goes_on_to",
            field=models.PositiveIntegerField(
                default=0, help_text="Where that text was made.", verbose_name="knows up to"
            ),
        ),
    ]

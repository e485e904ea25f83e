"""A flush says which model made it, where one did."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0007_a_version_alone")]
    operations = [
        migrations.AddField(
            model_name="flush",
            name="model",
            field=models.CharField(
                blank=True, default="", help_text="Empty: none was asked.", max_length=200, verbose_name="model"
            ),
        ),
    ]

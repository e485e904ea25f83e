"""Facts that were never read a second time are read by a nightly job, once."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0004_evidence")]

    operations = [
        migrations.AddField(
            model_name="evidence",
            name="read_at",
            field=models.DateTimeField(
                editable=False,
                help_text="When a second reading was made of a fact that had none.",
                null=True,
                verbose_name="read",
            ),
        ),
    ]

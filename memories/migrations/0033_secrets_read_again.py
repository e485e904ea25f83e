"""Memories are looked through again, for more secrets are recognised; scopes that begin now have no need of it."""

from django.db import migrations, models

_HELP = "By which rules its memories were looked through for secrets; 0: not yet."


class Migration(migrations.Migration):
    dependencies = [("memories", "0032_logouts")]

    operations = [
        migrations.AlterField(
            model_name="scope",
            name="secrets_version",
            field=models.PositiveSmallIntegerField(default=2, editable=False, help_text=_HELP),
        ),
    ]

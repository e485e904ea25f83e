"""Which scopes were looked through for secrets; those there are, were not yet."""

from django.db import migrations, models

_HELP = "By which rules its memories were looked through for secrets; 0: not yet."


class Migration(migrations.Migration):
    dependencies = [("memories", "0027_terms_of_a_scope")]

    operations = [
        migrations.RemoveIndex(model_name="entry", name="entry_credentials"),
        migrations.AddIndex(
            model_name="entry",
            index=models.Index(
                condition=models.Q(("category", "credential")), fields=["workspace", "scope"], name="entry_credentials"
            ),
        ),
        migrations.AddField(
            model_name="scope",
            name="secrets_version",
            field=models.PositiveSmallIntegerField(default=0, editable=False, help_text=_HELP),
        ),
        migrations.AlterField(
            model_name="scope",
            name="secrets_version",
            field=models.PositiveSmallIntegerField(default=1, editable=False, help_text=_HELP),
        ),
    ]

"""Batches that remove memories for good, and then no longer name them (A9)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0023_runs_on_demand"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="batchchange",
            name="batchchange_names_its_entry",
        ),
        migrations.RemoveConstraint(
            model_name="batchchange",
            name="batchchange_verb_known",
        ),
        migrations.AlterField(
            model_name="batchchange",
            name="verb",
            field=models.CharField(
                choices=[
                    ("create", "Create"),
                    ("change", "Change"),
                    ("merge", "Merge"),
                    ("expire", "Expire"),
                    ("archive", "Archive"),
                    ("restore", "Restore"),
                    ("supersede", "Supersede"),
                    ("undo", "Put back"),
                    ("purge", "Remove for good"),
                ],
                max_length=10,
                verbose_name="verb",
            ),
        ),
        migrations.AddConstraint(
            model_name="batchchange",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "verb__in",
                        ["create", "change", "merge", "expire", "archive", "restore", "supersede", "undo", "purge"],
                    )
                ),
                name="batchchange_verb_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="batchchange",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("verb", "create"),
                    ("entry__isnull", False),
                    models.Q(("state", "planned"), _negated=True),
                    _connector="OR",
                ),
                name="batchchange_names_its_entry",
            ),
        ),
    ]

"""Batches tell of days too, and take back what they told (D5, F3)."""

import django.db.models.deletion
from django.db import migrations, models

VERBS = [
    ("create", "Create"), ("change", "Change"), ("merge", "Merge"), ("expire", "Expire"), ("archive", "Archive"),
    ("restore", "Restore"), ("supersede", "Supersede"), ("undo", "Put back"), ("purge", "Remove for good"),
    ("tell", "Tell of a day"),
]  # fmt: skip


class Migration(migrations.Migration):
    dependencies = [("memories", "0025_profile_by_importance")]

    operations = [
        migrations.RemoveConstraint(model_name="batchchange", name="batchchange_verb_known"),
        migrations.RemoveConstraint(model_name="batchchange", name="batchchange_names_its_entry"),
        migrations.AddField(
            model_name="batchchange",
            name="event",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="memories.dailyevent",
            ),
        ),
        migrations.AlterField(
            model_name="batchchange",
            name="verb",
            field=models.CharField(choices=VERBS, max_length=10, verbose_name="verb"),
        ),
        migrations.AddIndex(
            model_name="batchchange",
            index=models.Index(
                condition=models.Q(("event__isnull", False)), fields=["event"], name="batchchange_of_event"
            ),
        ),
        migrations.AddConstraint(
            model_name="batchchange",
            constraint=models.CheckConstraint(
                condition=models.Q(("verb__in", [verb for verb, _label in VERBS])), name="batchchange_verb_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="batchchange",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("verb__in", ("create", "tell")),
                    ("entry__isnull", False),
                    models.Q(("event__isnull", False), ("verb", "undo")),
                    models.Q(("state", "planned"), _negated=True),
                    _connector="OR",
                ),
                name="batchchange_names_its_entry",
            ),
        ),
        migrations.RunSQL(
            "ALTER TABLE memories_batchchange ADD CONSTRAINT batchchange_event_in_its_workspace"
            " FOREIGN KEY (event_id, workspace_id) REFERENCES memories_dailyevent (id, workspace_id)",
            "ALTER TABLE memories_batchchange DROP CONSTRAINT batchchange_event_in_its_workspace",
        ),
    ]

from django.db import migrations, models

#: Of what is remembered already: the last name each sender's messages came with.
NAMES = """
UPDATE memories_scope s SET sender_names = told.names FROM (
    SELECT scope_id, jsonb_object_agg(sender_id, speaker) AS names FROM (
        SELECT DISTINCT ON (scope_id, sender_id) scope_id, sender_id, speaker FROM memories_entry
        WHERE sender_id <> '' AND speaker <> '' AND speaker <> sender_id
        ORDER BY scope_id, sender_id, created_at DESC, id DESC
    ) latest GROUP BY scope_id
) told WHERE told.scope_id = s.id
"""


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0031_scopes_a_recall_asked_for"),
    ]

    operations = [
        migrations.AddField(
            model_name="scope",
            name="sender_names",
            field=models.JSONField(
                blank=True,
                default=dict,
                editable=False,
                help_text="What people are called here, by the id their messages come with; the last name counts.",
                verbose_name="names of senders",
            ),
        ),
        migrations.RunSQL(NAMES, migrations.RunSQL.noop),
    ]

"""A workspace knows which model it is searched by, and another's vectors are staged beside it while it changes."""

import django.db.models.deletion
import pgvector.django.halfvec
from django.db import migrations, models

from memories.migrations._walls import inside_workspace, row_level_security

#: Which most of its rows are embedded by.
SEARCHED_BY = """
UPDATE memories_workspace w SET index_model_id = (
    SELECT i.model_id FROM memories_entryindex i WHERE i.workspace_id = w.id AND i.model_id IS NOT NULL
    GROUP BY i.model_id ORDER BY count(*) DESC LIMIT 1)
"""


class Migration(migrations.Migration):
    dependencies = [("memories", "0001_initial")]

    operations = [
        migrations.AlterField(
            model_name="embeddingmodel", name="name", field=models.CharField(max_length=200, verbose_name="name")
        ),
        migrations.AddConstraint(
            model_name="embeddingmodel",
            constraint=models.UniqueConstraint(
                fields=("name", "dimension"), name="embeddingmodel_once_a_dimension"
            ),
        ),
        migrations.AddField(
            model_name="workspace",
            name="index_model",
            field=models.ForeignKey(
                db_index=False,
                editable=False,
                help_text="Which its memories are searched by.",
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="memories.embeddingmodel",
                verbose_name="embedding model",
            ),
        ),
        migrations.CreateModel(
            name="StagedVector",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("fingerprint", models.CharField(help_text="Of the text that was embedded.", max_length=32)),
                ("embedding", pgvector.django.halfvec.HalfVectorField()),
                (
                    "entry",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memories.entry",
                    ),
                ),
                (
                    "model",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memories.embeddingmodel",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memories.workspace",
                    ),
                ),
            ],
            options={
                "verbose_name": "staged vector",
                "verbose_name_plural": "staged vectors",
                "indexes": [models.Index(fields=["workspace", "model"], name="stagedvector_of_workspace")],
                "constraints": [
                    models.UniqueConstraint(fields=("entry", "model"), name="stagedvector_once_a_model")
                ],
            },
        ),
        inside_workspace("stagedvector_entry", "memories_stagedvector", "entry_id", "memories_entry", cascade=True),
        row_level_security("memories_stagedvector", "stagedvector"),
        migrations.RunSQL(SEARCHED_BY, migrations.RunSQL.noop),
    ]

"""What the machine's own model was asked, with its wall."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import memories.models.ids
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0014_buffer_and_days'),
    ]

    operations = [
        migrations.CreateModel(
            name='Spend',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('local_date', models.DateField(verbose_name='local date')),
                ('purpose', models.CharField(max_length=40, verbose_name='purpose')),
                ('model', models.CharField(max_length=200, verbose_name='model')),
                ('calls', models.PositiveIntegerField(default=0, verbose_name='calls')),
                ('failures', models.PositiveIntegerField(default=0, verbose_name='failures')),
                ('prompt_tokens', models.PositiveBigIntegerField(default=0, verbose_name='tokens asked')),
                ('completion_tokens', models.PositiveBigIntegerField(default=0, verbose_name='tokens answered')),
                ('reserved_tokens', models.PositiveBigIntegerField(default=0, verbose_name='tokens reserved')),
                ('refused', models.PositiveIntegerField(default=0, verbose_name='refused for the budget')),
            ],
            options={
                'verbose_name': 'spend',
                'verbose_name_plural': 'spend',
            },
        ),
        migrations.AddField(
            model_name='spend',
            name='workspace',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace'),
        ),
        migrations.AddConstraint(
            model_name='spend',
            constraint=models.UniqueConstraint(fields=('workspace', 'local_date', 'purpose', 'model'), name='spend_once_a_day_and_purpose'),
        ),
        migrations.AddConstraint(
            model_name='spend',
            constraint=models.CheckConstraint(condition=models.Q(('purpose', ''), _negated=True), name='spend_has_a_purpose'),
        ),
    ]

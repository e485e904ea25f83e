import django.contrib.postgres.fields
import django.db.models.fields.json
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0006_row_level_walls'),
    ]

    operations = [
        migrations.AddField(
            model_name='receipt',
            name='note',
            field=models.TextField(blank=True, default='', help_text='What the bot said about this recall.', verbose_name='note'),
        ),
        migrations.AddField(
            model_name='receipt',
            name='overlap',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), help_text='Entries the words of the answer point to; empty until it is known.', null=True, size=None, verbose_name='overlap'),
        ),
        migrations.AddIndex(
            model_name='change',
            index=models.Index(django.db.models.fields.json.KeyTransform('entry_id', 'old'), condition=models.Q(('op', 'D'), ('table_name', 'memories_slot')), name='change_of_removed_slots'),
        ),
    ]

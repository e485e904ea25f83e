from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0018_parcels'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='change',
            index=models.Index(condition=models.Q(('batch_id__isnull', False)), fields=['batch_id', 'table_name', 'row_id'], name='change_of_batch'),
        ),
        migrations.RemoveIndex(
            model_name='change',
            name='change_by_batch',
        ),
    ]

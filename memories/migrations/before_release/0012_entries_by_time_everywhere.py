from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0011_time_zones_that_exist'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(fields=['-created_at', '-id'], name='entry_by_time_everywhere'),
        ),
    ]

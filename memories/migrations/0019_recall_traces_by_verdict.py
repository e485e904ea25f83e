"""Views of the log that hold few traces are read from indexes of their own."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0018_quarantine'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='recalltrace',
            index=models.Index(condition=models.Q(('evidence__verdict', 'weak')), fields=['workspace', '-created_at', '-id'], name='trace_weak'),
        ),
        migrations.AddIndex(
            model_name='recalltrace',
            index=models.Index(condition=models.Q(('evidence__verdict__isnull', True)), fields=['workspace', '-created_at', '-id'], name='trace_unneeded'),
        ),
    ]

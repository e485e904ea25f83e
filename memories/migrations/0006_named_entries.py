"""What is about somebody or something by name is found by it, where a message alone gives no sign of need."""

from django.db import migrations, models

from memories.migrations._sql import BuildIndex


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('memories', '0005_archived_rows'),
    ]

    operations = [
        BuildIndex(
            model_name='entry',
            index=models.Index(condition=models.Q(('archived_at__isnull', True), ('expired_at__isnull', True), ('superseded_by__isnull', True), ('suppressed_at__isnull', True), models.Q(('names', []), _negated=True)), fields=['workspace', 'scope'], name='entry_named'),
        ),
    ]

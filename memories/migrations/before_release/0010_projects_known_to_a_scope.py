import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0009_what_null_let_through'),
    ]

    operations = [
        migrations.AddField(
            model_name='scope',
            name='projects',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), blank=True, default=list, editable=False, help_text='Projects something is known about; a message that names one needs memory.', size=None, verbose_name='projects'),
        ),
    ]

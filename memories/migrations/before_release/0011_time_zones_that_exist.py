import memories.models.tenancy
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0010_projects_known_to_a_scope'),
    ]

    operations = [
        migrations.AlterField(
            model_name='workspace',
            name='time_zone',
            field=models.CharField(default='UTC', max_length=64, validators=[memories.models.tenancy.validate_time_zone], verbose_name='time zone'),
        ),
    ]

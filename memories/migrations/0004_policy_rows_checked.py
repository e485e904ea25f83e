from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0003_policy_rows'),
    ]

    operations = [
        ValidateConstraint(model_name='batchchange', name='batchchange_verb_known'),
        ValidateConstraint(model_name='batchchange', name='batchchange_names_its_entry'),
    ]

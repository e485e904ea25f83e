from django.db import migrations, models
from django.db.models import F


def as_they_are(apps, schema_editor):
    """Search rows so far were weighed with the average length of the moment."""
    apps.get_model("memories", "Scope").objects.update(index_length=F("average_length"))


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0016_walls_around_them'),
    ]

    operations = [
        migrations.AddField(
            model_name='scope',
            name='index_length',
            field=models.FloatField(default=0, editable=False, help_text='The average length the search rows are weighed with.'),
        ),
        migrations.RunPython(as_they_are, migrations.RunPython.noop),
    ]

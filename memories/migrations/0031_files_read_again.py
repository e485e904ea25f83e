"""Files of markdown are read again: a line that ends a sentence now ends its memory, and an index is what a new one is."""

from django.db import migrations

READ_AGAIN = "UPDATE memories_filestate SET modified_ns = 0, digest = ''"


class Migration(migrations.Migration):
    dependencies = [("memories", "0030_answers_of_pinned_tests")]

    operations = [migrations.RunSQL(READ_AGAIN, READ_AGAIN)]

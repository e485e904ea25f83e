"""The only extension the platform needs; it must be there before the first vector column."""

from django.db import migrations
from pgvector.django import VectorExtension


class Migration(migrations.Migration):
    dependencies: list[tuple[str, str]] = []
    operations = [VectorExtension()]

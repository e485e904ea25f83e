"""Recall traces are found by their words, by who asked, and by their session."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
from django.db import connection, migrations, models

from memories.language import text
from memories.migrations._walls import security_definers

#: Under row-level security no index of arrays is used, so the index is asked inside; the wall stands here, too.
_FOUND = """
CREATE FUNCTION memplatform_traces_with_terms(wanted integer[], most integer) RETURNS bigint[]
LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT coalesce(array_agg(id), '{}') FROM (
        SELECT id FROM memories_recalltrace
        WHERE terms @> wanted AND workspace_id = ANY ((SELECT memplatform_workspaces())::bigint[]) LIMIT most
    ) found
$$
"""
#: Traces a statement; characters of a message that are searched.
_CHUNK, _CHARS = 2_000, 4_000
_NEXT = "SELECT id, message FROM memories_recalltrace WHERE id > %s ORDER BY id LIMIT %s"
_FILL = """
UPDATE memories_recalltrace t SET terms = given.terms::integer[], asker = left(coalesce(t.query ->> 'asker', ''), 200)
FROM unnest(%s::bigint[], %s::text[]) AS given (id, terms) WHERE t.id = given.id
"""


def fill(apps, schema_editor):
    """Give the traces there are their words, a chunk at a time; a million take a few minutes."""
    last = 0
    with connection.cursor() as cursor:
        while True:
            cursor.execute(_NEXT, [last, _CHUNK])
            rows = cursor.fetchall()
            if not rows:
                return
            last = rows[-1][0]
            cursor.execute(_FILL, [[pk for pk, _said in rows], [_terms(said) for _pk, said in rows]])


def _terms(message):
    half = _CHARS // 2
    said = message if len(message) <= _CHARS else f"{message[:half]}\n{message[-half:]}"
    found = {*text.terms(said), *map(text.dimension_of, text.characters(said))}
    return "{" + ",".join(map(str, sorted(found))) + "}"


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0015_locking_scopes'),
    ]

    operations = [
        migrations.AddField(
            model_name='recalltrace',
            name='asker',
            field=models.CharField(blank=True, default='', help_text="The platform's id of who asked, if known.", max_length=200, verbose_name='by whom'),
        ),
        migrations.AddField(
            model_name='recalltrace',
            name='terms',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), default=list, editable=False, help_text='Words of the message, hashed.', size=None),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name='recalltrace',
            index=models.Index(fields=['workspace', 'session_key', '-created_at', '-id'], name='trace_of_session'),
        ),
        migrations.AddIndex(
            model_name='recalltrace',
            index=models.Index(fields=['workspace', 'asker', '-created_at', '-id'], name='trace_of_asker'),
        ),
        migrations.AddIndex(
            model_name='recalltrace',
            index=models.Index(condition=models.Q(('evidence__verdict', 'none')), fields=['workspace', '-created_at', '-id'], name='trace_unanswered'),
        ),
        migrations.AddIndex(
            model_name='recalltrace',
            index=models.Index(condition=models.Q(('degraded', []), _negated=True), fields=['workspace', '-created_at', '-id'], name='trace_degraded'),
        ),
        migrations.AddIndex(
            model_name='recalltrace',
            index=django.contrib.postgres.indexes.GinIndex(fastupdate=False, fields=['terms'], name='trace_terms'),
        ),
        migrations.AddConstraint(
            model_name='recalltrace',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('message', ''), _negated=True), ('terms', []), _connector='OR'), name='trace_without_words_has_no_terms'),
        ),
        *security_definers({"memplatform_traces_with_terms": _FOUND}),
    ]

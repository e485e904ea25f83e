"""Erasures, the rows still to go, and tombstones; and how the history of a row that stays is erased."""

import django.contrib.postgres.fields
import django.db.models.deletion
import memories.models.ids
from django.db import migrations, models

from memories.migrations._walls import inside_workspace, row_level_security, security_definers

#: Removes the history of rows that stay, as far as an erasure that is under way in their workspace says so.
FUNCTIONS = {
    "memplatform_erase_history(uuid, bigint, text, bigint[])": """
        CREATE FUNCTION memplatform_erase_history(erasure uuid, workspace bigint, of_table text, row_ids bigint[])
        RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
        DECLARE forgotten bigint;
        BEGIN
            IF NOT EXISTS (SELECT FROM memories_erasure
                           WHERE uid = erasure AND workspace_id = workspace AND state = 'running') THEN
                RAISE EXCEPTION 'No erasure of this id is under way.' USING ERRCODE = '42501';
            END IF;
            DELETE FROM memories_change
            WHERE workspace_id = workspace AND table_name = of_table AND row_id = ANY (row_ids);
            GET DIAGNOSTICS forgotten = ROW_COUNT;
            RAISE LOG 'memplatform: the history of % rows of % in workspace % was erased by %: % changes',
                cardinality(row_ids), of_table, workspace, session_user, forgotten;
            RETURN forgotten;
        END $$
    """,
}


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0009_admission'),
    ]

    operations = [
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('identities', models.JSONField(default=list, help_text='Each platform and peer.', verbose_name='identities')),
                ('person', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), default=list, help_text='Keyed hashes of the identities.', size=None)),
                ('reason', models.TextField(verbose_name='reason')),
                ('actor', models.CharField(max_length=200, verbose_name='by')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed')], default='waiting', max_length=10, verbose_name='state')),
                ('step', models.CharField(blank=True, default='', max_length=20, verbose_name='step')),
                ('total', models.PositiveIntegerField(default=0, help_text='Found so far.', verbose_name='rows')),
                ('counts', models.JSONField(default=dict, help_text='Removed or cleared so far, by table.', verbose_name='counts')),
                ('phrases', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, help_text='Keyed hashes of what the person said.', size=None)),
                ('certificate', models.JSONField(blank=True, null=True, verbose_name='certificate')),
                ('error', models.TextField(blank=True, default='', verbose_name='error')),
                ('created_at', models.DateTimeField(verbose_name='ordered')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'erasure',
                'verbose_name_plural': 'erasures',
            },
        ),
        migrations.CreateModel(
            name='ErasureTarget',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('table_name', models.CharField(max_length=63)),
                ('row_id', models.BigIntegerField()),
                ('erasure', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='targets', to='memories.erasure')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'row to erase',
                'verbose_name_plural': 'rows to erase',
            },
        ),
        migrations.CreateModel(
            name='Tombstone',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64)),
                ('erasure', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='tombstones', to='memories.erasure')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'tombstone',
                'verbose_name_plural': 'tombstones',
            },
        ),
        migrations.AddIndex(
            model_name='erasure',
            index=models.Index(fields=['workspace', '-created_at', '-id'], name='erasure_by_time'),
        ),
        migrations.AddConstraint(
            model_name='erasure',
            constraint=models.UniqueConstraint(fields=('id', 'workspace'), name='erasure_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='erasure',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'running', 'done', 'failed'])), name='erasure_state_known'),
        ),
        migrations.AddConstraint(
            model_name='erasure',
            constraint=models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='erasure_has_a_reason'),
        ),
        migrations.AddConstraint(
            model_name='erasure',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('certificate__isnull', False), ('identities', []), ('state', 'done')), models.Q(('state', 'done'), _negated=True), _connector='OR'), name='erasure_forgets_whom_it_erased'),
        ),
        migrations.AddConstraint(
            model_name='erasuretarget',
            constraint=models.UniqueConstraint(fields=('erasure', 'table_name', 'row_id'), name='erasuretarget_once'),
        ),
        migrations.AddConstraint(
            model_name='tombstone',
            constraint=models.UniqueConstraint(fields=('workspace', 'digest'), name='tombstone_once'),
        ),
        inside_workspace("erasuretarget_erasure", "memories_erasuretarget", "erasure_id", "memories_erasure", cascade=True),
        inside_workspace("tombstone_erasure", "memories_tombstone", "erasure_id", "memories_erasure", cascade=False),
        row_level_security("memories_erasure", "erasure"),
        row_level_security("memories_erasuretarget", "erasuretarget"),
        row_level_security("memories_tombstone", "tombstone"),
        *security_definers(FUNCTIONS),
    ]

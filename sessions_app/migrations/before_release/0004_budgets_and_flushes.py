"""Where a conversation stands in its token budget, whom a direct chat is with, and what was flushed out of it."""

import django.db.models.deletion
import memories.models.ids
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0017_length_of_the_index'),
        ('sessions_app', '0003_row_level_walls'),
    ]

    operations = [
        migrations.CreateModel(
            name='Flush',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('conversation', models.PositiveIntegerField(verbose_name='conversation')),
                ('cycle', models.PositiveIntegerField(verbose_name='compaction cycle')),
                ('up_to', models.PositiveIntegerField(help_text='The position of the last message it knew.', verbose_name='up to')),
                ('actor', models.CharField(max_length=200, verbose_name='by')),
                ('no_reply', models.BooleanField(default=False, help_text='The bot answered NO_REPLY.', verbose_name='nothing to keep')),
                ('goes_on_with', models.TextField(blank=True, default='', help_text='For the session (E4).', verbose_name='goes on with')),
                ('counts', models.JSONField(default=dict, help_text='Candidates by what became of them.', verbose_name='counts')),
                ('at', models.DateTimeField(verbose_name='at')),
            ],
            options={
                'verbose_name': 'flush',
                'verbose_name_plural': 'flushes',
            },
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='session',
            name='raise_version',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='session',
            name='record_update',
        ),
        migrations.AddField(
            model_name='session',
            name='compacted_to',
            field=models.PositiveIntegerField(default=0, help_text='Position; what came later is handed out as it was said.', verbose_name='summarised up to'),
        ),
        migrations.AddField(
            model_name='session',
            name='compaction_asked_at',
            field=models.DateTimeField(blank=True, null=True, verbose_name='compaction asked for'),
        ),
        migrations.AddField(
            model_name='session',
            name='cycle',
            field=models.PositiveIntegerField(default=1, help_text='Of the open conversation; each compaction begins another (B3).', verbose_name='compaction cycle'),
        ),
        migrations.AddField(
            model_name='session',
            name='flush_asked_at',
            field=models.DateTimeField(blank=True, null=True, verbose_name='flush asked for'),
        ),
        migrations.AddField(
            model_name='session',
            name='flushed_to',
            field=models.PositiveIntegerField(default=0, help_text='Position (C7).', verbose_name='flushed up to'),
        ),
        migrations.AddField(
            model_name='session',
            name='peer',
            field=models.CharField(blank=True, default='', help_text='Whom a direct chat is with (A5).', max_length=200, verbose_name='peer'),
        ),
        migrations.AlterField(
            model_name='session',
            name='tokens',
            field=models.PositiveIntegerField(default=0, help_text='Of the open conversation, as it is handed out.', verbose_name='tokens'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(condition=models.Q(('next_position__gt', 1)), fields=['last_at'], name='session_to_be_closed'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(condition=models.Q(('is_group', True)), fields=['workspace', 'chat_id'], name='session_of_group'),
        ),
        migrations.AddIndex(
            model_name='sessionevent',
            index=models.Index(condition=models.Q(('kind', 'ambient')), fields=['session', '-id'], name='sessionevent_ambient'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='session',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."account" IS DISTINCT FROM (NEW."account") OR OLD."chat_id" IS DISTINCT FROM (NEW."chat_id") OR OLD."chat_scope_id" IS DISTINCT FROM (NEW."chat_scope_id") OR OLD."conversation" IS DISTINCT FROM (NEW."conversation") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."is_group" IS DISTINCT FROM (NEW."is_group") OR OLD."key" IS DISTINCT FROM (NEW."key") OR OLD."metadata" IS DISTINCT FROM (NEW."metadata") OR OLD."peer" IS DISTINCT FROM (NEW."peer") OR OLD."platform" IS DISTINCT FROM (NEW."platform") OR OLD."rules" IS DISTINCT FROM (NEW."rules") OR OLD."started_at" IS DISTINCT FROM (NEW."started_at") OR OLD."uid" IS DISTINCT FROM (NEW."uid") OR OLD."user_scope_id" IS DISTINCT FROM (NEW."user_scope_id") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='c186e37cf89a77c71a5ad6e1c2737b2ab3c98d35', operation='UPDATE', pgid='pgtrigger_raise_version_7a4c6', table='sessions_app_session', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='session',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT jsonb_object_agg(key, value) AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version', 'tokens', 'next_position', 'last_at', 'cycle', 'flushed_to', 'compacted_to', 'flush_asked_at', 'compaction_asked_at']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='77bcd0ef3e8b7a3155e99e773ebf7d3b2035af02', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_a1b2e', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='sessions_app_session', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='session',
            constraint=models.CheckConstraint(condition=models.Q(('compacted_to__lt', models.F('next_position')), ('flushed_to__lt', models.F('next_position'))), name='session_marks_lie_in_its_conversation'),
        ),
        migrations.AddField(
            model_name='flush',
            name='session',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='flushes', to='sessions_app.session'),
        ),
        migrations.AddField(
            model_name='flush',
            name='workspace',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace'),
        ),
        migrations.AddConstraint(
            model_name='flush',
            constraint=models.UniqueConstraint(fields=('session', 'conversation', 'cycle'), name='flush_once_a_cycle'),
        ),
    ]

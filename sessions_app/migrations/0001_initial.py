"""The tables of conversations; what Django cannot say of them stands in sql/."""

from pathlib import Path

import django.db.models.deletion
import memories.models.ids
import memories.models.walls
import pgtrigger.compiler
import pgtrigger.migrations
import pgvector.django.halfvec
import pgvector.django.sparsevec
from django.db import migrations, models

from memories.migrations import _sql

SQL = Path(__file__).with_name("sql")


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('memories', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Session',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sessions', to='memories.workspace')),
                ('key', models.CharField(max_length=100, verbose_name='key')),
                ('platform', models.CharField(blank=True, default='', max_length=40, verbose_name='platform')),
                ('account', models.CharField(blank=True, default='', max_length=200, verbose_name='account')),
                ('chat_id', models.CharField(blank=True, default='', max_length=200, verbose_name='chat')),
                ('peer', models.CharField(blank=True, default='', help_text='Whom a direct chat is with.', max_length=200, verbose_name='peer')),
                ('is_group', models.BooleanField(default=False, verbose_name='group')),
                ('conversation', models.PositiveIntegerField(default=1, verbose_name='conversation')),
                ('rules', models.JSONField(default=dict, help_text="The channel's rules when it was last used.", verbose_name='rules')),
                ('user_scope', models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.scope')),
                ('chat_scope', models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.scope')),
                ('metadata', models.JSONField(blank=True, default=dict, verbose_name='metadata')),
                ('tokens', models.PositiveIntegerField(default=0, help_text='Of the open conversation, as it is handed out.', verbose_name='tokens')),
                ('next_position', models.PositiveIntegerField(default=1, editable=False)),
                ('cycle', models.PositiveIntegerField(default=1, help_text='Of the open conversation; each compaction begins another.', verbose_name='compaction cycle')),
                ('flushed_to', models.PositiveIntegerField(default=0, help_text='The last message it covered, by position.', verbose_name='flushed up to')),
                ('compacted_to', models.PositiveIntegerField(default=0, help_text='Position; what came later is handed out as it was said.', verbose_name='summarised up to')),
                ('flush_asked_at', models.DateTimeField(blank=True, null=True, verbose_name='flush asked for')),
                ('compaction_asked_at', models.DateTimeField(blank=True, null=True, verbose_name='compaction asked for')),
                ('started_at', models.DateTimeField(verbose_name='started')),
                ('last_at', models.DateTimeField(verbose_name='last message')),
            ],
            options={
                'verbose_name': 'session',
                'verbose_name_plural': 'sessions',
                'indexes': [
                    models.Index(fields=['workspace', '-last_at', '-id'], name='session_by_time'),
                    models.Index(condition=models.Q(('next_position__gt', 1)), fields=['last_at'], name='session_to_be_closed'),
                    models.Index(condition=models.Q(('is_group', True)), fields=['workspace', 'chat_id'], name='session_of_group'),
                    models.Index(condition=models.Q(('is_group', False)), fields=['user_scope'], name='session_of_user'),
                    models.Index(condition=models.Q(('is_group', True)), fields=['chat_scope'], name='session_of_chat'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('workspace', 'platform', 'account', 'key'), name='session_key_once_in_channel'),
                    models.UniqueConstraint(fields=('id', 'workspace'), name='session_in_workspace'),
                    models.CheckConstraint(condition=models.Q(('key', ''), _negated=True), name='session_has_a_key'),
                    models.CheckConstraint(condition=models.Q(('conversation__gte', 1)), name='session_conversations_count_from_one'),
                    models.CheckConstraint(condition=models.Q(('compacted_to__lt', models.F('next_position')), ('flushed_to__lt', models.F('next_position'))), name='session_marks_lie_in_its_conversation'),
                    memories.models.walls.InsideWorkspace('user_scope', name='session_user_scope_in_its_workspace'),
                    memories.models.walls.InsideWorkspace('chat_scope', name='session_chat_scope_in_its_workspace'),
                    memories.models.walls.WorkspacePolicy(name='session_of_the_workspaces'),
                ],
            },
        ),
        migrations.CreateModel(
            name='SessionEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
                ('session', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='sessions_app.session')),
                ('conversation', models.PositiveIntegerField(verbose_name='conversation')),
                ('position', models.PositiveIntegerField(verbose_name='position')),
                ('kind', models.CharField(choices=[('user', 'User'), ('assistant', 'Assistant'), ('tool', 'Tool'), ('summary', 'Summary'), ('ambient', 'Ambient')], max_length=10, verbose_name='kind')),
                ('sender_id', models.CharField(blank=True, default='', max_length=200, verbose_name='sender')),
                ('content', models.TextField(verbose_name='content')),
                ('data', models.JSONField(blank=True, default=dict, help_text='Tool calls and what else came along.', verbose_name='data')),
                ('tokens', models.PositiveIntegerField(default=0, verbose_name='tokens')),
                ('at', models.DateTimeField(verbose_name='at')),
            ],
            options={
                'verbose_name': 'session event',
                'verbose_name_plural': 'session events',
                'indexes': [
                    models.Index(fields=['at'], name='sessionevent_by_age'),
                    models.Index(condition=models.Q(('kind', 'ambient')), fields=['session', '-id'], name='sessionevent_ambient'),
                    models.Index(condition=models.Q(('sender_id', ''), _negated=True), fields=['workspace', 'sender_id', 'session'], name='sessionevent_by_sender'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('session', 'conversation', 'position'), name='sessionevent_position_once'),
                    models.UniqueConstraint(fields=('id', 'workspace'), name='sessionevent_in_workspace'),
                    models.CheckConstraint(condition=models.Q(('kind__in', ['user', 'assistant', 'tool', 'summary', 'ambient'])), name='sessionevent_kind_known'),
                    memories.models.walls.InsideWorkspace('session', cascade=True, name='sessionevent_session_in_its_workspace'),
                    memories.models.walls.WorkspacePolicy(name='sessionevent_of_the_workspaces'),
                ],
            },
        ),
        migrations.CreateModel(
            name='EventIndex',
            fields=[
                ('event', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='index', serialize=False, to='sessions_app.sessionevent')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
                ('session', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='sessions_app.session')),
                ('conversation', models.PositiveIntegerField(verbose_name='conversation')),
                ('kind', models.CharField(choices=[('user', 'User'), ('assistant', 'Assistant'), ('tool', 'Tool'), ('summary', 'Summary'), ('ambient', 'Ambient')], max_length=10, verbose_name='kind')),
                ('at', models.DateTimeField(verbose_name='at')),
                ('keywords', pgvector.django.sparsevec.SparseVectorField(help_text='Its terms, each once.')),
                ('model', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.embeddingmodel')),
                ('embedding', pgvector.django.halfvec.HalfVectorField(null=True)),
                ('failures', models.PositiveSmallIntegerField(default=0, verbose_name='failures')),
                ('retry_at', models.DateTimeField(help_text='Also the lease of who embeds it now.', null=True, verbose_name='next try')),
            ],
            options={
                'verbose_name': 'search row of a message',
                'verbose_name_plural': 'search rows of messages',
                'indexes': [
                    models.Index(fields=['session', 'at'], name='eventindex_of_session'),
                    models.Index(condition=models.Q(('failures__lt', 5), ('model__isnull', True)), fields=['event'], name='eventindex_waiting'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(models.Q(('embedding__isnull', True), ('model__isnull', True)), models.Q(('embedding__isnull', False), ('model__isnull', False)), _connector='OR'), name='eventindex_embedding_has_a_model'),
                    memories.models.walls.InsideWorkspace('event', cascade=True, name='eventindex_event_in_its_workspace'),
                    memories.models.walls.InsideWorkspace('session', cascade=True, name='eventindex_session_in_its_workspace'),
                    memories.models.walls.WorkspacePolicy(name='eventindex_of_the_workspaces'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Flush',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
                ('session', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='flushes', to='sessions_app.session')),
                ('conversation', models.PositiveIntegerField(verbose_name='conversation')),
                ('cycle', models.PositiveIntegerField(verbose_name='compaction cycle')),
                ('up_to', models.PositiveIntegerField(help_text='The position of the last message it knew.', verbose_name='up to')),
                ('actor', models.CharField(max_length=200, verbose_name='by')),
                ('no_reply', models.BooleanField(default=False, help_text='The bot answered NO_REPLY.', verbose_name='nothing to keep')),
                ('goes_on_with', models.TextField(blank=True, default='', help_text='For the session.', verbose_name='goes on with')),
                ('goes_on_to', models.PositiveIntegerField(default=0, help_text='Where that text was made.', verbose_name='knows up to')),
                ('model', models.CharField(blank=True, default='', help_text='Empty: none was asked.', max_length=200, verbose_name='model')),
                ('counts', models.JSONField(default=dict, help_text='Candidates by what became of them.', verbose_name='counts')),
                ('at', models.DateTimeField(verbose_name='at')),
            ],
            options={
                'verbose_name': 'flush',
                'verbose_name_plural': 'flushes',
                'constraints': [
                    models.UniqueConstraint(fields=('session', 'conversation', 'cycle'), name='flush_once_a_cycle'),
                    memories.models.walls.InsideWorkspace('session', cascade=True, name='flush_session_in_its_workspace'),
                    memories.models.walls.WorkspacePolicy(name='flush_of_the_workspaces'),
                ],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='session',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."account" IS DISTINCT FROM (NEW."account") OR OLD."chat_id" IS DISTINCT FROM (NEW."chat_id") OR OLD."chat_scope_id" IS DISTINCT FROM (NEW."chat_scope_id") OR OLD."conversation" IS DISTINCT FROM (NEW."conversation") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."is_group" IS DISTINCT FROM (NEW."is_group") OR OLD."key" IS DISTINCT FROM (NEW."key") OR OLD."metadata" IS DISTINCT FROM (NEW."metadata") OR OLD."peer" IS DISTINCT FROM (NEW."peer") OR OLD."platform" IS DISTINCT FROM (NEW."platform") OR OLD."rules" IS DISTINCT FROM (NEW."rules") OR OLD."started_at" IS DISTINCT FROM (NEW."started_at") OR OLD."uid" IS DISTINCT FROM (NEW."uid") OR OLD."user_scope_id" IS DISTINCT FROM (NEW."user_scope_id") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='c186e37cf89a77c71a5ad6e1c2737b2ab3c98d35', operation='UPDATE', pgid='pgtrigger_raise_version_7a4c6', table='sessions_app_session', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='session',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='fa40c0afa3d43a5021909cecad54750169e7ed4e', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_00da4', referencing='REFERENCING NEW TABLE AS new_rows ', table='sessions_app_session', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='session',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version', 'tokens', 'next_position', 'last_at', 'cycle', 'flushed_to', 'compacted_to', 'flush_asked_at', 'compaction_asked_at']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='da260f6614f70dfd34ed96266a1cd70e962c3a91', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_a1b2e', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='sessions_app_session', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='session',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='755463ddd08e5bb0d454eee02d7c8e9dd2a21c22', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_64a13', referencing='REFERENCING OLD TABLE AS old_rows ', table='sessions_app_session', when='AFTER')),
        ),
        _sql.run(SQL / "functions.sql"),
        _sql.run(SQL / "tables.sql"),
    ]
    operations = _sql.new_tables(operations)

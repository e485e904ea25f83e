import django.db.models.deletion
import memories.models.ids
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('memories', '0003_walls_between_workspaces'),
    ]

    operations = [
        migrations.CreateModel(
            name='Session',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('key', models.CharField(max_length=100, verbose_name='key')),
                ('platform', models.CharField(blank=True, default='', max_length=40, verbose_name='platform')),
                ('account', models.CharField(blank=True, default='', max_length=200, verbose_name='account')),
                ('chat_id', models.CharField(blank=True, default='', max_length=200, verbose_name='chat')),
                ('is_group', models.BooleanField(default=False, verbose_name='group')),
                ('conversation', models.PositiveIntegerField(default=1, verbose_name='conversation')),
                ('rules', models.JSONField(default=dict, help_text="The channel's rules when it was last used.", verbose_name='rules')),
                ('metadata', models.JSONField(blank=True, default=dict, verbose_name='metadata')),
                ('tokens', models.PositiveIntegerField(default=0, help_text='Of the conversation that is open.', verbose_name='tokens')),
                ('next_position', models.PositiveIntegerField(default=1, editable=False)),
                ('started_at', models.DateTimeField(verbose_name='started')),
                ('last_at', models.DateTimeField(verbose_name='last message')),
                ('chat_scope', models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.scope')),
                ('user_scope', models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.scope')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sessions', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'session',
                'verbose_name_plural': 'sessions',
            },
        ),
        migrations.CreateModel(
            name='SessionEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('conversation', models.PositiveIntegerField(verbose_name='conversation')),
                ('position', models.PositiveIntegerField(verbose_name='position')),
                ('kind', models.CharField(choices=[('user', 'User'), ('assistant', 'Assistant'), ('tool', 'Tool'), ('summary', 'Summary'), ('ambient', 'Ambient')], max_length=10, verbose_name='kind')),
                ('sender_id', models.CharField(blank=True, default='', max_length=200, verbose_name='sender')),
                ('content', models.TextField(verbose_name='content')),
                ('data', models.JSONField(blank=True, default=dict, help_text='Tool calls and what else came along.', verbose_name='data')),
                ('tokens', models.PositiveIntegerField(default=0, verbose_name='tokens')),
                ('at', models.DateTimeField(verbose_name='at')),
                ('session', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='sessions_app.session')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'session event',
                'verbose_name_plural': 'session events',
            },
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(fields=['workspace', '-last_at', '-id'], name='session_by_time'),
        ),
        migrations.AddConstraint(
            model_name='session',
            constraint=models.UniqueConstraint(fields=('workspace', 'platform', 'account', 'key'), name='session_key_once_in_channel'),
        ),
        migrations.AddConstraint(
            model_name='session',
            constraint=models.UniqueConstraint(fields=('id', 'workspace'), name='session_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='session',
            constraint=models.CheckConstraint(condition=models.Q(('key', ''), _negated=True), name='session_has_a_key'),
        ),
        migrations.AddConstraint(
            model_name='session',
            constraint=models.CheckConstraint(condition=models.Q(('conversation__gte', 1)), name='session_conversations_count_from_one'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='session',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."account" IS DISTINCT FROM (NEW."account") OR OLD."chat_id" IS DISTINCT FROM (NEW."chat_id") OR OLD."chat_scope_id" IS DISTINCT FROM (NEW."chat_scope_id") OR OLD."conversation" IS DISTINCT FROM (NEW."conversation") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."is_group" IS DISTINCT FROM (NEW."is_group") OR OLD."key" IS DISTINCT FROM (NEW."key") OR OLD."metadata" IS DISTINCT FROM (NEW."metadata") OR OLD."platform" IS DISTINCT FROM (NEW."platform") OR OLD."rules" IS DISTINCT FROM (NEW."rules") OR OLD."started_at" IS DISTINCT FROM (NEW."started_at") OR OLD."uid" IS DISTINCT FROM (NEW."uid") OR OLD."user_scope_id" IS DISTINCT FROM (NEW."user_scope_id") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='140eb8596e412ffff8b60bbbbb0e2d8abcbbd228', operation='UPDATE', pgid='pgtrigger_raise_version_7a4c6', table='sessions_app_session', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='session',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='fa40c0afa3d43a5021909cecad54750169e7ed4e', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_00da4', referencing='REFERENCING NEW TABLE AS new_rows ', table='sessions_app_session', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='session',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT jsonb_object_agg(key, value) AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version', 'tokens', 'next_position', 'last_at']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='f52a4dbd99307203004d421ad11e68b0a77c8af4', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_a1b2e', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='sessions_app_session', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='session',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='755463ddd08e5bb0d454eee02d7c8e9dd2a21c22', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_64a13', referencing='REFERENCING OLD TABLE AS old_rows ', table='sessions_app_session', when='AFTER')),
        ),
        migrations.AddIndex(
            model_name='sessionevent',
            index=models.Index(fields=['at'], name='sessionevent_by_age'),
        ),
        migrations.AddConstraint(
            model_name='sessionevent',
            constraint=models.UniqueConstraint(fields=('session', 'conversation', 'position'), name='sessionevent_position_once'),
        ),
        migrations.AddConstraint(
            model_name='sessionevent',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['user', 'assistant', 'tool', 'summary', 'ambient'])), name='sessionevent_kind_known'),
        ),
    ]

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
            name='Channel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('platform', models.CharField(max_length=40, verbose_name='platform')),
                ('account', models.CharField(blank=True, default='', max_length=200, verbose_name='account')),
                ('label', models.CharField(blank=True, default='', max_length=200, verbose_name='label')),
                ('dm_scope', models.CharField(blank=True, choices=[('main', 'One memory for all direct chats'), ('per-peer', 'One per person'), ('per-channel-peer', 'One per platform and person'), ('per-account-channel-peer', 'One per platform, account and person')], default='', max_length=30, verbose_name='memory of direct chats')),
                ('session_mode', models.CharField(choices=[('stable', 'One session a chat'), ('fresh', 'A new session every message')], default='stable', max_length=10, verbose_name='sessions')),
                ('session_prefix', models.CharField(blank=True, default='', max_length=30, verbose_name='session prefix')),
                ('group_sessions', models.CharField(choices=[('shared', 'All members'), ('per_member', 'One per member')], default='shared', max_length=12, verbose_name='group sessions')),
                ('group_prefix', models.CharField(default='group_', max_length=30, verbose_name='group prefix')),
                ('capture_group_memory', models.BooleanField(blank=True, null=True, verbose_name='remember for the group')),
                ('group_user_recall', models.CharField(blank=True, choices=[('none', 'Nothing'), ('same_chat', 'Only what was said in that chat'), ('all', 'Everything')], default='', max_length=10, verbose_name='what a group may hear of a person')),
                ('need', models.CharField(choices=[('auto', 'By rules'), ('off', 'Always recall')], default='auto', max_length=4, verbose_name='ask whether memory is needed')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='channels', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'channel',
                'verbose_name_plural': 'channels',
                'constraints': [models.UniqueConstraint(fields=('workspace', 'platform', 'account'), name='channel_account_once'), models.UniqueConstraint(fields=('id', 'workspace'), name='channel_in_workspace'), models.CheckConstraint(condition=models.Q(('platform', ''), _negated=True), name='channel_has_a_platform'), models.CheckConstraint(condition=models.Q(('dm_scope__in', ['', 'main', 'per-peer', 'per-channel-peer', 'per-account-channel-peer'])), name='channel_dm_scope_known'), models.CheckConstraint(condition=models.Q(('group_user_recall__in', ['', 'none', 'same_chat', 'all'])), name='channel_group_recall_known'), models.CheckConstraint(condition=models.Q(('session_mode__in', ['stable', 'fresh'])), name='channel_session_mode_known'), models.CheckConstraint(condition=models.Q(('group_sessions__in', ['shared', 'per_member'])), name='channel_group_sessions_known'), models.CheckConstraint(condition=models.Q(models.Q(('group_prefix', ''), _negated=True), models.Q(('group_prefix__startswith', 'direct_'), _negated=True)), name='channel_group_prefix_not_that_of_direct_chats')],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='channel',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."account" IS DISTINCT FROM (NEW."account") OR OLD."capture_group_memory" IS DISTINCT FROM (NEW."capture_group_memory") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."dm_scope" IS DISTINCT FROM (NEW."dm_scope") OR OLD."group_prefix" IS DISTINCT FROM (NEW."group_prefix") OR OLD."group_sessions" IS DISTINCT FROM (NEW."group_sessions") OR OLD."group_user_recall" IS DISTINCT FROM (NEW."group_user_recall") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."label" IS DISTINCT FROM (NEW."label") OR OLD."need" IS DISTINCT FROM (NEW."need") OR OLD."platform" IS DISTINCT FROM (NEW."platform") OR OLD."session_mode" IS DISTINCT FROM (NEW."session_mode") OR OLD."session_prefix" IS DISTINCT FROM (NEW."session_prefix") OR OLD."uid" IS DISTINCT FROM (NEW."uid") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='d6109ecb69e1f850ea13aacd10f5d85cb974eb5e', operation='UPDATE', pgid='pgtrigger_raise_version_c009b', table='channels_app_channel', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='channel',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='e973495be1ea18f342f478e27b5a9e9154c50f7f', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_7c2f4', referencing='REFERENCING NEW TABLE AS new_rows ', table='channels_app_channel', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='channel',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT jsonb_object_agg(key, value) AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='8466c7c1fb49dd3deb721ab1b02243cd8fd26075', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_03af2', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='channels_app_channel', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='channel',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='f5da8fbf4edc16bc683aaed4a2b9d3c323126048', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_349ee', referencing='REFERENCING OLD TABLE AS old_rows ', table='channels_app_channel', when='AFTER')),
        ),
    ]

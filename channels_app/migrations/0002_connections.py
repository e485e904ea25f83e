"""Connections of channels to their platforms, and what comes and goes over them."""

from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
import memories.models.ids
import memories.models.walls
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

from memories.migrations import _sql


SQL = Path(__file__).parent / "sql"


class Migration(migrations.Migration):

    dependencies = [
        ('channels_app', '0001_initial'),
        ('memories', '0004_own_memory'),
    ]

    operations = [
        migrations.CreateModel(
            name='Connection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('is_enabled', models.BooleanField(default=True, verbose_name='enabled')),
                ('receiving', models.CharField(choices=[('webhook', 'The platform calls this server'), ('pull', 'This server asks the platform (no public address needed)')], default='pull', max_length=10, verbose_name='receives')),
                ('answerer', models.CharField(choices=[('model', 'The model of this server, with memory'), ('callback', 'Your bot, called at an address of yours'), ('poll', 'Your bot, which asks for messages'), ('nobody', 'Nobody: it only listens')], default='model', max_length=10, verbose_name='answered by')),
                ('callback_url', models.CharField(blank=True, default='', max_length=500, verbose_name='address of your bot')),
                ('instructions', models.TextField(blank=True, default='', max_length=8000, verbose_name='instructions to the model')),
                ('notices', models.CharField(choices=[('off', 'Never'), ('each', 'At once, with a way to undo it'), ('daily', 'Once a day')], default='each', max_length=10, verbose_name='tell what is kept')),
                ('has_commands', models.BooleanField(default=True, verbose_name='commands such as /memory')),
                ('retires_leavers', models.BooleanField(default=True, verbose_name="take out of a group's memory what people said who left")),
                ('options', models.JSONField(blank=True, default=dict, verbose_name='ids at the platform')),
                ('cursor', models.JSONField(default=dict, editable=False)),
                ('noticed_entry', models.BigIntegerField(editable=False, help_text='People were told up to this one.', null=True)),
                ('noticed_at', models.DateTimeField(editable=False, null=True)),
                ('pulled_until', models.DateTimeField(editable=False, null=True)),
                ('received_at', models.DateTimeField(editable=False, null=True, verbose_name='last message')),
                ('answered_at', models.DateTimeField(editable=False, null=True, verbose_name='last answer')),
                ('problem', models.CharField(blank=True, choices=[('', '—'), ('refused', 'The platform refuses the key: paste a new one.'), ('conflict', "Another program receives this bot's messages."), ('away', 'The platform cannot be reached.'), ('secret', 'A secret cannot be read: paste it again.'), ('model', 'The model gave no answer.'), ('callback', 'Your bot did not answer.')], default='', max_length=10, verbose_name='problem')),
                ('problem_at', models.DateTimeField(editable=False, null=True, verbose_name='problem since')),
                ('retry_at', models.DateTimeField(editable=False, null=True, verbose_name='at rest until')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('channel', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='connections', to='channels_app.channel')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='connections', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'connection',
                'verbose_name_plural': 'connections',
            },
        ),
        migrations.CreateModel(
            name='Chat',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=200, verbose_name='chat')),
                ('place', models.CharField(help_text='Stays when the platform moves it.', max_length=200, verbose_name='chat of its memory')),
                ('title', models.CharField(blank=True, default='', max_length=200, verbose_name='title')),
                ('is_group', models.BooleanField(default=False, verbose_name='group')),
                ('retry_at', models.DateTimeField(editable=False, null=True)),
                ('failures', models.PositiveIntegerField(default=0, editable=False)),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
                ('connection', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='chats', to='channels_app.connection')),
            ],
            options={
                'verbose_name': 'chat',
                'verbose_name_plural': 'chats',
            },
        ),
        migrations.CreateModel(
            name='Contact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('peer', models.CharField(max_length=200, verbose_name='peer')),
                ('name', models.CharField(blank=True, default='', max_length=200, verbose_name='name')),
                ('language', models.CharField(blank=True, default='', max_length=10, verbose_name='language')),
                ('listed', models.JSONField(default=list, help_text='Ids of memories, in their order.', verbose_name='numbers last shown')),
                ('asked_to_forget_at', models.DateTimeField(null=True)),
                ('link_code', models.CharField(blank=True, default='', help_text='Hash of the code by which another account is linked.', max_length=64)),
                ('link_code_at', models.DateTimeField(null=True)),
                ('connection', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='contacts', to='channels_app.connection')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'contact',
                'verbose_name_plural': 'contacts',
            },
        ),
        migrations.CreateModel(
            name='IncomingMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('key', models.CharField(max_length=200, verbose_name='key of the platform')),
                ('kind', models.CharField(choices=[('message', 'Message'), ('edited', 'Edited'), ('recalled', 'Recalled'), ('joined', 'Joined'), ('left', 'Left'), ('button', 'Button'), ('moved', 'Moved to another chat')], max_length=10, verbose_name='kind')),
                ('message', models.CharField(blank=True, default='', max_length=200, verbose_name='message')),
                ('peer', models.CharField(blank=True, default='', max_length=200, verbose_name='from')),
                ('body', models.JSONField(default=dict, verbose_name='body')),
                ('sent_at', models.DateTimeField(verbose_name='sent')),
                ('sequence', models.BigIntegerField(default=0, verbose_name='order within a moment')),
                ('received_at', models.DateTimeField(verbose_name='received')),
                ('due_at', models.DateTimeField(verbose_name='to be answered from')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('offered', 'With your bot'), ('done', 'Done'), ('failed', 'Failed')], default='waiting', max_length=10, verbose_name='state')),
                ('attempts', models.PositiveIntegerField(default=0, verbose_name='attempts')),
                ('error', models.CharField(blank=True, default='', max_length=200, verbose_name='problem')),
                ('events', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, size=None, verbose_name='messages of the session')),
                ('recall', models.UUIDField(null=True, verbose_name='recall')),
                ('offered_at', models.DateTimeField(null=True, verbose_name='given to your bot')),
                ('chat', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='incoming', to='channels_app.chat')),
                ('connection', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='incoming', to='channels_app.connection')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'incoming message',
                'verbose_name_plural': 'incoming messages',
            },
        ),
        migrations.CreateModel(
            name='Notice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('peer', models.CharField(max_length=200, verbose_name='peer')),
                ('entries', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None, verbose_name='memories')),
                ('at', models.DateTimeField(verbose_name='at')),
                ('undone_at', models.DateTimeField(null=True, verbose_name='undone')),
                ('connection', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='notice_rows', to='channels_app.connection')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'notice',
                'verbose_name_plural': 'notices',
            },
        ),
        migrations.CreateModel(
            name='OutgoingMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('body', models.JSONField(default=dict, verbose_name='body')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('offered', 'With your bot'), ('done', 'Done'), ('failed', 'Failed')], default='waiting', max_length=10, verbose_name='state')),
                ('attempts', models.PositiveIntegerField(default=0, verbose_name='attempts')),
                ('error', models.CharField(blank=True, default='', max_length=200, verbose_name='problem')),
                ('message', models.CharField(blank=True, default='', help_text='At the platform.', max_length=200, verbose_name='message')),
                ('created_at', models.DateTimeField(verbose_name='made')),
                ('sent_at', models.DateTimeField(null=True, verbose_name='sent')),
                ('chat', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='outgoing', to='channels_app.chat')),
                ('connection', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='outgoing', to='channels_app.connection')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'outgoing message',
                'verbose_name_plural': 'outgoing messages',
            },
        ),
        migrations.AddConstraint(
            model_name='connection',
            constraint=models.UniqueConstraint(fields=('channel',), name='connection_one_a_channel'),
        ),
        migrations.AddConstraint(
            model_name='connection',
            constraint=models.UniqueConstraint(fields=('id', 'workspace'), name='connection_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='connection',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('answerer', 'callback'), _negated=True), models.Q(('callback_url', ''), _negated=True), _connector='OR'), name='connection_has_a_callback'),
        ),
        migrations.AddConstraint(
            model_name='connection',
            constraint=models.CheckConstraint(condition=models.Q(('receiving__in', ['webhook', 'pull'])), name='connection_receiving_known'),
        ),
        migrations.AddConstraint(
            model_name='connection',
            constraint=models.CheckConstraint(condition=models.Q(('answerer__in', ['model', 'callback', 'poll', 'nobody'])), name='connection_answerer_known'),
        ),
        migrations.AddConstraint(
            model_name='connection',
            constraint=models.CheckConstraint(condition=models.Q(('notices__in', ['off', 'each', 'daily'])), name='connection_notices_known'),
        ),
        migrations.AddConstraint(
            model_name='connection',
            constraint=memories.models.walls.InsideWorkspace('channel', cascade=True, name='connection_channel_in_its_workspace'),
        ),
        migrations.AddConstraint(
            model_name='connection',
            constraint=memories.models.walls.WorkspacePolicy(name='connection_of_the_workspaces'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='connection',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."answerer" IS DISTINCT FROM (NEW."answerer") OR OLD."callback_url" IS DISTINCT FROM (NEW."callback_url") OR OLD."channel_id" IS DISTINCT FROM (NEW."channel_id") OR OLD."has_commands" IS DISTINCT FROM (NEW."has_commands") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."instructions" IS DISTINCT FROM (NEW."instructions") OR OLD."is_enabled" IS DISTINCT FROM (NEW."is_enabled") OR OLD."notices" IS DISTINCT FROM (NEW."notices") OR OLD."options" IS DISTINCT FROM (NEW."options") OR OLD."receiving" IS DISTINCT FROM (NEW."receiving") OR OLD."retires_leavers" IS DISTINCT FROM (NEW."retires_leavers") OR OLD."uid" IS DISTINCT FROM (NEW."uid") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='e22e6a3af9d508544624fd043339fecc0f38d828', operation='UPDATE', pgid='pgtrigger_raise_version_d3149', table='channels_app_connection', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='connection',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='2e9e45f3f34e83c6615712351876359984c81285', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_90743', referencing='REFERENCING NEW TABLE AS new_rows ', table='channels_app_connection', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='connection',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version', 'cursor', 'noticed_entry', 'noticed_at', 'pulled_until', 'received_at', 'answered_at', 'problem', 'problem_at', 'retry_at', 'created_at']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='2f503528fd885f084d9651ca0a6b20f563b4cae0', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_57105', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='channels_app_connection', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='connection',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='078d4c20a1b002d857575ad2fbbca76007e7f6fc', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_1a653', referencing='REFERENCING OLD TABLE AS old_rows ', table='channels_app_connection', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='chat',
            constraint=models.UniqueConstraint(fields=('connection', 'key'), name='chat_once_a_connection'),
        ),
        migrations.AddConstraint(
            model_name='chat',
            constraint=models.UniqueConstraint(fields=('id', 'workspace'), name='chat_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='chat',
            constraint=memories.models.walls.InsideWorkspace('connection', cascade=True, name='chat_connection_in_its_workspace'),
        ),
        migrations.AddConstraint(
            model_name='chat',
            constraint=memories.models.walls.WorkspacePolicy(name='chat_of_the_workspaces'),
        ),
        migrations.AddConstraint(
            model_name='contact',
            constraint=models.UniqueConstraint(fields=('connection', 'peer'), name='contact_once_a_connection'),
        ),
        migrations.AddConstraint(
            model_name='contact',
            constraint=memories.models.walls.InsideWorkspace('connection', cascade=True, name='contact_connection_in_its_workspace'),
        ),
        migrations.AddConstraint(
            model_name='contact',
            constraint=memories.models.walls.WorkspacePolicy(name='contact_of_the_workspaces'),
        ),
        migrations.AddIndex(
            model_name='incomingmessage',
            index=models.Index(condition=models.Q(('state__in', ['waiting', 'offered'])), fields=['chat', 'sent_at', 'sequence'], name='incomingmessage_open'),
        ),
        migrations.AddIndex(
            model_name='incomingmessage',
            index=models.Index(fields=['chat', 'message'], name='incomingmessage_by_message'),
        ),
        migrations.AddIndex(
            model_name='incomingmessage',
            index=models.Index(fields=['received_at'], name='incomingmessage_by_time'),
        ),
        migrations.AddConstraint(
            model_name='incomingmessage',
            constraint=models.UniqueConstraint(fields=('connection', 'key'), name='incomingmessage_once'),
        ),
        migrations.AddConstraint(
            model_name='incomingmessage',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['message', 'edited', 'recalled', 'joined', 'left', 'button', 'moved'])), name='incomingmessage_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='incomingmessage',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'offered', 'done', 'failed'])), name='incomingmessage_state_known'),
        ),
        migrations.AddConstraint(
            model_name='incomingmessage',
            constraint=memories.models.walls.InsideWorkspace('connection', cascade=True, name='incomingmessage_connection_in_its_workspace'),
        ),
        migrations.AddConstraint(
            model_name='incomingmessage',
            constraint=memories.models.walls.InsideWorkspace('chat', cascade=True, name='incomingmessage_chat_in_its_workspace'),
        ),
        migrations.AddConstraint(
            model_name='incomingmessage',
            constraint=memories.models.walls.WorkspacePolicy(name='incomingmessage_of_the_workspaces'),
        ),
        migrations.AddIndex(
            model_name='notice',
            index=models.Index(fields=['connection', '-at'], name='notice_by_time'),
        ),
        migrations.AddConstraint(
            model_name='notice',
            constraint=memories.models.walls.InsideWorkspace('connection', cascade=True, name='notice_connection_in_its_workspace'),
        ),
        migrations.AddConstraint(
            model_name='notice',
            constraint=memories.models.walls.WorkspacePolicy(name='notice_of_the_workspaces'),
        ),
        migrations.AddIndex(
            model_name='outgoingmessage',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['chat', 'id'], name='outgoingmessage_waiting'),
        ),
        migrations.AddIndex(
            model_name='outgoingmessage',
            index=models.Index(fields=['created_at'], name='outgoingmessage_by_time'),
        ),
        migrations.AddConstraint(
            model_name='outgoingmessage',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'offered', 'done', 'failed'])), name='outgoingmessage_state_known'),
        ),
        migrations.AddConstraint(
            model_name='outgoingmessage',
            constraint=memories.models.walls.InsideWorkspace('connection', cascade=True, name='outgoingmessage_connection_in_its_workspace'),
        ),
        migrations.AddConstraint(
            model_name='outgoingmessage',
            constraint=memories.models.walls.InsideWorkspace('chat', cascade=True, name='outgoingmessage_chat_in_its_workspace'),
        ),
        migrations.AddConstraint(
            model_name='outgoingmessage',
            constraint=memories.models.walls.WorkspacePolicy(name='outgoingmessage_of_the_workspaces'),
        ),
        _sql.run(SQL / "connections.sql"),
    ]

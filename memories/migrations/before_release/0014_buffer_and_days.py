"""The extraction buffer and tier 3, with their walls."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import memories.models.ids
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0013_plans_of_batches'),
    ]

    operations = [
        migrations.CreateModel(
            name='BufferedTurn',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('session_uid', models.UUIDField(help_text='Turns of one session are extracted together.', verbose_name='session')),
                ('conversation', models.PositiveIntegerField(default=1, verbose_name='conversation')),
                ('chat', models.CharField(blank=True, default='', help_text='Where it was said (A3).', max_length=200, verbose_name='chat')),
                ('place', models.JSONField(default=dict, help_text='The slots of where it was said: channel, chat_id, sender_id …', verbose_name='place')),
                ('messages', models.JSONField(default=list, help_text='Each with id, role, sender, content, at.', verbose_name='messages')),
                ('tokens', models.PositiveIntegerField(default=0, verbose_name='tokens')),
                ('said_at', models.DateTimeField(verbose_name='said')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('claimed', 'Being worked on'), ('parked', 'Parked')], default='waiting', max_length=10, verbose_name='state')),
                ('parcel', models.UUIDField(blank=True, null=True, verbose_name='parcel')),
                ('claimed_until', models.DateTimeField(blank=True, null=True, verbose_name='claimed until')),
                ('attempts', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('error', models.TextField(blank=True, default='', verbose_name='error')),
            ],
            options={
                'verbose_name': 'buffered turn',
                'verbose_name_plural': 'buffer',
            },
        ),
        migrations.CreateModel(
            name='DailyEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('local_date', models.DateField(verbose_name='local date')),
                ('content', models.TextField(verbose_name='content')),
                ('terms', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), default=list, editable=False, help_text='Own words, hashed.', size=None)),
                ('source', models.CharField(choices=[('conversation_capture', 'Conversation capture'), ('memory_capture', 'Memory capture'), ('tool', 'Tool'), ('extraction', 'Extraction'), ('compression', 'Compression'), ('manual', 'Manual'), ('migration', 'Migration'), ('file', 'File')], max_length=30, verbose_name='source')),
                ('chats', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, default=list, help_text='Every chat any part of it came from (A3).', size=None, verbose_name='chats')),
                ('origins', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=300), blank=True, default=list, help_text='The messages it rests on.', size=None, verbose_name='sources of origin')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('updated_at', models.DateTimeField(verbose_name='updated')),
                ('expired_at', models.DateTimeField(blank=True, null=True, verbose_name='expired')),
                ('compressed_at', models.DateTimeField(blank=True, null=True, verbose_name='made into facts')),
            ],
            options={
                'verbose_name': 'daily event',
                'verbose_name_plural': 'daily events',
            },
        ),
        migrations.AddField(
            model_name='bufferedturn',
            name='chat_scope',
            field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.scope'),
        ),
        migrations.AddField(
            model_name='bufferedturn',
            name='user_scope',
            field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.scope'),
        ),
        migrations.AddField(
            model_name='bufferedturn',
            name='workspace',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace'),
        ),
        migrations.AddField(
            model_name='dailyevent',
            name='scope',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.scope'),
        ),
        migrations.AddField(
            model_name='dailyevent',
            name='workspace',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace'),
        ),
        migrations.AddIndex(
            model_name='bufferedturn',
            index=models.Index(fields=['session_uid', 'said_at', 'id'], name='bufferedturn_of_session'),
        ),
        migrations.AddIndex(
            model_name='bufferedturn',
            index=models.Index(fields=['workspace', 'state', 'said_at'], name='bufferedturn_by_state'),
        ),
        migrations.AddIndex(
            model_name='bufferedturn',
            index=models.Index(condition=models.Q(('parcel__isnull', False)), fields=['parcel'], name='bufferedturn_of_parcel'),
        ),
        migrations.AddConstraint(
            model_name='bufferedturn',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'claimed', 'parked'])), name='bufferedturn_state_known'),
        ),
        migrations.AddConstraint(
            model_name='bufferedturn',
            constraint=models.CheckConstraint(condition=models.Q(('user_scope__isnull', False), ('chat_scope__isnull', False), _connector='OR'), name='bufferedturn_has_a_scope'),
        ),
        migrations.AddConstraint(
            model_name='bufferedturn',
            constraint=models.CheckConstraint(condition=models.Q(('state', 'waiting'), ('parcel__isnull', False), _connector='OR'), name='bufferedturn_taken_in_a_parcel'),
        ),
        migrations.AddIndex(
            model_name='dailyevent',
            index=models.Index(fields=['scope', '-local_date', '-id'], name='dailyevent_of_scope_by_date'),
        ),
        migrations.AddIndex(
            model_name='dailyevent',
            index=models.Index(fields=['workspace', '-local_date', '-id'], name='dailyevent_by_date'),
        ),
        migrations.AddIndex(
            model_name='dailyevent',
            index=models.Index(condition=models.Q(('compressed_at__isnull', True), ('expired_at__isnull', True)), fields=['workspace', 'local_date'], name='dailyevent_to_compress'),
        ),
        migrations.AddIndex(
            model_name='dailyevent',
            index=django.contrib.postgres.indexes.GinIndex(fastupdate=False, fields=['terms'], name='dailyevent_terms'),
        ),
        migrations.AddConstraint(
            model_name='dailyevent',
            constraint=models.UniqueConstraint(fields=('id', 'workspace'), name='dailyevent_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='dailyevent',
            constraint=models.CheckConstraint(condition=models.Q(('source__in', ['conversation_capture', 'memory_capture', 'tool', 'extraction', 'compression', 'manual', 'migration', 'file'])), name='dailyevent_source_known'),
        ),
        migrations.AddConstraint(
            model_name='dailyevent',
            constraint=models.CheckConstraint(condition=models.Q(('content', ''), _negated=True), name='dailyevent_content_not_empty'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='dailyevent',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."chats" IS DISTINCT FROM (NEW."chats") OR OLD."compressed_at" IS DISTINCT FROM (NEW."compressed_at") OR OLD."content" IS DISTINCT FROM (NEW."content") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."expired_at" IS DISTINCT FROM (NEW."expired_at") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."local_date" IS DISTINCT FROM (NEW."local_date") OR OLD."origins" IS DISTINCT FROM (NEW."origins") OR OLD."scope_id" IS DISTINCT FROM (NEW."scope_id") OR OLD."source" IS DISTINCT FROM (NEW."source") OR OLD."terms" IS DISTINCT FROM (NEW."terms") OR OLD."uid" IS DISTINCT FROM (NEW."uid") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='632e6645d0c410ac77989f5fd4c0720c19280885', operation='UPDATE', pgid='pgtrigger_raise_version_9b488', table='memories_dailyevent', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='dailyevent',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='c2b5080e6ae794f766a18382791e976af13c9808', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_a0673', referencing='REFERENCING NEW TABLE AS new_rows ', table='memories_dailyevent', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='dailyevent',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT jsonb_object_agg(key, value) AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='7023008e3e85df6e516886e5c5fa22c1f8dd5d15', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_7a7b7', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='memories_dailyevent', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='dailyevent',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='e93a861ddbd05020c985e303a4aec6e1b42dff30', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_31e58', referencing='REFERENCING OLD TABLE AS old_rows ', table='memories_dailyevent', when='AFTER')),
        ),
    ]

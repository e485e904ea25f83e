"""Pinned tests: questions whose answers are to stay."""

import django.contrib.postgres.fields
import django.db.models.deletion
import memories.models.ids
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

from memories.migrations._walls import row_level_security


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0023_canaries'),
    ]

    operations = [
        migrations.CreateModel(
            name='PinnedTest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('message', models.TextField(verbose_name='question')),
                ('mode', models.CharField(default='hybrid', max_length=10, verbose_name='manner')),
                ('need', models.CharField(default='auto', max_length=10, verbose_name='need')),
                ('scope_keys', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=255), size=None, verbose_name='scopes')),
                ('whom', models.JSONField(default=dict, verbose_name='as whom')),
                ('must_entries', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, size=None, verbose_name='must return')),
                ('must_not_entries', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, size=None, verbose_name='must not return')),
                ('must_words', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=300), blank=True, default=list, size=None, verbose_name='must return the words')),
                ('must_not_words', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=300), blank=True, default=list, size=None, verbose_name='must not return the words')),
                ('state', models.CharField(choices=[('new', 'Not run yet'), ('passing', 'Passing'), ('failing', 'Failing'), ('broken', 'Cannot be run')], default='new', max_length=10, verbose_name='state')),
                ('problems', models.JSONField(default=list, help_text='Of the last run.', verbose_name='problems')),
                ('run_at', models.DateTimeField(null=True, verbose_name='last run')),
                ('created_by', models.CharField(max_length=200, verbose_name='by')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'pinned test',
                'verbose_name_plural': 'pinned tests',
                'indexes': [models.Index(fields=['workspace', '-created_at', '-id'], name='pinnedtest_by_time')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['new', 'passing', 'failing', 'broken'])), name='pinnedtest_state_known'), models.CheckConstraint(condition=models.Q(('message', ''), _negated=True), name='pinnedtest_asks_something'), models.CheckConstraint(condition=models.Q(('must_entries', []), ('must_not_entries', []), ('must_not_words', []), ('must_words', []), _negated=True), name='pinnedtest_wants_something')],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='pinnedtest',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."created_by" IS DISTINCT FROM (NEW."created_by") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."message" IS DISTINCT FROM (NEW."message") OR OLD."mode" IS DISTINCT FROM (NEW."mode") OR OLD."must_entries" IS DISTINCT FROM (NEW."must_entries") OR OLD."must_not_entries" IS DISTINCT FROM (NEW."must_not_entries") OR OLD."must_not_words" IS DISTINCT FROM (NEW."must_not_words") OR OLD."must_words" IS DISTINCT FROM (NEW."must_words") OR OLD."need" IS DISTINCT FROM (NEW."need") OR OLD."scope_keys" IS DISTINCT FROM (NEW."scope_keys") OR OLD."uid" IS DISTINCT FROM (NEW."uid") OR OLD."whom" IS DISTINCT FROM (NEW."whom") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='8855cf58eeaabedef3437bffd363e62b756fb349', operation='UPDATE', pgid='pgtrigger_raise_version_761bd', table='memories_pinnedtest', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='pinnedtest',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='5c7f947c9160a1500af8ad3819027098c17dba58', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_b3cbf', referencing='REFERENCING NEW TABLE AS new_rows ', table='memories_pinnedtest', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='pinnedtest',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version', 'state', 'problems', 'run_at']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='8385440de76e7216234cd9de4306a1a2ecf41a3c', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_1859e', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='memories_pinnedtest', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='pinnedtest',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='052fee3a8727e216a195a57541d3a2a974b30820', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_88fe2', referencing='REFERENCING OLD TABLE AS old_rows ', table='memories_pinnedtest', when='AFTER')),
        ),
        row_level_security("memories_pinnedtest", "pinnedtests"),
    ]

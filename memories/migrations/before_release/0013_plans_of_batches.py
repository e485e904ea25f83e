"""Batches are planned before they are applied, and what keeps things out is part of the history."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import memories.models.ids
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0012_entries_by_time_everywhere'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='batchchange',
            name='batchchange_verb_known',
        ),
        migrations.AddField(
            model_name='suppression',
            name='version',
            field=models.PositiveIntegerField(default=1, editable=False, verbose_name='version'),
        ),
        migrations.AddField(
            model_name='batch',
            name='decided_by',
            field=models.CharField(blank=True, default='', help_text='Who approved or refused it.', max_length=200, verbose_name='decided by'),
        ),
        # nothing has been held so far: text becomes a list of reasons
        migrations.RemoveField(model_name='batch', name='held_because'),
        migrations.AddField(
            model_name='batch',
            name='held_because',
            field=models.JSONField(blank=True, default=list, help_text='Reasons of the fuse, each a code with its figures.', verbose_name='held because'),
        ),
        migrations.AlterField(
            model_name='batchchange',
            name='entry',
            field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.entry'),
        ),
        migrations.AlterField(
            model_name='batchchange',
            name='verb',
            field=models.CharField(choices=[('create', 'Create'), ('change', 'Change'), ('merge', 'Merge'), ('expire', 'Expire'), ('archive', 'Archive'), ('restore', 'Restore'), ('supersede', 'Supersede'), ('undo', 'Put back')], max_length=10, verbose_name='verb'),
        ),
        migrations.AddIndex(
            model_name='batchchange',
            index=models.Index(condition=models.Q(('state', 'planned')), fields=['batch', 'position'], name='batchchange_to_do'),
        ),
        migrations.AddIndex(
            model_name='batchchange',
            index=models.Index(fields=['entry'], name='batchchange_of_entry'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='suppression',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."actor" IS DISTINCT FROM (NEW."actor") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."entry_id" IS DISTINCT FROM (NEW."entry_id") OR OLD."fingerprint" IS DISTINCT FROM (NEW."fingerprint") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."origins" IS DISTINCT FROM (NEW."origins") OR OLD."scope_id" IS DISTINCT FROM (NEW."scope_id") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='deedb8facef89b3dda1ccd2fca7986dbc767a1cc', operation='UPDATE', pgid='pgtrigger_raise_version_ca8a2', table='memories_suppression', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='suppression',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='cd3ec36abd5b9cfdf5f57be646d32b7faac1e02a', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_6873f', referencing='REFERENCING NEW TABLE AS new_rows ', table='memories_suppression', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='suppression',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT jsonb_object_agg(key, value) AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='e2fbf1e95fc27f334e9966caa4fb1c15a962f277', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_213b5', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='memories_suppression', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='suppression',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='b18e84d54ca6831df751d67e878c4090e785d217', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_7213d', referencing='REFERENCING OLD TABLE AS old_rows ', table='memories_suppression', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='batchchange',
            constraint=models.CheckConstraint(condition=models.Q(('verb__in', ['create', 'change', 'merge', 'expire', 'archive', 'restore', 'supersede', 'undo'])), name='batchchange_verb_known'),
        ),
    ]

"""People, their identities and consents, with their walls."""

import django.db.models.deletion
import memories.models.ids
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

from memories.migrations._walls import inside_workspace, row_level_security


class Migration(migrations.Migration):

    dependencies = [
        ('channels_app', '0003_discarded_calls'),
        ('memories', '0017_second_factor'),
    ]

    operations = [
        migrations.CreateModel(
            name='Person',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('key', models.UUIDField(default=memories.models.ids.uuid7, editable=False, verbose_name='key')),
                ('name', models.CharField(blank=True, default='', max_length=200, verbose_name='name')),
                ('note', models.TextField(blank=True, default='', max_length=2000, verbose_name='note')),
                ('united_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='linked')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='people', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'person',
                'verbose_name_plural': 'people',
            },
        ),
        migrations.CreateModel(
            name='Identity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('platform', models.CharField(max_length=40, verbose_name='platform')),
                ('peer', models.CharField(max_length=200, verbose_name='peer')),
                ('unused_key', models.CharField(blank=True, default='', editable=False, max_length=255)),
                ('carried_version', models.PositiveBigIntegerField(editable=False, null=True)),
                ('since', models.DateTimeField(editable=False, help_text="Of that memory's end.", null=True)),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
                ('person', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='identities', to='channels_app.person')),
            ],
            options={
                'verbose_name': 'identity',
                'verbose_name_plural': 'identities',
            },
        ),
        migrations.CreateModel(
            name='Consent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('subject', models.CharField(choices=[('memory', 'Being remembered'), ('model', 'Their words going to a model'), ('linking', 'Their identities being linked'), ('sharing', 'Being heard of in groups')], max_length=10, verbose_name='what for')),
                ('is_given', models.BooleanField(verbose_name='given')),
                ('note', models.CharField(blank=True, default='', max_length=500, verbose_name='note')),
                ('actor', models.CharField(max_length=200, verbose_name='by')),
                ('at', models.DateTimeField(verbose_name='at')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
                ('person', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='consents', to='channels_app.person')),
            ],
            options={
                'verbose_name': 'consent',
                'verbose_name_plural': 'consents',
            },
        ),
        migrations.AddConstraint(
            model_name='person',
            constraint=models.UniqueConstraint(fields=('workspace', 'key'), name='person_key_once_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='person',
            constraint=models.UniqueConstraint(fields=('id', 'workspace'), name='person_in_workspace'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='person',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."key" IS DISTINCT FROM (NEW."key") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."note" IS DISTINCT FROM (NEW."note") OR OLD."united_at" IS DISTINCT FROM (NEW."united_at") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='4cc3bf7205612c9426d1227eb1ab99f1f5aca804', operation='UPDATE', pgid='pgtrigger_raise_version_2de9c', table='channels_app_person', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='person',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='cb190f4d9961cc061176afda885b195396b1db37', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_af397', referencing='REFERENCING NEW TABLE AS new_rows ', table='channels_app_person', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='person',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version', 'created_at']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='057e6035abbcf3e8759d1932fb141c27894ab0e8', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_dd71d', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='channels_app_person', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='person',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='a185070c3bfc42e2a249e0987ce12aac45f21b1a', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_a53eb', referencing='REFERENCING OLD TABLE AS old_rows ', table='channels_app_person', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='identity',
            constraint=models.UniqueConstraint(fields=('workspace', 'platform', 'peer'), name='identity_once_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='identity',
            constraint=models.UniqueConstraint(fields=('id', 'workspace'), name='identity_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='identity',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('platform', ''), _negated=True), models.Q(('peer', ''), _negated=True)), name='identity_names_a_peer'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='identity',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."peer" IS DISTINCT FROM (NEW."peer") OR OLD."person_id" IS DISTINCT FROM (NEW."person_id") OR OLD."platform" IS DISTINCT FROM (NEW."platform") OR OLD."since" IS DISTINCT FROM (NEW."since") OR OLD."unused_key" IS DISTINCT FROM (NEW."unused_key") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='c860f179ffdd81f6951e49580934827f7276e364', operation='UPDATE', pgid='pgtrigger_raise_version_61e92', table='channels_app_identity', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='identity',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='751b94ebe1ce0a7cbf2a85c71fbb2fe7902fa221', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_bfa55', referencing='REFERENCING NEW TABLE AS new_rows ', table='channels_app_identity', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='identity',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version', 'carried_version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='fcfc329ce34044f25bf5438976ca779f4a0aaf6c', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_7d11f', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='channels_app_identity', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='identity',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='500830d2baf5635d8d3725bab354c55996edc007', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_a3b68', referencing='REFERENCING OLD TABLE AS old_rows ', table='channels_app_identity', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='consent',
            constraint=models.CheckConstraint(condition=models.Q(('subject__in', ['memory', 'model', 'linking', 'sharing'])), name='consent_subject_known'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='consent',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."actor" IS DISTINCT FROM (NEW."actor") OR OLD."at" IS DISTINCT FROM (NEW."at") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."is_given" IS DISTINCT FROM (NEW."is_given") OR OLD."note" IS DISTINCT FROM (NEW."note") OR OLD."person_id" IS DISTINCT FROM (NEW."person_id") OR OLD."subject" IS DISTINCT FROM (NEW."subject") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='5528d637ce6db6d0e2fc367aed1663a1fcdf94c2', operation='UPDATE', pgid='pgtrigger_raise_version_b80ad', table='channels_app_consent', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='consent',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='7778c5d2162090bd74c6f3e72ccc9ebd2bbeec0f', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_a5968', referencing='REFERENCING NEW TABLE AS new_rows ', table='channels_app_consent', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='consent',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='4eebdef8dd76733e2bd301c994ebc7c9d45b7081', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_d8c2b', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='channels_app_consent', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='consent',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='464334fb3dfae6b3b3c4c4d3df99cf16c57186a0', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_7b841', referencing='REFERENCING OLD TABLE AS old_rows ', table='channels_app_consent', when='AFTER')),
        ),
        inside_workspace("identity_person", "channels_app_identity", "person_id", "channels_app_person", cascade=True),
        inside_workspace("consent_person", "channels_app_consent", "person_id", "channels_app_person", cascade=True),
        row_level_security("channels_app_person", "person"),
        row_level_security("channels_app_identity", "identity"),
        row_level_security("channels_app_consent", "consent"),
    ]

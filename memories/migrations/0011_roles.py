"""What each member may do: superusers who were members own their workspaces, the others operate them."""

import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models

#: Nobody gets more than they had. A workspace without a superuser among its members has an owner all the same:
#: superusers own every workspace.
ROLES = """
UPDATE memories_member m SET role = CASE WHEN u.is_superuser THEN 'owner' ELSE 'operator' END
FROM auth_user u WHERE u.id = m.user_id
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0010_erasure'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='member',
            name='role',
            field=models.CharField(choices=[('viewer', 'Viewer'), ('auditor', 'Auditor'), ('curator', 'Curator'), ('operator', 'Operator'), ('owner', 'Owner')], default='viewer', max_length=10, verbose_name='role'),
        ),
        migrations.AddField(
            model_name='member',
            name='version',
            field=models.PositiveIntegerField(default=1, editable=False, verbose_name='version'),
        ),
        migrations.AlterField(
            model_name='member',
            name='created_at',
            field=models.DateTimeField(auto_now_add=True, verbose_name='since'),
        ),
        migrations.AlterField(
            model_name='member',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL, verbose_name='person'),
        ),
        migrations.AlterField(
            model_name='member',
            name='workspace',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='memories.workspace', verbose_name='workspace'),
        ),
        migrations.RunSQL(ROLES, migrations.RunSQL.noop),
        pgtrigger.migrations.AddTrigger(
            model_name='member',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."role" IS DISTINCT FROM (NEW."role") OR OLD."user_id" IS DISTINCT FROM (NEW."user_id") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='26dffa1a599cadbd2523e2d1e9efc806f56ef4c7', operation='UPDATE', pgid='pgtrigger_raise_version_75b65', table='memories_member', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='member',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='936bfe004a96f09eb3a42d2a0cdeaf618c7b51f0', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_d93a2', referencing='REFERENCING NEW TABLE AS new_rows ', table='memories_member', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='member',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='6124d2b2c595efc76eaec5be861de2afa74b40b8', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_e50bc', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='memories_member', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='member',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='d389775c7a18771146275dd57f1eae13831ac85c', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_30f07', referencing='REFERENCING OLD TABLE AS old_rows ', table='memories_member', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='member',
            trigger=pgtrigger.compiler.Trigger(name='owner_stays', sql=pgtrigger.compiler.UpsertTriggerSql(constraint='CONSTRAINT', func="\n    IF OLD.role <> 'owner' OR (TG_OP = 'UPDATE' AND NEW.role = 'owner' AND NEW.workspace_id = OLD.workspace_id) THEN\n        RETURN NULL;\n    END IF;\n    PERFORM 1 FROM memories_workspace WHERE id = OLD.workspace_id FOR UPDATE;  -- two owners at once wait here\n    IF FOUND AND NOT EXISTS (\n        SELECT 1 FROM memories_member WHERE workspace_id = OLD.workspace_id AND role = 'owner'\n    ) THEN\n        RAISE EXCEPTION USING ERRCODE = 'check_violation', CONSTRAINT = 'member_owner_stays',\n            MESSAGE = 'the last owner of a workspace stays';\n    END IF;\n    RETURN NULL;\n", hash='806318e1aa8f7419c82779e7fb359fdb0c836bbb', operation='UPDATE OR DELETE', pgid='pgtrigger_owner_stays_02109', table='memories_member', timing='DEFERRABLE INITIALLY DEFERRED', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='member',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['viewer', 'auditor', 'curator', 'operator', 'owner'])), name='member_role_known'),
        ),
    ]

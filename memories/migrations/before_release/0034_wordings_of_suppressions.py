"""Suppressions know every wording of what was taken out, so that the same turn sent again is known for it (A15)."""

import django.contrib.postgres.fields
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0033_versions_served'),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name='suppression',
            name='raise_version',
        ),
        migrations.AddField(
            model_name='suppression',
            name='wordings',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), default=list, size=None),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='suppression',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."actor" IS DISTINCT FROM (NEW."actor") OR OLD."conversation" IS DISTINCT FROM (NEW."conversation") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."entry_id" IS DISTINCT FROM (NEW."entry_id") OR OLD."fingerprint" IS DISTINCT FROM (NEW."fingerprint") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."origins" IS DISTINCT FROM (NEW."origins") OR OLD."scope_id" IS DISTINCT FROM (NEW."scope_id") OR OLD."wordings" IS DISTINCT FROM (NEW."wordings") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='0fe03373717784d98286e40ccb34f757b925dab6', operation='UPDATE', pgid='pgtrigger_raise_version_ca8a2', table='memories_suppression', when='BEFORE')),
        ),
    ]

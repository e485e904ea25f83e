"""A channel may say how long its histories are."""

import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('channels_app', '0002_row_level_walls'),
        ('memories', '0019_changes_of_a_batch'),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name='channel',
            name='raise_version',
        ),
        migrations.AddField(
            model_name='channel',
            name='max_tokens',
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name='tokens of a history'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='channel',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."account" IS DISTINCT FROM (NEW."account") OR OLD."capture_group_memory" IS DISTINCT FROM (NEW."capture_group_memory") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."dm_scope" IS DISTINCT FROM (NEW."dm_scope") OR OLD."group_prefix" IS DISTINCT FROM (NEW."group_prefix") OR OLD."group_sessions" IS DISTINCT FROM (NEW."group_sessions") OR OLD."group_user_recall" IS DISTINCT FROM (NEW."group_user_recall") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."label" IS DISTINCT FROM (NEW."label") OR OLD."max_tokens" IS DISTINCT FROM (NEW."max_tokens") OR OLD."need" IS DISTINCT FROM (NEW."need") OR OLD."platform" IS DISTINCT FROM (NEW."platform") OR OLD."session_mode" IS DISTINCT FROM (NEW."session_mode") OR OLD."session_prefix" IS DISTINCT FROM (NEW."session_prefix") OR OLD."uid" IS DISTINCT FROM (NEW."uid") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='cf1b065e7cb5cc54577121b9170950d19aad08a8', operation='UPDATE', pgid='pgtrigger_raise_version_c009b', table='channels_app_channel', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='channel',
            constraint=models.CheckConstraint(condition=models.Q(('max_tokens__isnull', True), ('max_tokens__gte', 100), _connector='OR'), name='channel_history_has_room'),
        ),
    ]

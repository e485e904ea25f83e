"""What answers and stores the messages of a channel; calls that were replayed; recalls compared with the files."""

import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

from memories.migrations._walls import row_level_security


class Migration(migrations.Migration):

    dependencies = [
        ('channels_app', '0001_initial'),
        ('memories', '0006_files'),
    ]

    operations = [
        migrations.CreateModel(
            name='PathComparison',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('platform', models.CharField(max_length=40, verbose_name='platform')),
                ('account', models.CharField(blank=True, default='', max_length=200, verbose_name='account')),
                ('trace', models.UUIDField(blank=True, null=True, verbose_name='recall')),
                ('message', models.TextField(blank=True, default='', verbose_name='message')),
                ('both', models.PositiveSmallIntegerField(default=0, verbose_name='found by both')),
                ('only_database', models.JSONField(default=list, verbose_name='found only by the database')),
                ('only_files', models.JSONField(default=list, verbose_name='found only in the files')),
                ('created_at', models.DateTimeField(verbose_name='at')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'comparison',
                'verbose_name_plural': 'comparisons',
            "indexes": [models.Index(fields=['workspace', '-created_at', '-id'], name='pathcomparison_by_time')], },
        ),
        migrations.CreateModel(
            name='ReplayedRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(editable=False, unique=True, verbose_name='id')),
                ('platform', models.CharField(max_length=40, verbose_name='platform')),
                ('account', models.CharField(blank=True, default='', max_length=200, verbose_name='account')),
                ('kind', models.CharField(max_length=40, verbose_name='call')),
                ('outcome', models.CharField(choices=[('applied', 'Applied'), ('known', 'Was stored already'), ('parked', 'Could not be applied')], max_length=10, verbose_name='outcome')),
                ('reason', models.TextField(blank=True, default='', verbose_name='reason')),
                ('body', models.JSONField(blank=True, help_text='Of what could not be applied.', null=True, verbose_name='body')),
                ('accepted_at', models.DateTimeField(verbose_name='accepted')),
                ('replayed_at', models.DateTimeField(verbose_name='replayed')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'replayed call',
                'verbose_name_plural': 'replayed calls',
            "indexes": [models.Index(fields=['workspace', '-accepted_at', '-id'], name='replayedrecord_by_time'), models.Index(condition=models.Q(('outcome', 'parked')), fields=['workspace', 'accepted_at'], name='replayedrecord_parked')], "constraints": [models.CheckConstraint(condition=models.Q(('outcome__in', ['applied', 'known', 'parked'])), name='replayedrecord_outcome_known')], },
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='channel',
            name='raise_version',
        ),
        migrations.AddField(
            model_name='channel',
            name='path_mode',
            field=models.CharField(choices=[('hooks_only', 'The database'), ('legacy_only', 'The files'), ('dual_write', 'Both store, the database answers')], default='hooks_only', max_length=12, verbose_name='answered and stored by'),
        ),
        migrations.AddField(
            model_name='channel',
            name='transcripts',
            field=models.BooleanField(blank=True, null=True, verbose_name='transcripts in files'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='channel',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."account" IS DISTINCT FROM (NEW."account") OR OLD."capture_group_memory" IS DISTINCT FROM (NEW."capture_group_memory") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."dm_scope" IS DISTINCT FROM (NEW."dm_scope") OR OLD."group_prefix" IS DISTINCT FROM (NEW."group_prefix") OR OLD."group_sessions" IS DISTINCT FROM (NEW."group_sessions") OR OLD."group_user_recall" IS DISTINCT FROM (NEW."group_user_recall") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."label" IS DISTINCT FROM (NEW."label") OR OLD."max_tokens" IS DISTINCT FROM (NEW."max_tokens") OR OLD."need" IS DISTINCT FROM (NEW."need") OR OLD."path_mode" IS DISTINCT FROM (NEW."path_mode") OR OLD."platform" IS DISTINCT FROM (NEW."platform") OR OLD."session_mode" IS DISTINCT FROM (NEW."session_mode") OR OLD."session_prefix" IS DISTINCT FROM (NEW."session_prefix") OR OLD."transcripts" IS DISTINCT FROM (NEW."transcripts") OR OLD."uid" IS DISTINCT FROM (NEW."uid") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='f9af007632ffcfb739c3213ffc9fb131ef266386', operation='UPDATE', pgid='pgtrigger_raise_version_c009b', table='channels_app_channel', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='channel',
            constraint=models.CheckConstraint(condition=models.Q(('path_mode__in', ['hooks_only', 'legacy_only', 'dual_write'])), name='channel_path_mode_known'),
        ),
        row_level_security("channels_app_replayedrecord", "replayedrecord"),
        row_level_security("channels_app_pathcomparison", "pathcomparison"),
    ]

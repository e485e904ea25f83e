"""Turns wait in parcels: claim, attempts and error stand once, and the next one due is found by an index."""

import django.db.models.deletion
from django.db import migrations, models

import memories.models.ids

GONE = ["bufferedturn_state_known", "bufferedturn_taken_in_a_parcel"]
GONE_INDEXES = ["bufferedturn_of_session", "bufferedturn_by_state", "bufferedturn_of_parcel"]
GONE_FIELDS = ["session_uid", "conversation", "state", "parcel", "claimed_until", "attempts", "error"]

WALL = """
ALTER TABLE memories_parcel ENABLE ROW LEVEL SECURITY;
CREATE POLICY parcel_of_the_workspaces ON memories_parcel
    USING (workspace_id = ANY ((SELECT memplatform_workspaces())::bigint[]));
"""
UNWALL = """
DROP POLICY parcel_of_the_workspaces ON memories_parcel;
ALTER TABLE memories_parcel DISABLE ROW LEVEL SECURITY;
"""
# A turn never outlives its parcel: whoever removes the one has removed the other.
KEY = """
ALTER TABLE memories_bufferedturn ADD CONSTRAINT bufferedturn_parcel_in_its_workspace
    FOREIGN KEY (parcel_id, workspace_id) REFERENCES memories_parcel (id, workspace_id) ON DELETE CASCADE
"""
UNKEY = "ALTER TABLE memories_bufferedturn DROP CONSTRAINT bufferedturn_parcel_in_its_workspace"


class Migration(migrations.Migration):
    dependencies = [("memories", "0017_length_of_the_index")]

    operations = [
        # nothing was ever put there before this version
        migrations.RunSQL("DELETE FROM memories_bufferedturn", migrations.RunSQL.noop),
        *(migrations.RemoveConstraint("bufferedturn", name) for name in GONE),
        *(migrations.RemoveIndex("bufferedturn", name) for name in GONE_INDEXES),
        *(migrations.RemoveField("bufferedturn", name) for name in GONE_FIELDS),
        migrations.AlterModelOptions(
            name='bufferedturn',
            options={'verbose_name': 'buffered turn', 'verbose_name_plural': 'buffered turns'},
        ),
        migrations.AddField(
            model_name='bufferedturn',
            name='is_group',
            field=models.BooleanField(default=False, verbose_name='group'),
        ),
        migrations.CreateModel(
            name='Parcel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('session_uid', models.UUIDField(help_text='Turns of one session are extracted together.', verbose_name='session')),
                ('conversation', models.PositiveIntegerField(default=1, verbose_name='conversation')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('claimed', 'Being worked on'), ('parked', 'Parked')], default='waiting', max_length=10, verbose_name='state')),
                ('sealed', models.BooleanField(default=False, help_text='It takes no more turns.', verbose_name='sealed')),
                ('turn_count', models.PositiveIntegerField(default=0, verbose_name='turns')),
                ('tokens', models.PositiveIntegerField(default=0, verbose_name='tokens')),
                ('began_at', models.DateTimeField(verbose_name='oldest turn')),
                ('last_at', models.DateTimeField(verbose_name='newest turn')),
                ('due_at', models.DateTimeField(help_text='From when on it may be taken.', verbose_name='due')),
                ('claim', models.UUIDField(blank=True, null=True, verbose_name='claim')),
                ('attempts', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('error', models.TextField(blank=True, default='', verbose_name='error')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'parcel',
                'verbose_name_plural': 'buffer',
            },
        ),
        migrations.AddField(
            model_name='bufferedturn',
            name='parcel',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='turns', to='memories.parcel'),
        ),
        migrations.AddIndex(
            model_name='bufferedturn',
            index=models.Index(fields=['parcel', 'said_at', 'id'], name='bufferedturn_of_parcel'),
        ),
        migrations.AddIndex(
            model_name='parcel',
            index=models.Index(condition=models.Q(('state', 'parked'), _negated=True), fields=['due_at', 'id'], name='parcel_by_due'),
        ),
        migrations.AddIndex(
            model_name='parcel',
            index=models.Index(fields=['session_uid', 'conversation'], name='parcel_of_conversation'),
        ),
        migrations.AddIndex(
            model_name='parcel',
            index=models.Index(fields=['workspace', '-last_at', '-id'], name='parcel_by_time'),
        ),
        migrations.AddIndex(
            model_name='parcel',
            index=models.Index(fields=['state', 'began_at'], name='parcel_by_state'),
        ),
        migrations.AddConstraint(
            model_name='parcel',
            constraint=models.UniqueConstraint(fields=('id', 'workspace'), name='parcel_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='parcel',
            constraint=models.UniqueConstraint(condition=models.Q(('sealed', False), ('state', 'waiting')), fields=('session_uid', 'conversation'), name='parcel_gathers_once'),
        ),
        migrations.AddConstraint(
            model_name='parcel',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'claimed', 'parked'])), name='parcel_state_known'),
        ),
        migrations.AddConstraint(
            model_name='parcel',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'claimed'), _negated=True), ('claim__isnull', False), _connector='OR'), name='parcel_claimed_by_somebody'),
        ),
        migrations.AddConstraint(
            model_name='parcel',
            constraint=models.CheckConstraint(condition=models.Q(('state', 'waiting'), ('sealed', True), _connector='OR'), name='parcel_sealed_when_taken'),
        ),
        migrations.RunSQL(KEY, UNKEY),
        migrations.RunSQL(WALL, UNWALL),
    ]

"""The tables that only operators look at."""

import django.contrib.postgres.fields
import django.db.models.deletion
import memories.models.walls
import memplatform.operations.models
import pgvector.django.vector
from django.conf import settings
from django.db import migrations, models

from memories.migrations import _sql


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('memories', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='RolledHour',
            fields=[
                ('hour', models.DateTimeField(primary_key=True, serialize=False)),
                ('taken_at', models.DateTimeField(verbose_name='counted')),
            ],
            options={
                'verbose_name': 'counted hour',
                'verbose_name_plural': 'counted hours',
            },
        ),
        migrations.CreateModel(
            name='Heartbeat',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('host', models.CharField(default=memplatform.operations.models.this_host, max_length=100, verbose_name='host')),
                ('name', models.CharField(max_length=40, verbose_name='process')),
                ('pid', models.PositiveIntegerField(verbose_name='process id')),
                ('started_at', models.DateTimeField(verbose_name='started')),
                ('beat_at', models.DateTimeField(verbose_name='last sign of life')),
            ],
            options={
                'verbose_name': 'heartbeat',
                'verbose_name_plural': 'heartbeats',
                'constraints': [
                    models.UniqueConstraint(fields=('host', 'name', 'pid'), name='heartbeat_once_a_process'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Host',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, verbose_name='host')),
                ('uid', models.UUIDField(help_text='Of its data folder.')),
                ('parts', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), size=None, verbose_name='parts')),
                ('version', models.CharField(max_length=40, verbose_name='version')),
                ('pid', models.PositiveIntegerField(verbose_name='process id')),
                ('folder', models.UUIDField(help_text='Id of the folder of memory in markdown it opens; empty: none.', null=True)),
                ('folder_path', models.CharField(blank=True, default='', max_length=1000, verbose_name='folder of memory in markdown')),
                ('signing_keys', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=16), help_text='Fingerprints of SECRET_KEY and its fallbacks; it signs by the first.', size=None)),
                ('sealing_keys', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=16), help_text='Fingerprints of the keys of secrets; it encrypts by the first.', size=None)),
                ('started_at', models.DateTimeField(verbose_name='started')),
                ('seen_at', models.DateTimeField(verbose_name='last seen')),
                ('stopped_at', models.DateTimeField(blank=True, null=True, verbose_name='stopped')),
            ],
            options={
                'verbose_name': 'host',
                'verbose_name_plural': 'hosts',
                'constraints': [
                    models.UniqueConstraint(fields=('name',), name='host_name_once'),
                    models.CheckConstraint(condition=models.Q(('parts', []), _negated=True), name='host_runs_a_part'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Incident',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.CharField(max_length=40, verbose_name='part')),
                ('kind', models.CharField(choices=[('stopped', 'ended without being stopped'), ('silent', 'gave no sign of life'), ('away', 'did not answer'), ('late', 'was behind its time'), ('degraded', 'was missing from answers')], max_length=10, verbose_name='what happened')),
                ('began_at', models.DateTimeField(verbose_name='from')),
                ('seen_at', models.DateTimeField(help_text='While it lasts: when that was last found.', verbose_name='last seen')),
                ('ended_at', models.DateTimeField(blank=True, null=True, verbose_name='to')),
            ],
            options={
                'verbose_name': 'incident',
                'verbose_name_plural': 'incidents',
                'indexes': [
                    models.Index(fields=['-began_at'], name='incident_by_time'),
                ],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('part', 'kind'), name='incident_open_once'),
                    models.CheckConstraint(condition=models.Q(('kind__in', ['stopped', 'silent', 'away', 'late', 'degraded'])), name='incident_kind_known'),
                    models.CheckConstraint(condition=models.Q(('ended_at__isnull', True), ('ended_at__gte', models.F('began_at')), _connector='OR'), name='incident_ends_after_it_began'),
                ],
            },
        ),
        migrations.CreateModel(
            name='MostRecalled',
            fields=[
                ('workspace', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='memories.workspace')),
                ('entries', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, size=None)),
                ('at', models.DateTimeField(verbose_name='at')),
            ],
            options={
                'verbose_name': 'most recalled',
                'verbose_name_plural': 'most recalled',
                'constraints': [
                    memories.models.walls.WorkspacePolicy(name='mostrecalled_of_the_workspaces'),
                ],
            },
        ),
        migrations.CreateModel(
            name='EntryStock',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memories.workspace')),
                ('channel', models.CharField(blank=True, default='', max_length=200, verbose_name='channel')),
                ('at', models.DateTimeField(verbose_name='at')),
                ('type', models.CharField(max_length=20, verbose_name='type')),
                ('state', models.CharField(max_length=20, verbose_name='state')),
                ('entries', models.PositiveIntegerField(default=0)),
                ('never_recalled', models.PositiveIntegerField(default=0)),
                ('ending', models.PositiveIntegerField(default=0, help_text='Whose time is over within a week.')),
            ],
            options={
                'verbose_name': 'stock of entries',
                'verbose_name_plural': 'stocks of entries',
                'constraints': [
                    models.UniqueConstraint(fields=('at', 'workspace', 'channel', 'type', 'state'), name='entrystock_once'),
                    models.CheckConstraint(condition=models.Q(('never_recalled__lte', models.F('entries'))), name='entrystock_adds_up'),
                    memories.models.walls.WorkspacePolicy(name='entrystock_of_the_workspaces'),
                ],
            },
        ),
        migrations.CreateModel(
            name='HourlyCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memories.workspace')),
                ('channel', models.CharField(blank=True, default='', max_length=200, verbose_name='channel')),
                ('hour', models.DateTimeField(verbose_name='hour')),
                ('found', models.PositiveIntegerField(default=0)),
                ('weak', models.PositiveIntegerField(default=0)),
                ('none', models.PositiveIntegerField(default=0)),
                ('unneeded', models.PositiveIntegerField(default=0, help_text='Recalls of messages that needed no memory.')),
                ('degraded', models.PositiveIntegerField(default=0)),
                ('served', models.PositiveBigIntegerField(default=0, help_text='Entries.')),
                ('reported', models.PositiveBigIntegerField(default=0, help_text='Entries served whose answer is known.')),
                ('used', models.PositiveBigIntegerField(default=0, help_text='Entries that answers rested on.')),
                ('tokens', models.PositiveBigIntegerField(default=0, help_text='Of the contexts that were handed out.')),
                ('created', models.PositiveIntegerField(default=0)),
                ('derived', models.PositiveIntegerField(default=0, help_text='Created by a batch: facts, notes, imports.')),
                ('merged', models.PositiveIntegerField(default=0)),
                ('repeated', models.PositiveIntegerField(default=0, help_text='Skipped: it was known already.')),
                ('expired', models.PositiveIntegerField(default=0)),
            ],
            options={
                'verbose_name': 'counts of an hour',
                'verbose_name_plural': 'counts by hour',
                'constraints': [
                    models.UniqueConstraint(fields=('hour', 'workspace', 'channel'), name='hourlycount_once'),
                    memories.models.walls.WorkspacePolicy(name='hourlycount_of_the_workspaces'),
                ],
            },
        ),
        migrations.CreateModel(
            name='HourlyTime',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memories.workspace')),
                ('channel', models.CharField(blank=True, default='', max_length=200, verbose_name='channel')),
                ('hour', models.DateTimeField(verbose_name='hour')),
                ('step', models.CharField(max_length=40, verbose_name='step')),
                ('counts', pgvector.django.vector.VectorField(dimensions=64)),
            ],
            options={
                'verbose_name': 'times of an hour',
                'verbose_name_plural': 'times by hour',
                'constraints': [
                    models.UniqueConstraint(fields=('hour', 'workspace', 'channel', 'step'), name='hourlytime_once'),
                    memories.models.walls.WorkspacePolicy(name='hourlytime_of_the_workspaces'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Snooze',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('key', models.CharField(max_length=200)),
                ('until', models.DateTimeField(help_text='Empty: until the mark changes.', null=True)),
                ('mark', models.CharField(blank=True, default='', max_length=100)),
            ],
            options={
                'verbose_name': 'snooze',
                'verbose_name_plural': 'snoozes',
                'constraints': [
                    models.UniqueConstraint(fields=('user', 'key'), name='snooze_once_a_line'),
                    models.CheckConstraint(condition=models.Q(('until__isnull', False), models.Q(('mark', ''), _negated=True), _connector='OR'), name='snooze_ends'),
                ],
            },
        ),
    ]
    operations = _sql.new_tables(operations)

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0003_walls_between_workspaces'),
    ]

    operations = [
        migrations.AddField(
            model_name='receipt',
            name='used',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), help_text='Entries the answer rested on; empty until told.', null=True, size=None, verbose_name='used'),
        ),
        migrations.CreateModel(
            name='IdempotencyKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=200)),
                ('request_hash', models.CharField(help_text='Of method, path and body.', max_length=64)),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('response', models.JSONField(null=True)),
                ('created_at', models.DateTimeField()),
                ('bot', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.bot')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'idempotency key',
                'verbose_name_plural': 'idempotency keys',
                'indexes': [models.Index(fields=['created_at'], name='idempotencykey_by_age')],
                'constraints': [models.UniqueConstraint(fields=('bot', 'key'), name='idempotencykey_once_a_bot')],
            },
        ),
        migrations.CreateModel(
            name='JobRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('job', models.CharField(max_length=60, verbose_name='job')),
                ('local_date', models.DateField(verbose_name='local date')),
                ('state', models.CharField(choices=[('running', 'Running'), ('done', 'Done'), ('failed', 'Failed')], default='running', max_length=10, verbose_name='state')),
                ('attempts', models.PositiveSmallIntegerField(default=1, verbose_name='attempts')),
                ('started_at', models.DateTimeField(verbose_name='started')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished')),
                ('counts', models.JSONField(blank=True, default=dict, verbose_name='counts')),
                ('error', models.TextField(blank=True, default='', verbose_name='error')),
                ('workspace', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='job_runs', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'job run',
                'verbose_name_plural': 'job runs',
                'indexes': [models.Index(fields=['-started_at'], name='jobrun_by_time')],
                'constraints': [models.UniqueConstraint(fields=('job', 'workspace', 'local_date'), name='jobrun_once_a_local_date', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('state__in', ['running', 'done', 'failed'])), name='jobrun_state_known')],
            },
        ),
        migrations.CreateModel(
            name='KeyUsage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('minute', models.DateTimeField()),
                ('calls', models.PositiveIntegerField(default=0)),
                ('key', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.botkey')),
            ],
            options={
                'verbose_name': 'key usage',
                'verbose_name_plural': 'key usage',
                'constraints': [models.UniqueConstraint(fields=('key', 'minute'), name='keyusage_once_a_minute')],
            },
        ),
        migrations.CreateModel(
            name='Secret',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('ciphertext', models.BinaryField()),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated')),
                ('workspace', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='secrets', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'secret',
                'verbose_name_plural': 'secrets',
                'constraints': [models.UniqueConstraint(fields=('workspace', 'name'), name='secret_name_once', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='secret_has_a_name')],
            },
        ),
        migrations.CreateModel(
            name='Suppression',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('fingerprint', models.CharField(max_length=32)),
                ('origins', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=300), default=list, size=None)),
                ('actor', models.CharField(max_length=200, verbose_name='by')),
                ('created_at', models.DateTimeField(verbose_name='at')),
                ('entry', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.entry')),
                ('scope', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.scope')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'suppression',
                'verbose_name_plural': 'suppressions',
                'indexes': [models.Index(fields=['scope', 'fingerprint'], name='suppression_by_words')],
                'constraints': [models.UniqueConstraint(fields=('scope', 'entry'), name='suppression_once_an_entry')],
            },
        ),
    ]

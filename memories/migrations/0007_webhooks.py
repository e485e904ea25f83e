"""Webhooks, what they are told of, and the triggers that note it."""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
import uuid
from django.db import migrations, models

from memories.migrations._walls import inside_workspace, row_level_security


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0006_files'),
    ]

    operations = [
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('url', models.CharField(help_text='https://…', max_length=500, validators=[django.core.validators.URLValidator(schemes=['https', 'http'])], verbose_name='address')),
                ('events', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('memory.created', 'A memory was created'), ('memory.updated', 'A memory was changed'), ('memory.expired', 'A memory expired, or was forgotten'), ('review.due', 'A memory is due for review'), ('batch.held', 'A batch waits for a person'), ('job.failed', 'A job failed'), ('degraded', 'A part of the platform is missing or late, or is back'), ('test', 'Test')], max_length=20), size=None, verbose_name='events')),
                ('with_content', models.BooleanField(default=False, help_text='Of memories that are in use when it is sent, except credentials; else only their ids.', verbose_name='with the words')),
                ('is_enabled', models.BooleanField(default=True, verbose_name='enabled')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('retry_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='at rest until')),
                ('failures', models.PositiveIntegerField(default=0, editable=False, verbose_name='failures in a row')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'webhook',
                'verbose_name_plural': 'webhooks',
            "constraints": [models.UniqueConstraint(fields=('id', 'workspace'), name='webhook_in_workspace'), models.CheckConstraint(condition=models.Q(('url', ''), _negated=True), name='webhook_has_an_address'), models.CheckConstraint(condition=models.Q(('events__contained_by', ['memory.created', 'memory.updated', 'memory.expired', 'review.due', 'batch.held', 'job.failed', 'degraded', 'test']), models.Q(('events', []), _negated=True)), name='webhook_events_known')], },
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True, verbose_name='id')),
                ('event', models.CharField(choices=[('memory.created', 'A memory was created'), ('memory.updated', 'A memory was changed'), ('memory.expired', 'A memory expired, or was forgotten'), ('review.due', 'A memory is due for review'), ('batch.held', 'A batch waits for a person'), ('job.failed', 'A job failed'), ('degraded', 'A part of the platform is missing or late, or is back'), ('test', 'Test')], max_length=20, verbose_name='event')),
                ('row_id', models.BigIntegerField(default=0, help_text='Of the entry, batch or run; 0: of none.', verbose_name='row')),
                ('version', models.PositiveIntegerField(default=0, help_text='Of the entry, after the change.', verbose_name='version')),
                ('actor', models.CharField(default='', max_length=200, verbose_name='by')),
                ('details', models.JSONField(default=dict, verbose_name='details')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('sent', 'Sent'), ('failed', 'Failed')], default='waiting', max_length=10, verbose_name='state')),
                ('attempts', models.PositiveIntegerField(default=0, verbose_name='attempts')),
                ('retry_at', models.DateTimeField(null=True, verbose_name='next try')),
                ('status', models.PositiveSmallIntegerField(null=True, verbose_name='last status')),
                ('error', models.CharField(choices=[('', '—'), ('answer', 'The receiver did not answer with success (2xx).'), ('timeout', 'The receiver did not answer in time.'), ('connection', 'The receiver could not be reached.'), ('unknown_host', 'The name of the receiver has no address.'), ('private', 'The receiver has a private address, and these are not allowed.'), ('unencrypted', 'The address is not https, and others are not allowed.'), ('secret', 'The secret cannot be read: make a new one.'), ('gone', 'What it was to tell of is no longer there.')], default='', max_length=20, verbose_name='problem')),
                ('at', models.DateTimeField(verbose_name='at')),
                ('queued_at', models.DateTimeField(help_text='When it was made, or sent again by a person.', verbose_name='queued')),
                ('sent_at', models.DateTimeField(null=True, verbose_name='sent')),
                ('webhook', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='deliveries', to='memories.webhook')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'delivery',
                'verbose_name_plural': 'deliveries of webhooks',
            "indexes": [models.Index(condition=models.Q(('state', 'waiting')), fields=['webhook', 'id'], name='webhookdelivery_to_do'), models.Index(condition=models.Q(('state', 'waiting')), fields=['webhook', 'row_id', 'id'], name='webhookdelivery_order'), models.Index(fields=['workspace', '-id'], name='webhookdelivery_by_time'), models.Index(condition=models.Q(('event', 'degraded')), fields=['webhook', '-id'], name='webhookdelivery_degraded'), models.Index(fields=['at'], name='webhookdelivery_by_age')], "constraints": [models.CheckConstraint(condition=models.Q(('event__in', ['memory.created', 'memory.updated', 'memory.expired', 'review.due', 'batch.held', 'job.failed', 'degraded', 'test'])), name='webhookdelivery_event_known'), models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'sent', 'failed'])), name='webhookdelivery_state_known'), models.UniqueConstraint(condition=models.Q(('event', 'review.due')), fields=('webhook', 'row_id', 'at'), name='webhookdelivery_review_once')], },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='batch',
            trigger=pgtrigger.compiler.Trigger(name='tell_webhooks', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.held_because = '[]'::jsonb AND NEW.held_because <> '[]'::jsonb AND NEW.state = 'proposed')", func="\n\nINSERT INTO memories_webhookdelivery\n    (uid, workspace_id, webhook_id, event, row_id, version, actor, details, state, attempts, error, at, queued_at)\n\nSELECT gen_random_uuid(), w.workspace_id, w.id, 'batch.held', NEW.id, 0, NEW.actor, '{}', 'waiting', 0, '', moment,\n    moment\nFROM memories_webhook w, clock_timestamp() moment\nWHERE w.workspace_id = NEW.workspace_id AND w.is_enabled AND 'batch.held' = ANY (w.events);\nRETURN NULL;\n", hash='cd3646fe350558e2e15a762140648f0b6dad8f75', operation='UPDATE', pgid='pgtrigger_tell_webhooks_1f316', table='memories_batch', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='change',
            trigger=pgtrigger.compiler.Trigger(name='tell_webhooks', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nIF NOT EXISTS (SELECT FROM memories_webhook WHERE is_enabled) THEN\n    RETURN NULL;\nEND IF;\n\nINSERT INTO memories_webhookdelivery\n    (uid, workspace_id, webhook_id, event, row_id, version, actor, details, state, attempts, error, at, queued_at)\n\nSELECT gen_random_uuid(), w.workspace_id, w.id, told.event, c.row_id, c.version, c.actor, '{}', 'waiting', 0, '',\n    c.at, c.at\nFROM new_rows c\nJOIN memories_webhook w ON w.workspace_id = c.workspace_id AND w.is_enabled\nCROSS JOIN LATERAL (SELECT CASE WHEN c.op = 'I' THEN 'memory.created'\n    WHEN c.old -> 'expired_at' = 'null' THEN 'memory.expired' ELSE 'memory.updated' END AS event) told\nWHERE c.table_name = 'memories_entry' AND c.op <> 'D' AND c.at >= now() AND told.event = ANY (w.events)\nORDER BY c.id;\nRETURN NULL;\n", hash='05ae6c895a8350f6d90c3c7a134245f65b89f931', level='STATEMENT', operation='INSERT', pgid='pgtrigger_tell_webhooks_2fa21', referencing='REFERENCING NEW TABLE AS new_rows ', table='memories_change', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='jobrun',
            trigger=pgtrigger.compiler.Trigger(name='tell_webhooks', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.state <> 'failed' AND NEW.state = 'failed' AND NOT NEW.is_dry)", func="\n\nINSERT INTO memories_webhookdelivery\n    (uid, workspace_id, webhook_id, event, row_id, version, actor, details, state, attempts, error, at, queued_at)\n\nSELECT gen_random_uuid(), w.workspace_id, w.id, 'job.failed', NEW.id, 0, 'job:' || NEW.job, '{}', 'waiting', 0, '', moment,\n    moment\nFROM memories_webhook w, clock_timestamp() moment\nWHERE w.workspace_id = NEW.workspace_id AND w.is_enabled AND 'job.failed' = ANY (w.events);\nRETURN NULL;\n", hash='b353030d6b947bede6de3a11aa20eaf25260a1e1', operation='UPDATE', pgid='pgtrigger_tell_webhooks_6ba85', table='memories_jobrun', when='AFTER')),
        ),
        inside_workspace("webhookdelivery_webhook", "memories_webhookdelivery", "webhook_id", "memories_webhook", cascade=True),
        row_level_security("memories_webhook", "webhook"),
        row_level_security("memories_webhookdelivery", "webhookdelivery"),
    ]

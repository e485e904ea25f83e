"""Facts of models keep the words they rest on; what was refused is kept for a month."""

import django.contrib.postgres.fields
import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

from memories.migrations._walls import inside_workspace, row_level_security

#: Facts from before have no quotes: a job looks for them.
QUOTED = """
UPDATE memories_entry SET verification = 'quoted' WHERE type = 'fact' AND source IN ('extraction', 'compression')
"""

class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0003_echoes'),
    ]

    operations = [
        migrations.CreateModel(
            name='Evidence',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('origin', models.CharField(max_length=300, verbose_name='message')),
                ('start', models.PositiveIntegerField(help_text='The first character of the message that belongs to it.')),
                ('end', models.PositiveIntegerField(help_text='The first character behind it.')),
                ('quote', models.TextField(verbose_name='quote')),
                ('speaker', models.CharField(blank=True, default='', max_length=200, verbose_name='speaker')),
                ('at', models.DateTimeField(verbose_name='at')),
                ('entry', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='evidence', to='memories.entry')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'evidence',
                'verbose_name_plural': 'evidence',
                'ordering': ('at', 'start', 'id'),
            "indexes": [models.Index(fields=['workspace', 'origin'], name='evidence_by_message')], "constraints": [models.UniqueConstraint(fields=('entry', 'origin', 'start', 'end'), name='evidence_once_an_entry'), models.CheckConstraint(condition=models.Q(('start__lt', models.F('end'))), name='evidence_has_characters'), models.CheckConstraint(condition=models.Q(('quote', ''), _negated=True), name='evidence_has_words')], },
        ),
        migrations.CreateModel(
            name='RefusedFact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.CharField(max_length=200, verbose_name='model')),
                ('purpose', models.CharField(max_length=40, verbose_name='job')),
                ('run', models.CharField(blank=True, default='', max_length=200, verbose_name='run')),
                ('content', models.TextField(verbose_name='content')),
                ('quote', models.TextField(blank=True, default='', verbose_name='quote')),
                ('reason', models.CharField(choices=[('invalid', 'It could not be read.'), ('no_quote', 'The words it quotes are not in the message.'), ('bot', 'Only the bot said it.'), ('amount', 'Nobody said a number or date of it.'), ('code', 'Nobody said an address or code of it.'), ('name', 'Nobody said a name in it.'), ('subject', 'The words speak of somebody else.'), ('no_scope', 'No memory may hold it: it rests on the words of several.'), ('contradicted', 'The second reading says that the words contradict it.'), ('not_stated', 'The second reading says that the words do not state it.')], max_length=20, verbose_name='reason')),
                ('origins', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=300), default=list, size=None, verbose_name='sources of origin')),
                ('created_at', models.DateTimeField(verbose_name='at')),
                ('scope', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.scope')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'refused fact',
                'verbose_name_plural': 'refused facts',
                'ordering': ('-created_at', '-id'),
            "indexes": [models.Index(fields=['workspace', '-created_at', '-id'], name='refusedfact_by_time'), models.Index(fields=['workspace', 'run'], name='refusedfact_of_run')], "constraints": [models.CheckConstraint(condition=models.Q(('reason__in', ['invalid', 'no_quote', 'bot', 'amount', 'code', 'name', 'subject', 'no_scope', 'contradicted', 'not_stated'])), name='refusedfact_reason_known')], },
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='entry',
            name='raise_version',
        ),
        migrations.AddField(
            model_name='entry',
            name='verification',
            field=models.CharField(blank=True, choices=[('', "Not a model's"), ('quoted', 'Quoted'), ('verified', 'Verified')], default='', editable=False, help_text="Of a model's fact: whether a second reading found it borne out by the words it quotes.", max_length=10, verbose_name='verification'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='entry',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."archived_at" IS DISTINCT FROM (NEW."archived_at") OR OLD."category" IS DISTINCT FROM (NEW."category") OR OLD."channel" IS DISTINCT FROM (NEW."channel") OR OLD."chat_id" IS DISTINCT FROM (NEW."chat_id") OR OLD."chats" IS DISTINCT FROM (NEW."chats") OR OLD."content" IS DISTINCT FROM (NEW."content") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."expired_at" IS DISTINCT FROM (NEW."expired_at") OR OLD."expires_at" IS DISTINCT FROM (NEW."expires_at") OR OLD."fingerprint" IS DISTINCT FROM (NEW."fingerprint") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."importance" IS DISTINCT FROM (NEW."importance") OR OLD."length" IS DISTINCT FROM (NEW."length") OR OLD."line_from" IS DISTINCT FROM (NEW."line_from") OR OLD."line_to" IS DISTINCT FROM (NEW."line_to") OR OLD."origins" IS DISTINCT FROM (NEW."origins") OR OLD."path" IS DISTINCT FROM (NEW."path") OR OLD."pinned" IS DISTINCT FROM (NEW."pinned") OR OLD."project" IS DISTINCT FROM (NEW."project") OR OLD."review_at" IS DISTINCT FROM (NEW."review_at") OR OLD."scope_id" IS DISTINCT FROM (NEW."scope_id") OR OLD."sender_id" IS DISTINCT FROM (NEW."sender_id") OR OLD."session_id" IS DISTINCT FROM (NEW."session_id") OR OLD."source" IS DISTINCT FROM (NEW."source") OR OLD."speaker" IS DISTINCT FROM (NEW."speaker") OR OLD."stated_at" IS DISTINCT FROM (NEW."stated_at") OR OLD."subtype" IS DISTINCT FROM (NEW."subtype") OR OLD."superseded_by_id" IS DISTINCT FROM (NEW."superseded_by_id") OR OLD."suppressed_at" IS DISTINCT FROM (NEW."suppressed_at") OR OLD."terms" IS DISTINCT FROM (NEW."terms") OR OLD."thread_id" IS DISTINCT FROM (NEW."thread_id") OR OLD."tier" IS DISTINCT FROM (NEW."tier") OR OLD."topic" IS DISTINCT FROM (NEW."topic") OR OLD."type" IS DISTINCT FROM (NEW."type") OR OLD."uid" IS DISTINCT FROM (NEW."uid") OR OLD."verification" IS DISTINCT FROM (NEW."verification") OR OLD."verified_at" IS DISTINCT FROM (NEW."verified_at") OR OLD."verified_by" IS DISTINCT FROM (NEW."verified_by") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='c0fd19d6261a32639b368cd0c76292a69e6943ab', operation='UPDATE', pgid='pgtrigger_raise_version_16fde', table='memories_entry', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(('verification__in', ['', 'quoted', 'verified'])), name='entry_verification_known'),
        ),
        inside_workspace("evidence_entry", "memories_evidence", "entry_id", "memories_entry", cascade=True),
        row_level_security("memories_evidence", "evidence"),
        row_level_security("memories_refusedfact", "refusedfact"),
        migrations.RunSQL(QUOTED, migrations.RunSQL.noop),
    ]

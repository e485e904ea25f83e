"""Files of markdown: what is known of each, the folder of a workspace, and the headings a line stands under."""

import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

from memories.migrations._walls import inside_workspace, row_level_security

#: The name as people read it; with the end of its id where that is empty, or another one's.
FOLDERS = """
UPDATE memories_workspace w SET folder = concat_ws('-', nullif(named.base, ''),
    CASE WHEN named.base = '' OR named.place > 1 THEN right(replace(w.uid::text, '-', ''), 12) END)
FROM (
    SELECT id, base, row_number() OVER (PARTITION BY base ORDER BY id) AS place FROM (
        SELECT id, trim(BOTH '-' FROM left(regexp_replace(lower(name), '[^a-z0-9_\u4e00-\u9fff]+', '-', 'g'), 40)) AS base
        FROM memories_workspace
    ) bases
) named WHERE named.id = w.id
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0005_read_evidence'),
    ]

    operations = [
        migrations.CreateModel(
            name='FileState',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('path', models.CharField(help_text='In the folder of the workspace.', max_length=500, verbose_name='path')),
                ('modified_ns', models.BigIntegerField(help_text='When the file was last changed, in nanoseconds.')),
                ('size', models.BigIntegerField(verbose_name='bytes')),
                ('digest', models.CharField(help_text='SHA-256 of its bytes.', max_length=64)),
                ('line_count', models.PositiveIntegerField(default=0, verbose_name='lines')),
                ('entry_count', models.PositiveIntegerField(default=0, verbose_name='entries')),
                ('indexed_at', models.DateTimeField(verbose_name='indexed')),
                ('problem', models.CharField(blank=True, choices=[('', 'In step'), ('unreadable', 'It cannot be read.'), ('suppressed', 'Lines of it were taken out of use, and are not remembered again.'), ('not_written', 'A change could not be written to it.'), ('frozen', 'Its scope is frozen.')], default='', max_length=20, verbose_name='out of step')),
                ('detail', models.TextField(blank=True, default='', help_text='Such as the lines that are meant.', verbose_name='detail')),
                ('scope', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='files', to='memories.scope')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'file',
                'verbose_name_plural': 'files',
            "indexes": [models.Index(fields=['workspace', 'path'], name='filestate_by_path')], "constraints": [models.UniqueConstraint(fields=('scope', 'path'), name='filestate_once_a_path'), models.CheckConstraint(condition=models.Q(('problem__in', ['', 'unreadable', 'suppressed', 'not_written', 'frozen'])), name='filestate_problem_known'), models.CheckConstraint(condition=models.Q(('path', ''), _negated=True), name='filestate_has_a_path')], },
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='entry',
            name='raise_version',
        ),
        migrations.AddField(
            model_name='entry',
            name='heading',
            field=models.CharField(blank=True, default='', help_text='The headings a line of a file stands under.', max_length=300, verbose_name='heading'),
        ),
        migrations.AddField(
            model_name='workspace',
            name='folder',
            field=models.CharField(default='', editable=False, help_text='Of its files, below MEMORY_FILES_ROOT.', max_length=100, verbose_name='folder'),
            preserve_default=False,
        ),
        migrations.RunSQL(FOLDERS, migrations.RunSQL.noop),
        migrations.AlterField(
            model_name='workspace',
            name='folder',
            field=models.CharField(editable=False, help_text='Of its files, below MEMORY_FILES_ROOT.', max_length=100, unique=True, verbose_name='folder'),
        ),
        migrations.AddField(
            model_name='workspace',
            name='is_enabled',
            field=models.BooleanField(default=True, help_text='Off: its files answer and store; what is taken in meanwhile is caught up when it is on again.', verbose_name='uses the database'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(condition=models.Q(('path', ''), _negated=True), fields=['scope', 'path'], name='entry_of_file'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='entry',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."archived_at" IS DISTINCT FROM (NEW."archived_at") OR OLD."category" IS DISTINCT FROM (NEW."category") OR OLD."channel" IS DISTINCT FROM (NEW."channel") OR OLD."chat_id" IS DISTINCT FROM (NEW."chat_id") OR OLD."chats" IS DISTINCT FROM (NEW."chats") OR OLD."content" IS DISTINCT FROM (NEW."content") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."expired_at" IS DISTINCT FROM (NEW."expired_at") OR OLD."expires_at" IS DISTINCT FROM (NEW."expires_at") OR OLD."fingerprint" IS DISTINCT FROM (NEW."fingerprint") OR OLD."heading" IS DISTINCT FROM (NEW."heading") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."importance" IS DISTINCT FROM (NEW."importance") OR OLD."length" IS DISTINCT FROM (NEW."length") OR OLD."origins" IS DISTINCT FROM (NEW."origins") OR OLD."path" IS DISTINCT FROM (NEW."path") OR OLD."pinned" IS DISTINCT FROM (NEW."pinned") OR OLD."project" IS DISTINCT FROM (NEW."project") OR OLD."review_at" IS DISTINCT FROM (NEW."review_at") OR OLD."scope_id" IS DISTINCT FROM (NEW."scope_id") OR OLD."sender_id" IS DISTINCT FROM (NEW."sender_id") OR OLD."session_id" IS DISTINCT FROM (NEW."session_id") OR OLD."source" IS DISTINCT FROM (NEW."source") OR OLD."speaker" IS DISTINCT FROM (NEW."speaker") OR OLD."stated_at" IS DISTINCT FROM (NEW."stated_at") OR OLD."subtype" IS DISTINCT FROM (NEW."subtype") OR OLD."superseded_by_id" IS DISTINCT FROM (NEW."superseded_by_id") OR OLD."suppressed_at" IS DISTINCT FROM (NEW."suppressed_at") OR OLD."terms" IS DISTINCT FROM (NEW."terms") OR OLD."thread_id" IS DISTINCT FROM (NEW."thread_id") OR OLD."tier" IS DISTINCT FROM (NEW."tier") OR OLD."topic" IS DISTINCT FROM (NEW."topic") OR OLD."type" IS DISTINCT FROM (NEW."type") OR OLD."uid" IS DISTINCT FROM (NEW."uid") OR OLD."verification" IS DISTINCT FROM (NEW."verification") OR OLD."verified_at" IS DISTINCT FROM (NEW."verified_at") OR OLD."verified_by" IS DISTINCT FROM (NEW."verified_by") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='20ffb2338be731b095874eaa0cf1bebcb71e6681', operation='UPDATE', pgid='pgtrigger_raise_version_16fde', table='memories_entry', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='workspace',
            constraint=models.CheckConstraint(condition=models.Q(('folder', ''), _negated=True), name='workspace_has_a_folder'),
        ),
        inside_workspace("filestate_scope", "memories_filestate", "scope_id", "memories_scope", cascade=True),
        row_level_security("memories_filestate", "filestate"),
    ]

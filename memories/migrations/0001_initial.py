"""The tables of memories as of the first release, with their walls.

Before it there were thirty-nine migrations, in before_release/; a database that has some of them goes on from there.

Three questions are asked across the wall, each by a function that answers as the owner of the tables: a key is found by
its digest before its workspace is known, an operator by their account, and how far work is behind is told of all
workspaces together. History may only be added to; what is removed for good takes its history along through a function,
which leaves a line in the log of the database.
"""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.fields.json
import memories.models.ids
import memories.models.tenancy
import pgtrigger.compiler
import pgtrigger.migrations
import pgvector.django.halfvec
import pgvector.django.sparsevec
from django.conf import settings
from pgvector.django import VectorExtension
from django.db import migrations, models

from memories.migrations._walls import INSIDE_OR_OF_ALL, in_the_row, inside_workspace, row_level_security, security_definers

WORKSPACES = """
CREATE FUNCTION memplatform_workspaces() RETURNS bigint[] LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT coalesce(nullif(current_setting('memplatform.workspaces', true), '')::bigint[], '{}') $$
"""

QUESTIONS = {
    "memplatform_workspace_of_key(text)": """
        CREATE FUNCTION memplatform_workspace_of_key(asked text) RETURNS bigint
        LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
        BEGIN RETURN (SELECT workspace_id FROM memories_botkey WHERE digest = asked); END $$
    """,
    "memplatform_workspaces_of_user(bigint)": """
        CREATE FUNCTION memplatform_workspaces_of_user(asked bigint) RETURNS bigint[]
        LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
        BEGIN
            RETURN (
                SELECT CASE WHEN is_superuser THEN (SELECT array_agg(id) FROM memories_workspace)
                    ELSE (SELECT array_agg(workspace_id) FROM memories_member WHERE user_id = asked) END
                FROM auth_user WHERE id = asked AND is_active AND is_staff
            );
        END $$
    """,
    "memplatform_backlog(timestamptz, text)": """
        CREATE FUNCTION memplatform_backlog(
            failed_after timestamptz, model_failed text,
            OUT stale bigint, OUT stale_since timestamptz,
            OUT buffered_since timestamptz, OUT parked bigint,
            OUT held_up bigint, OUT held_up_since timestamptz, OUT failed bigint
        ) LANGUAGE sql STABLE SECURITY DEFINER AS $$
            SELECT s.stale, s.since, p.since, p.parked, p.held_up, p.held_up_since,
                (SELECT count(*) FROM memories_jobrun WHERE state = 'failed' AND finished_at > failed_after)
            FROM (SELECT count(*) AS stale, min(since) AS since FROM memories_indexqueueitem) s,
                (SELECT min(began_at) FILTER (WHERE state <> 'parked') AS since,
                    count(*) FILTER (WHERE state = 'parked') AS parked,
                    count(*) FILTER (WHERE starts_with(error, model_failed)) AS held_up,
                    min(began_at) FILTER (WHERE starts_with(error, model_failed)) AS held_up_since
                FROM memories_extractionbatch) p
        $$
    """,
    "memplatform_forget_history(bigint, text, bigint[])": """
        CREATE FUNCTION memplatform_forget_history(workspace bigint, of_table text, row_ids bigint[]) RETURNS bigint
        LANGUAGE plpgsql SECURITY DEFINER AS $$
        DECLARE forgotten bigint; remaining bigint;
        BEGIN
            EXECUTE format('SELECT count(*) FROM %I WHERE id = ANY ($1)', of_table) INTO remaining USING row_ids;
            IF remaining > 0 THEN
                RAISE EXCEPTION 'The history of a row that still exists is kept.' USING ERRCODE = '42501';
            END IF;
            DELETE FROM memories_change
            WHERE workspace_id = workspace AND table_name = of_table AND row_id = ANY (row_ids);
            GET DIAGNOSTICS forgotten = ROW_COUNT;
            RAISE LOG 'memplatform: the history of % removed rows of % in workspace % was removed by %: % changes',
                cardinality(row_ids), of_table, workspace, session_user, forgotten;
            RETURN forgotten;
        END $$
    """,
}

#: Name, table, column, the table it points to; whether the row goes with what it points to.
POINTERS = [
    ("batch_scope", "memories_batch", "scope_id", "memories_scope", False),
    ("batchchange_batch", "memories_batchchange", "batch_id", "memories_batch", True),
    ("batchchange_entry", "memories_batchchange", "entry_id", "memories_entry", False),
    ("batchchange_event", "memories_batchchange", "event_id", "memories_dailyevent", False),
    ("botkey_bot", "memories_botkey", "bot_id", "memories_bot", True),
    ("bufferedturn_chat_scope", "memories_bufferedturn", "chat_scope_id", "memories_scope", False),
    ("bufferedturn_extraction", "memories_bufferedturn", "batch_id", "memories_extractionbatch", True),
    ("bufferedturn_user_scope", "memories_bufferedturn", "user_scope_id", "memories_scope", False),
    ("dailyevent_scope", "memories_dailyevent", "scope_id", "memories_scope", False),
    ("entry_scope", "memories_entry", "scope_id", "memories_scope", False),
    ("entry_superseded_by", "memories_entry", "superseded_by_id", "memories_entry", False),
    ("entryaccess_entry", "memories_entryaccess", "entry_id", "memories_entry", True),
    ("entryindex_entry", "memories_entryindex", "entry_id", "memories_entry", True),
    ("entryindex_scope", "memories_entryindex", "scope_id", "memories_scope", True),
    ("entryvector_entry", "memories_entryvector", "entry_id", "memories_entry", True),
    ("idempotencykey_bot", "memories_idempotencykey", "bot_id", "memories_bot", True),
    ("indexqueue_entry", "memories_indexqueueitem", "entry_id", "memories_entry", True),
    ("link_from_entry", "memories_link", "from_entry_id", "memories_entry", True),
    ("link_to_entry", "memories_link", "to_entry_id", "memories_entry", True),
    ("scopeterm_scope", "memories_scopeterm", "scope_id", "memories_scope", True),
    ("slot_entry", "memories_slot", "entry_id", "memories_entry", True),
    ("suppression_entry", "memories_suppression", "entry_id", "memories_entry", True),
    ("suppression_scope", "memories_suppression", "scope_id", "memories_scope", True),
    ("trace_bot", "memories_recalltrace", "bot_id", "memories_bot", False),
]


class Migration(migrations.Migration):

    initial = True

    #: A database of before the first release has these, in before_release/, and goes on from any of them.
    replaces = [
        ("memories", "0001_vector_extension"),
        ("memories", "0002_tables"),
        ("memories", "0003_walls_between_workspaces"),
        ("memories", "0004_what_keeps_our_word"),
        ("memories", "0005_walls_around_suppressions"),
        ("memories", "0006_row_level_walls"),
        ("memories", "0007_what_answers_rested_on"),
        ("memories", "0008_evidence_of_a_recall"),
        ("memories", "0009_what_null_let_through"),
        ("memories", "0010_projects_known_to_a_scope"),
        ("memories", "0011_time_zones_that_exist"),
        ("memories", "0012_entries_by_time_everywhere"),
        ("memories", "0013_plans_of_batches"),
        ("memories", "0014_buffer_and_days"),
        ("memories", "0015_spend"),
        ("memories", "0016_walls_around_them"),
        ("memories", "0017_length_of_the_index"),
        ("memories", "0018_parcels"),
        ("memories", "0019_changes_of_a_batch"),
        ("memories", "0020_nicknames_of_a_scope"),
        ("memories", "0021_a_version_alone"),
        ("memories", "0022_reviews"),
        ("memories", "0023_runs_on_demand"),
        ("memories", "0024_removal_for_good"),
        ("memories", "0025_profile_by_importance"),
        ("memories", "0026_days_in_batches"),
        ("memories", "0027_summed_batches"),
        ("memories", "0028_runs_in_parts"),
        ("memories", "0029_live_in_scope"),
        ("memories", "0030_suppressions_by_conversation"),
        ("memories", "0031_scopes_a_recall_asked_for"),
        ("memories", "0032_sender_names"),
        ("memories", "0033_versions_served"),
        ("memories", "0034_wordings_of_suppressions"),
        ("memories", "0035_credentials_by_workspace"),
        ("memories", "0036_health_of_the_model"),
        ("memories", "0037_walls_of_tenancy"),
        ("memories", "0038_plain_help_texts"),
        ("memories", "0039_field_words"),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        VectorExtension(),
        migrations.CreateModel(
            name='Workspace',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('name', models.CharField(max_length=100, unique=True, verbose_name='name')),
                ('language', models.CharField(choices=[('en', 'English'), ('zh-hans', '简体中文')], default='en', max_length=10, verbose_name='language')),
                ('time_zone', models.CharField(default='UTC', max_length=64, validators=[memories.models.tenancy.validate_time_zone], verbose_name='time zone')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
            ],
            options={
                'verbose_name': 'workspace',
                'verbose_name_plural': 'workspaces',
                'constraints': [models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='workspace_has_a_name'), models.CheckConstraint(condition=models.Q(('language__in', ['en', 'zh-hans'])), name='workspace_language_known')],
            },
        ),
        migrations.CreateModel(
            name='Bot',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('disabled_at', models.DateTimeField(blank=True, null=True, verbose_name='disabled')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='bots', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'bot',
                'verbose_name_plural': 'bots',
            "constraints": [models.UniqueConstraint(fields=('workspace', 'name'), name='bot_name_once_in_workspace'), models.UniqueConstraint(fields=('id', 'workspace'), name='bot_in_workspace'), models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='bot_has_a_name')], },
        ),
        migrations.CreateModel(
            name='ModelHealth',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.CharField(max_length=200, unique=True, verbose_name='model')),
                ('answered_at', models.DateTimeField(null=True, verbose_name='last answered')),
                ('failed_at', models.DateTimeField(null=True, verbose_name='last failed')),
                ('failures', models.PositiveIntegerField(default=0, verbose_name='failures in a row')),
                ('error', models.CharField(blank=True, default='', max_length=300, verbose_name='error')),
            ],
            options={
                'verbose_name': 'model',
                'verbose_name_plural': 'models',
            },
        ),
        migrations.CreateModel(
            name='Scope',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('key', models.CharField(max_length=255, verbose_name='key')),
                ('kind', models.CharField(choices=[('user', 'User'), ('chat', 'Chat')], max_length=10, verbose_name='kind')),
                ('label', models.CharField(blank=True, default='', max_length=200, verbose_name='label')),
                ('frozen', models.BooleanField(default=False, verbose_name='frozen')),
                ('version', models.PositiveBigIntegerField(default=0, editable=False, verbose_name='version')),
                ('entry_count', models.PositiveIntegerField(default=0, editable=False, verbose_name='entries')),
                ('average_length', models.FloatField(default=0, editable=False, help_text='Terms an entry.', verbose_name='average length')),
                ('index_length', models.FloatField(default=0, editable=False, help_text='The average length the search rows are weighed with.')),
                ('speakers', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, default=list, editable=False, help_text='Who has said something here, as people call them; a question that names one prefers their words.', size=None, verbose_name='speakers')),
                ('projects', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), blank=True, default=list, editable=False, help_text='Projects something is known about; a message that names one needs memory.', size=None, verbose_name='projects')),
                ('nicknames', models.JSONField(blank=True, default=dict, editable=False, help_text='What people are called here, and whom each name means; nobody, when it means several.', verbose_name='nicknames')),
                ('sender_names', models.JSONField(blank=True, default=dict, editable=False, help_text='What people are called here, by the id their messages come with; the last name counts.', verbose_name='names of senders')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='scopes', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'scope',
                'verbose_name_plural': 'scopes',
            "constraints": [models.UniqueConstraint(fields=('workspace', 'key'), name='scope_key_once_in_workspace'), models.UniqueConstraint(fields=('id', 'workspace'), name='scope_in_workspace'), models.CheckConstraint(condition=models.Q(('kind__in', ['user', 'chat'])), name='scope_kind_known'), models.CheckConstraint(condition=models.Q(('key', ''), _negated=True), name='scope_has_a_key')], },
        ),
        migrations.CreateModel(
            name='Batch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('name', models.CharField(help_text='The job or action that made it.', max_length=60, verbose_name='name')),
                ('run', models.CharField(max_length=64, verbose_name='run')),
                ('actor', models.CharField(max_length=200, verbose_name='by')),
                ('reason', models.TextField(blank=True, default='', verbose_name='reason')),
                ('state', models.CharField(choices=[('proposed', 'Proposed'), ('applying', 'Applying'), ('applied', 'Applied'), ('undone', 'Undone'), ('refused', 'Refused')], default='proposed', max_length=10, verbose_name='state')),
                ('held_because', models.JSONField(blank=True, default=list, help_text='Reasons of the safety limit, each a code with its figures.', verbose_name='held because')),
                ('is_summed', models.BooleanField(default=False, help_text='What it retires counts towards what machines may retire within a month.', verbose_name='judged by a machine')),
                ('decided_by', models.CharField(blank=True, default='', help_text='Who approved or refused it.', max_length=200, verbose_name='decided by')),
                ('counts', models.JSONField(blank=True, default=dict, verbose_name='counts')),
                ('cost', models.JSONField(blank=True, default=dict, verbose_name='cost')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('applied_at', models.DateTimeField(blank=True, null=True, verbose_name='applied')),
                ('closed_at', models.DateTimeField(blank=True, null=True, verbose_name='undone or refused')),
                ('undoes', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='undone_by', to='memories.batch')),
                ('scope', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='batches', to='memories.scope')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='batches', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'batch',
                'verbose_name_plural': 'batches',
            "indexes": [models.Index(fields=['workspace', '-created_at', '-id'], name='batch_by_time')], "constraints": [models.UniqueConstraint(fields=('id', 'workspace'), name='batch_in_workspace'), models.UniqueConstraint(fields=('run', 'scope'), name='batch_once_a_run_and_scope', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('state__in', ['proposed', 'applying', 'applied', 'undone', 'refused'])), name='batch_state_known')], },
        ),
        migrations.CreateModel(
            name='Change',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace_id', models.BigIntegerField()),
                ('table_name', models.CharField(max_length=63, verbose_name='table')),
                ('row_id', models.BigIntegerField(verbose_name='row')),
                ('version', models.PositiveIntegerField(help_text='Of the row after the change.', verbose_name='version')),
                ('op', models.CharField(choices=[('I', 'Added'), ('U', 'Changed'), ('D', 'Removed')], max_length=1, verbose_name='operation')),
                ('old', models.JSONField(help_text='Old values of the changed columns; the whole row when removed.', verbose_name='before')),
                ('actor', models.CharField(max_length=200, verbose_name='by')),
                ('batch_id', models.BigIntegerField(null=True, verbose_name='batch')),
                ('run', models.CharField(blank=True, default='', max_length=64, verbose_name='run')),
                ('at', models.DateTimeField(verbose_name='at')),
            ],
            options={
                'verbose_name': 'change',
                'verbose_name_plural': 'history',
                'indexes': [models.Index(fields=['table_name', 'row_id', 'version'], name='change_by_row'), models.Index(fields=['workspace_id', 'at'], name='change_by_time'), models.Index(django.db.models.fields.json.KeyTransform('entry_id', 'old'), condition=models.Q(('op', 'D'), ('table_name', 'memories_slot')), name='change_of_removed_slots'), models.Index(condition=models.Q(('batch_id__isnull', False)), fields=['batch_id', 'table_name', 'row_id'], name='change_of_batch')],
                'constraints': [models.CheckConstraint(condition=models.Q(('op__in', ['I', 'U', 'D'])), name='change_operation_known')],
            },
        ),
        migrations.CreateModel(
            name='EmbeddingCache',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.CharField(max_length=200)),
                ('model', models.CharField(max_length=200)),
                ('text_hash', models.CharField(max_length=64)),
                ('embedding', pgvector.django.halfvec.HalfVectorField()),
                ('used_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'verbose_name': 'cached embedding',
                'verbose_name_plural': 'embedding cache',
                'indexes': [models.Index(fields=['used_at'], name='embeddingcache_by_use')],
                'constraints': [models.UniqueConstraint(fields=('provider', 'model', 'text_hash'), name='embeddingcache_once_a_text')],
            },
        ),
        migrations.CreateModel(
            name='EmbeddingModel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200, unique=True, verbose_name='name')),
                ('dimension', models.PositiveIntegerField(verbose_name='dimension')),
                ('floor', models.FloatField(default=0.0, verbose_name='floor')),
                ('ceiling', models.FloatField(default=1.0, verbose_name='ceiling')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
            ],
            options={
                'verbose_name': 'embedding model',
                'verbose_name_plural': 'embedding models',
                'constraints': [models.CheckConstraint(condition=models.Q(('dimension__gt', 0)), name='embeddingmodel_has_dimensions'), models.CheckConstraint(condition=models.Q(('floor__lt', models.F('ceiling'))), name='embeddingmodel_floor_below_ceiling')],
            },
        ),
        migrations.CreateModel(
            name='Heartbeat',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=40, verbose_name='process')),
                ('pid', models.PositiveIntegerField(verbose_name='process id')),
                ('started_at', models.DateTimeField(verbose_name='started')),
                ('beat_at', models.DateTimeField(verbose_name='last sign of life')),
            ],
            options={
                'verbose_name': 'heartbeat',
                'verbose_name_plural': 'heartbeats',
                'constraints': [models.UniqueConstraint(fields=('name', 'pid'), name='heartbeat_once_a_process')],
            },
        ),
        migrations.CreateModel(
            name='Entry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('type', models.CharField(choices=[('chat_turn', 'Chat turn'), ('auto_capture', 'Auto capture'), ('workflow_trace', 'Workflow trace'), ('user_explicit', 'User explicit'), ('fact', 'Fact'), ('note', 'Note')], max_length=20, verbose_name='type')),
                ('subtype', models.CharField(blank=True, default='', max_length=40, verbose_name='subtype')),
                ('tier', models.PositiveSmallIntegerField(blank=True, null=True, verbose_name='tier')),
                ('category', models.CharField(blank=True, choices=[('identity', 'Identity'), ('config', 'Configuration'), ('credential', 'Credential'), ('decision', 'Decision'), ('solution', 'Solution'), ('event', 'Event'), ('conversation', 'Conversation'), ('temp', 'Temporary'), ('debug', 'Debug')], default='', max_length=20, verbose_name='category')),
                ('project', models.CharField(blank=True, default='', max_length=100, verbose_name='project')),
                ('topic', models.CharField(blank=True, default='', max_length=100, verbose_name='topic')),
                ('content', models.TextField(verbose_name='content')),
                ('terms', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), default=list, editable=False, help_text='Own words, hashed.', size=None)),
                ('length', models.PositiveIntegerField(default=0, editable=False, help_text='Own words, with repeats.')),
                ('fingerprint', models.CharField(editable=False, help_text='Hash of the normalised content.', max_length=32)),
                ('importance', models.FloatField(default=0.5, verbose_name='importance')),
                ('source', models.CharField(choices=[('conversation_capture', 'Conversation capture'), ('memory_capture', 'Memory capture'), ('tool', 'Tool'), ('extraction', 'Extraction'), ('compression', 'Compression'), ('manual', 'Manual'), ('migration', 'Migration'), ('file', 'File')], max_length=30, verbose_name='source')),
                ('channel', models.CharField(blank=True, default='', max_length=40, verbose_name='channel')),
                ('chat_id', models.CharField(blank=True, default='', max_length=200, verbose_name='chat')),
                ('session_id', models.CharField(blank=True, default='', max_length=200, verbose_name='session')),
                ('sender_id', models.CharField(blank=True, default='', max_length=200, verbose_name='sender')),
                ('speaker', models.CharField(blank=True, default='', max_length=200, verbose_name='speaker')),
                ('thread_id', models.CharField(blank=True, default='', max_length=200, verbose_name='thread')),
                ('chats', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, default=list, help_text='Every chat any part of it came from.', size=None, verbose_name='chats')),
                ('origins', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=300), blank=True, default=list, help_text='The messages it rests on.', size=None, verbose_name='sources of origin')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('stated_at', models.DateTimeField(help_text='Created, merged or repeated; time to live runs from here.', verbose_name='last stated')),
                ('updated_at', models.DateTimeField(verbose_name='updated')),
                ('expires_at', models.DateTimeField(blank=True, help_text='Wins over the policy.', null=True, verbose_name='expires')),
                ('review_at', models.DateTimeField(blank=True, help_text='Stays in use; it is listed as due from then on.', null=True, verbose_name='review by')),
                ('expired_at', models.DateTimeField(blank=True, null=True, verbose_name='expired')),
                ('archived_at', models.DateTimeField(blank=True, null=True, verbose_name='archived')),
                ('suppressed_at', models.DateTimeField(blank=True, null=True, verbose_name='suppressed')),
                ('pinned', models.BooleanField(default=False, verbose_name='pinned')),
                ('verified_at', models.DateTimeField(blank=True, null=True, verbose_name='verified')),
                ('verified_by', models.CharField(blank=True, default='', max_length=200, verbose_name='verified by')),
                ('path', models.CharField(blank=True, default='', max_length=500, verbose_name='path')),
                ('line_from', models.PositiveIntegerField(blank=True, null=True, verbose_name='from line')),
                ('line_to', models.PositiveIntegerField(blank=True, null=True, verbose_name='to line')),
                ('superseded_by', models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='supersedes', to='memories.entry')),
                ('scope', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='entries', to='memories.scope')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'entry',
                'verbose_name_plural': 'entries',
            "indexes": [models.Index(fields=['workspace', '-created_at', '-id'], name='entry_by_time'), models.Index(fields=['scope', '-created_at', '-id'], name='entry_of_scope_by_time'), models.Index(fields=['-created_at', '-id'], name='entry_by_time_everywhere'), models.Index(condition=models.Q(('archived_at__isnull', True), ('expired_at__isnull', True), ('superseded_by__isnull', True), ('suppressed_at__isnull', True), models.Q(('session_id', ''), _negated=True)), fields=['scope', 'session_id', 'chat_id', 'created_at', 'id'], name='entry_neighbours'), models.Index(condition=models.Q(('archived_at__isnull', True), ('expired_at__isnull', True), ('superseded_by__isnull', True), ('suppressed_at__isnull', True)), fields=['scope', 'fingerprint'], name='entry_live_fingerprint'), models.Index(condition=models.Q(('archived_at__isnull', True), ('expired_at__isnull', True), ('superseded_by__isnull', True), ('suppressed_at__isnull', True), ('tier', 1)), fields=['scope', '-importance', '-stated_at', '-id'], name='entry_live_core'), models.Index(condition=models.Q(('archived_at__isnull', True), ('expired_at__isnull', True), ('superseded_by__isnull', True), ('suppressed_at__isnull', True)), fields=['scope', 'id'], include=('workspace', 'type', 'created_at', 'stated_at', 'expires_at', 'pinned', 'speaker'), name='entry_live_in_scope'), models.Index(condition=models.Q(('archived_at__isnull', True), ('expired_at__isnull', True), ('superseded_by__isnull', True), ('suppressed_at__isnull', True)), fields=['type', 'stated_at'], name='entry_live_by_age'), models.Index(condition=models.Q(('archived_at__isnull', True), ('expired_at__isnull', True), ('superseded_by__isnull', True), ('suppressed_at__isnull', True), ('expires_at__isnull', False)), fields=['expires_at'], name='entry_live_by_expiry'), models.Index(condition=models.Q(('archived_at__isnull', True), ('expired_at__isnull', True), ('superseded_by__isnull', True), ('suppressed_at__isnull', True), ('review_at__isnull', False)), fields=['review_at'], name='entry_live_by_review'), models.Index(condition=models.Q(('superseded_by__isnull', False)), fields=['superseded_by'], name='entry_by_successor'), models.Index(condition=models.Q(('category', 'credential')), fields=['workspace'], name='entry_credentials'), django.contrib.postgres.indexes.GinIndex(fastupdate=False, fields=['terms'], name='entry_terms')], "constraints": [models.UniqueConstraint(fields=('id', 'workspace'), name='entry_in_workspace'), models.CheckConstraint(condition=models.Q(('type__in', ['chat_turn', 'auto_capture', 'workflow_trace', 'user_explicit', 'fact', 'note'])), name='entry_type_known'), models.CheckConstraint(condition=models.Q(('source__in', ['conversation_capture', 'memory_capture', 'tool', 'extraction', 'compression', 'manual', 'migration', 'file'])), name='entry_source_known'), models.CheckConstraint(condition=models.Q(('category__in', ['', 'identity', 'config', 'credential', 'decision', 'solution', 'event', 'conversation', 'temp', 'debug'])), name='entry_category_known'), models.CheckConstraint(condition=models.Q(('content', ''), _negated=True), name='entry_content_not_empty'), models.CheckConstraint(condition=models.Q(('importance__gte', 0), ('importance__lte', 1)), name='entry_importance_between_0_and_1'), models.CheckConstraint(condition=models.Q(models.Q(('tier__in', [1, 2]), ('tier__isnull', False), ('type', 'fact')), models.Q(models.Q(('type', 'fact'), _negated=True), ('tier__isnull', True)), _connector='OR'), name='entry_tier_of_facts_only'), models.CheckConstraint(condition=models.Q(('superseded_by__isnull', True), models.Q(('superseded_by', models.F('id')), _negated=True), _connector='OR'), name='entry_not_its_own_successor'), models.CheckConstraint(condition=models.Q(models.Q(('line_from__isnull', True), ('line_to__isnull', True)), models.Q(('line_from__isnull', False), ('line_from__lte', models.F('line_to')), ('line_to__isnull', False)), _connector='OR'), name='entry_lines_in_order')], },
        ),
        migrations.CreateModel(
            name='Spend',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('local_date', models.DateField(verbose_name='local date')),
                ('purpose', models.CharField(max_length=40, verbose_name='purpose')),
                ('model', models.CharField(max_length=200, verbose_name='model')),
                ('calls', models.PositiveIntegerField(default=0, verbose_name='calls')),
                ('failures', models.PositiveIntegerField(default=0, verbose_name='failures')),
                ('prompt_tokens', models.PositiveBigIntegerField(default=0, verbose_name='tokens asked')),
                ('completion_tokens', models.PositiveBigIntegerField(default=0, verbose_name='tokens answered')),
                ('reserved_tokens', models.PositiveBigIntegerField(default=0, verbose_name='tokens reserved')),
                ('refused', models.PositiveIntegerField(default=0, verbose_name='refused for the budget')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'spend',
                'verbose_name_plural': 'spend',
            "constraints": [models.UniqueConstraint(fields=('workspace', 'local_date', 'purpose', 'model'), name='spend_once_a_day_and_purpose'), models.CheckConstraint(condition=models.Q(('purpose', ''), _negated=True), name='spend_has_a_purpose')], },
        ),
        migrations.CreateModel(
            name='Slot',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('name', models.CharField(max_length=64, verbose_name='name')),
                ('value', models.CharField(max_length=500, verbose_name='value')),
                ('entry', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='slots', to='memories.entry')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'slot',
                'verbose_name_plural': 'slots',
            "indexes": [models.Index(fields=['workspace', 'name', 'value'], name='slot_by_value')], "constraints": [models.UniqueConstraint(fields=('entry', 'name'), name='slot_name_once_on_entry'), models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='slot_has_a_name')], },
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
            "constraints": [models.UniqueConstraint(fields=('workspace', 'name'), name='secret_name_once', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='secret_has_a_name')], },
        ),
        migrations.CreateModel(
            name='ScopeTerm',
            fields=[
                ('pk', models.CompositePrimaryKey('scope_id', 'term', blank=True, editable=False, primary_key=True, serialize=False)),
                ('term', models.IntegerField()),
                ('entries', models.IntegerField()),
                ('scope', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.scope')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'scope term',
                'verbose_name_plural': 'scope terms',
            },
        ),
        migrations.CreateModel(
            name='RecallTrace',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None, verbose_name='scopes')),
                ('scope_keys', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=255), default=list, editable=False, size=None, verbose_name='scopes')),
                ('session_key', models.CharField(blank=True, default='', max_length=200, verbose_name='session')),
                ('message', models.TextField(verbose_name='message')),
                ('query', models.JSONField(default=dict, help_text='What was asked for besides the message.', verbose_name='query')),
                ('rule', models.CharField(blank=True, default='', max_length=40, verbose_name='need')),
                ('served', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), help_text='Entries, best first.', size=None, verbose_name='served')),
                ('versions', django.contrib.postgres.fields.ArrayField(base_field=models.PositiveIntegerField(), default=list, editable=False, help_text='Of the served entries, in their order; empty where it was not kept.', size=None, verbose_name='versions')),
                ('evidence', models.JSONField(default=dict, help_text='Whether it is enough to answer with, and what that was drawn from.', verbose_name='evidence')),
                ('candidates', models.JSONField(help_text='Rows of entry, scores and what became of it.', null=True, verbose_name='candidates')),
                ('degraded', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), default=list, size=None, verbose_name='degraded')),
                ('timings', models.JSONField(default=dict, help_text='Milliseconds by step.', verbose_name='timings')),
                ('used', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), help_text='Entries the answer rested on; empty until told.', null=True, size=None, verbose_name='used')),
                ('overlap', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), help_text='Entries the words of the answer point to; empty until it is known.', null=True, size=None, verbose_name='overlap')),
                ('note', models.TextField(blank=True, default='', help_text='What the bot said about this recall.', verbose_name='note')),
                ('tokens', models.PositiveIntegerField(default=0, verbose_name='tokens')),
                ('created_at', models.DateTimeField(verbose_name='at')),
                ('bot', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.bot')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'recall trace',
                'verbose_name_plural': 'recall traces',
            "indexes": [models.Index(fields=['workspace', '-created_at', '-id'], name='trace_by_time'), models.Index(fields=['created_at'], name='trace_by_age')], },
        ),
        migrations.CreateModel(
            name='Policy',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('kind', models.CharField(choices=[('ttl', 'Time to live, days'), ('quota', 'Quota of a recall'), ('weight', 'Weight of the ranking')], max_length=10, verbose_name='kind')),
                ('entry_type', models.CharField(blank=True, choices=[('chat_turn', 'Chat turn'), ('auto_capture', 'Auto capture'), ('workflow_trace', 'Workflow trace'), ('user_explicit', 'User explicit'), ('fact', 'Fact'), ('note', 'Note')], default='', max_length=20, verbose_name='type')),
                ('scope_kind', models.CharField(blank=True, choices=[('user', 'User'), ('chat', 'Chat')], default='', max_length=10, verbose_name='scope kind')),
                ('name', models.CharField(blank=True, default='', max_length=40, verbose_name='weight')),
                ('value', models.FloatField(blank=True, null=True, verbose_name='value')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='policies', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'policy',
                'verbose_name_plural': 'policies',
            "constraints": [models.UniqueConstraint(fields=('workspace', 'kind', 'entry_type', 'scope_kind', 'name'), name='policy_once_a_subject'), models.CheckConstraint(condition=models.Q(('kind__in', ['ttl', 'quota', 'weight'])), name='policy_kind_known'), models.CheckConstraint(condition=models.Q(models.Q(('entry_type', ''), ('kind', 'weight'), ('scope_kind', ''), models.Q(('name', ''), _negated=True)), models.Q(('kind__in', ['ttl', 'quota']), ('name', ''), ('entry_type__in', ['chat_turn', 'auto_capture', 'workflow_trace', 'user_explicit', 'fact', 'note']), ('scope_kind__in', ['user', 'chat'])), _connector='OR'), name='policy_says_what_it_is_about'), models.CheckConstraint(condition=models.Q(('value__isnull', True), ('value__gte', 0), _connector='OR'), name='policy_value_not_negative')], },
        ),
        migrations.CreateModel(
            name='Member',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'member',
                'verbose_name_plural': 'members',
            "constraints": [models.UniqueConstraint(fields=('workspace', 'user'), name='member_once_in_workspace')], },
        ),
        migrations.CreateModel(
            name='Link',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('kind', models.CharField(choices=[('source_of', 'Source of'), ('supersedes', 'Supersedes'), ('alike', 'Alike'), ('merged_from', 'Merged from')], max_length=20, verbose_name='kind')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('from_entry', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='links_out', to='memories.entry')),
                ('to_entry', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='links_in', to='memories.entry')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'link',
                'verbose_name_plural': 'links',
            "constraints": [models.UniqueConstraint(fields=('from_entry', 'to_entry', 'kind'), name='link_once_of_a_kind'), models.CheckConstraint(condition=models.Q(('kind__in', ['source_of', 'supersedes', 'alike', 'merged_from'])), name='link_kind_known'), models.CheckConstraint(condition=models.Q(('from_entry', models.F('to_entry')), _negated=True), name='link_between_two_entries')], },
        ),
        migrations.CreateModel(
            name='JobRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('job', models.CharField(max_length=60, verbose_name='job')),
                ('local_date', models.DateField(verbose_name='local date')),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed')], default='running', max_length=10, verbose_name='state')),
                ('attempts', models.PositiveSmallIntegerField(default=1, verbose_name='attempts')),
                ('started_at', models.DateTimeField(verbose_name='started')),
                ('taken_at', models.DateTimeField(blank=True, help_text='When the process that works on it began, or went on with it.', null=True, verbose_name='taken')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished')),
                ('counts', models.JSONField(blank=True, default=dict, verbose_name='counts')),
                ('error', models.TextField(blank=True, default='', verbose_name='error')),
                ('asked', models.CharField(blank=True, default='', help_text='Of a run somebody asked for; empty: by itself.', max_length=36, verbose_name='asked')),
                ('actor', models.CharField(blank=True, default='', max_length=200, verbose_name='by')),
                ('is_dry', models.BooleanField(default=False, verbose_name='dry run')),
                ('workspace', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='job_runs', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'job run',
                'verbose_name_plural': 'job runs',
            "indexes": [models.Index(fields=['-started_at'], name='jobrun_by_time')], "constraints": [models.UniqueConstraint(fields=('job', 'workspace', 'local_date', 'asked'), name='jobrun_once_a_local_date', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('state__in', ['queued', 'running', 'done', 'failed'])), name='jobrun_state_known')], },
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
            "indexes": [models.Index(fields=['created_at'], name='idempotencykey_by_age')], "constraints": [models.UniqueConstraint(fields=('bot', 'key'), name='idempotencykey_once_a_bot')], },
        ),
        migrations.CreateModel(
            name='ExtractionBatch',
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
                'verbose_name': 'extraction batch',
                'verbose_name_plural': 'buffer',
            "indexes": [models.Index(condition=models.Q(('state', 'parked'), _negated=True), fields=['due_at', 'id'], name='extraction_by_due'), models.Index(fields=['session_uid', 'conversation'], name='extraction_of_conversation'), models.Index(fields=['workspace', '-last_at', '-id'], name='extraction_by_time'), models.Index(fields=['state', 'began_at'], name='extraction_by_state')], "constraints": [models.UniqueConstraint(fields=('id', 'workspace'), name='extraction_in_workspace'), models.UniqueConstraint(condition=models.Q(('sealed', False), ('state', 'waiting')), fields=('session_uid', 'conversation'), name='extraction_gathers_once'), models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'claimed', 'parked'])), name='extraction_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'claimed'), _negated=True), ('claim__isnull', False), _connector='OR'), name='extraction_claimed_by_somebody'), models.CheckConstraint(condition=models.Q(('state', 'waiting'), ('sealed', True), _connector='OR'), name='extraction_sealed_when_taken')], },
        ),
        migrations.CreateModel(
            name='EntryVector',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('fingerprint', models.CharField(help_text='Of the text that was embedded.', max_length=32)),
                ('embedding', pgvector.django.halfvec.HalfVectorField()),
                ('entry', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='vectors', to='memories.entry')),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.embeddingmodel')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'vector',
                'verbose_name_plural': 'vectors',
            "constraints": [models.UniqueConstraint(fields=('entry', 'model'), name='entryvector_once_a_model')], },
        ),
        migrations.CreateModel(
            name='DailyEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('local_date', models.DateField(verbose_name='local date')),
                ('content', models.TextField(verbose_name='content')),
                ('terms', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), default=list, editable=False, help_text='Own words, hashed.', size=None)),
                ('source', models.CharField(choices=[('conversation_capture', 'Conversation capture'), ('memory_capture', 'Memory capture'), ('tool', 'Tool'), ('extraction', 'Extraction'), ('compression', 'Compression'), ('manual', 'Manual'), ('migration', 'Migration'), ('file', 'File')], max_length=30, verbose_name='source')),
                ('chats', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, default=list, help_text='Every chat any part of it came from.', size=None, verbose_name='chats')),
                ('origins', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=300), blank=True, default=list, help_text='The messages it rests on.', size=None, verbose_name='sources of origin')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('updated_at', models.DateTimeField(verbose_name='updated')),
                ('expired_at', models.DateTimeField(blank=True, null=True, verbose_name='expired')),
                ('compressed_at', models.DateTimeField(blank=True, null=True, verbose_name='made into facts')),
                ('scope', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.scope')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'daily event',
                'verbose_name_plural': 'daily events',
            "indexes": [models.Index(fields=['scope', '-local_date', '-id'], name='dailyevent_of_scope_by_date'), models.Index(fields=['workspace', '-local_date', '-id'], name='dailyevent_by_date'), models.Index(condition=models.Q(('compressed_at__isnull', True), ('expired_at__isnull', True)), fields=['workspace', 'local_date'], name='dailyevent_to_compress'), django.contrib.postgres.indexes.GinIndex(fastupdate=False, fields=['terms'], name='dailyevent_terms')], "constraints": [models.UniqueConstraint(fields=('id', 'workspace'), name='dailyevent_in_workspace'), models.CheckConstraint(condition=models.Q(('source__in', ['conversation_capture', 'memory_capture', 'tool', 'extraction', 'compression', 'manual', 'migration', 'file'])), name='dailyevent_source_known'), models.CheckConstraint(condition=models.Q(('content', ''), _negated=True), name='dailyevent_content_not_empty')], },
        ),
        migrations.CreateModel(
            name='BufferedTurn',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('chat', models.CharField(blank=True, default='', help_text='Where it was said.', max_length=200, verbose_name='chat')),
                ('is_group', models.BooleanField(default=False, verbose_name='group')),
                ('place', models.JSONField(default=dict, help_text='The slots of where it was said: channel, chat_id, sender_id …', verbose_name='place')),
                ('messages', models.JSONField(default=list, help_text='Each with id, role, sender, content, at.', verbose_name='messages')),
                ('tokens', models.PositiveIntegerField(default=0, verbose_name='tokens')),
                ('said_at', models.DateTimeField(verbose_name='said')),
                ('batch', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='turns', to='memories.extractionbatch')),
                ('chat_scope', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.scope')),
                ('user_scope', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.scope')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'buffered turn',
                'verbose_name_plural': 'buffered turns',
            "indexes": [models.Index(fields=['batch', 'said_at', 'id'], name='bufferedturn_of_batch')], "constraints": [models.CheckConstraint(condition=models.Q(('user_scope__isnull', False), ('chat_scope__isnull', False), _connector='OR'), name='bufferedturn_has_a_scope')], },
        ),
        migrations.CreateModel(
            name='BotKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('label', models.CharField(blank=True, default='', max_length=100, verbose_name='label')),
                ('prefix', models.CharField(max_length=12, verbose_name='prefix')),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('permissions', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('read', 'Read'), ('write', 'Write'), ('admin', 'Administer')], max_length=10), size=None, verbose_name='permissions')),
                ('scope_patterns', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, default=list, help_text='Such as telegram:*; none means every scope of the workspace.', size=None, verbose_name='scope patterns')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires')),
                ('revoked_at', models.DateTimeField(blank=True, null=True, verbose_name='revoked')),
                ('last_used_at', models.DateTimeField(blank=True, null=True, verbose_name='last used')),
                ('bot', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='keys', to='memories.bot')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='keys', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'bot key',
                'verbose_name_plural': 'bot keys',
            "constraints": [models.CheckConstraint(condition=models.Q(('permissions__contained_by', ['read', 'write', 'admin']), models.Q(('permissions', []), _negated=True)), name='botkey_permissions_known')], },
        ),
        migrations.CreateModel(
            name='BatchChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField(verbose_name='position')),
                ('verb', models.CharField(choices=[('create', 'Create'), ('change', 'Change'), ('merge', 'Merge'), ('expire', 'Expire'), ('archive', 'Archive'), ('restore', 'Restore'), ('supersede', 'Supersede'), ('undo', 'Put back'), ('purge', 'Remove for good'), ('tell', 'Tell of a day')], max_length=10, verbose_name='verb')),
                ('expected_version', models.PositiveIntegerField(null=True, verbose_name='expected version')),
                ('draft', models.JSONField(default=dict, verbose_name='draft')),
                ('state', models.CharField(choices=[('planned', 'Planned'), ('applied', 'Applied'), ('left', 'Left alone'), ('undone', 'Undone')], default='planned', max_length=10, verbose_name='state')),
                ('note', models.TextField(blank=True, default='', verbose_name='note')),
                ('batch', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='changes', to='memories.batch')),
                ('event', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.dailyevent')),
                ('entry', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.entry')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'planned change',
                'verbose_name_plural': 'planned changes',
            "indexes": [models.Index(condition=models.Q(('state', 'planned')), fields=['batch', 'position'], name='batchchange_to_do'), models.Index(fields=['entry'], name='batchchange_of_entry'), models.Index(condition=models.Q(('event__isnull', False)), fields=['event'], name='batchchange_of_event')], "constraints": [models.UniqueConstraint(fields=('batch', 'position'), name='batchchange_position_once'), models.CheckConstraint(condition=models.Q(('verb__in', ['create', 'change', 'merge', 'expire', 'archive', 'restore', 'supersede', 'undo', 'purge', 'tell'])), name='batchchange_verb_known'), models.CheckConstraint(condition=models.Q(('state__in', ['planned', 'applied', 'left', 'undone'])), name='batchchange_state_known'), models.CheckConstraint(condition=models.Q(('verb__in', ('create', 'tell')), ('entry__isnull', False), models.Q(('event__isnull', False), ('verb', 'undo')), models.Q(('state', 'planned'), _negated=True), _connector='OR'), name='batchchange_names_its_entry')], },
        ),
        migrations.CreateModel(
            name='EntryAccess',
            fields=[
                ('entry', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='access', serialize=False, to='memories.entry')),
                ('access_count', models.PositiveIntegerField(default=0, verbose_name='times recalled')),
                ('last_accessed', models.DateTimeField(null=True, verbose_name='last recalled')),
                ('repeat_count', models.PositiveIntegerField(default=0, verbose_name='times said again')),
                ('last_seen', models.DateTimeField(null=True, verbose_name='last said')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'access',
                'verbose_name_plural': 'accesses',
            },
        ),
        migrations.CreateModel(
            name='EntryIndex',
            fields=[
                ('entry', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='index', serialize=False, to='memories.entry')),
                ('embedding', pgvector.django.halfvec.HalfVectorField(null=True)),
                ('keywords', pgvector.django.sparsevec.SparseVectorField()),
                ('model', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.embeddingmodel')),
                ('scope', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.scope')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'search row',
                'verbose_name_plural': 'search rows',
            "constraints": [models.CheckConstraint(condition=models.Q(models.Q(('embedding__isnull', True), ('model__isnull', True)), models.Q(('embedding__isnull', False), ('model__isnull', False)), _connector='OR'), name='entryindex_embedding_has_a_model')], },
        ),
        migrations.CreateModel(
            name='IndexQueueItem',
            fields=[
                ('entry', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='+', serialize=False, to='memories.entry')),
                ('since', models.DateTimeField(verbose_name='since')),
                ('failures', models.PositiveSmallIntegerField(default=0, verbose_name='failures')),
                ('retry_at', models.DateTimeField(null=True, verbose_name='next try')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'entry to index',
                'verbose_name_plural': 'index queue',
            "indexes": [models.Index(fields=['since', 'entry'], name='indexqueue_in_order_of_arrival')], },
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
            name='Suppression',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('fingerprint', models.CharField(max_length=32)),
                ('wordings', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), default=list, size=None)),
                ('origins', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=300), default=list, size=None)),
                ('conversation', models.CharField(default='', editable=False, max_length=300)),
                ('actor', models.CharField(max_length=200, verbose_name='by')),
                ('created_at', models.DateTimeField(verbose_name='at')),
                ('entry', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.entry')),
                ('scope', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.scope')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'suppression',
                'verbose_name_plural': 'suppressions',
                'indexes': [models.Index(fields=['scope', 'fingerprint'], name='suppression_by_words'), models.Index(fields=['workspace', 'conversation'], name='suppression_by_conversation')],
                'constraints': [models.UniqueConstraint(fields=('scope', 'entry'), name='suppression_once_an_entry')],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='suppression',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."actor" IS DISTINCT FROM (NEW."actor") OR OLD."conversation" IS DISTINCT FROM (NEW."conversation") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."entry_id" IS DISTINCT FROM (NEW."entry_id") OR OLD."fingerprint" IS DISTINCT FROM (NEW."fingerprint") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."origins" IS DISTINCT FROM (NEW."origins") OR OLD."scope_id" IS DISTINCT FROM (NEW."scope_id") OR OLD."wordings" IS DISTINCT FROM (NEW."wordings") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='0fe03373717784d98286e40ccb34f757b925dab6', operation='UPDATE', pgid='pgtrigger_raise_version_ca8a2', table='memories_suppression', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='suppression',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='cd3ec36abd5b9cfdf5f57be646d32b7faac1e02a', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_6873f', referencing='REFERENCING NEW TABLE AS new_rows ', table='memories_suppression', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='suppression',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='85ec4360abe2d6575b5ec2c6ea9ea590eec70d90', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_213b5', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='memories_suppression', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='suppression',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='b18e84d54ca6831df751d67e878c4090e785d217', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_7213d', referencing='REFERENCING OLD TABLE AS old_rows ', table='memories_suppression', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='suppression',
            trigger=pgtrigger.compiler.Trigger(name='name_conversation', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nSELECT CASE count(DISTINCT place) WHEN 0 THEN '' WHEN 1 THEN min(place) ELSE '*' END INTO NEW.conversation\nFROM (SELECT regexp_replace(origin, '/[^/]*$', '') AS place FROM unnest(NEW.origins) origin) named;\nRETURN NEW;\n", hash='aa1280c45b5b6f30298643fdfcf2937fe189e3a8', operation='INSERT', pgid='pgtrigger_name_conversation_150bb', table='memories_suppression', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='slot',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."entry_id" IS DISTINCT FROM (NEW."entry_id") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."value" IS DISTINCT FROM (NEW."value") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='a52d71131415e8bd293b4c4b99af78ee2f8a440f', operation='UPDATE', pgid='pgtrigger_raise_version_752a1', table='memories_slot', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='slot',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='998ddc225cdbbb3f76549b489692bd046441f17e', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_c47d9', referencing='REFERENCING NEW TABLE AS new_rows ', table='memories_slot', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='slot',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='bae5e0a295bf9e377035bc6da047e966c985318d', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_ba694', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='memories_slot', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='slot',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='afc500d7c220f81622cb03f091966136d25d50e9', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_fbec5', referencing='REFERENCING OLD TABLE AS old_rows ', table='memories_slot', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='policy',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."entry_type" IS DISTINCT FROM (NEW."entry_type") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."kind" IS DISTINCT FROM (NEW."kind") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."scope_kind" IS DISTINCT FROM (NEW."scope_kind") OR OLD."value" IS DISTINCT FROM (NEW."value") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='3b874949884228e690432e404c635ca5de90ed6a', operation='UPDATE', pgid='pgtrigger_raise_version_79ff3', table='memories_policy', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='policy',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='fbbf3c6553fc2431cf0cf4e4b1ce589908410110', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_b0550', referencing='REFERENCING NEW TABLE AS new_rows ', table='memories_policy', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='policy',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='b6d3dd9b5e5195ab52d7f1bcea740d1b9c135811', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_c2736', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='memories_policy', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='policy',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='2855d68ae532f7c49578f09d229b7d1195fb0151', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_fa9a7', referencing='REFERENCING OLD TABLE AS old_rows ', table='memories_policy', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='link',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."from_entry_id" IS DISTINCT FROM (NEW."from_entry_id") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."kind" IS DISTINCT FROM (NEW."kind") OR OLD."to_entry_id" IS DISTINCT FROM (NEW."to_entry_id") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='0a4cf5e29381c123c7e7b3c431fbf071a90f0743', operation='UPDATE', pgid='pgtrigger_raise_version_d7d30', table='memories_link', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='link',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='33a9a5f824d641e72eadbb6b22d877718aaab877', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_96f95', referencing='REFERENCING NEW TABLE AS new_rows ', table='memories_link', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='link',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='5b980006f29c5ae034a669363bc6d3d81af3eca3', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_1e790', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='memories_link', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='link',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='c45d0e6bdd5921deb5a6a605f8f12f8273aeaffc', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_41729', referencing='REFERENCING OLD TABLE AS old_rows ', table='memories_link', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='entry',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."archived_at" IS DISTINCT FROM (NEW."archived_at") OR OLD."category" IS DISTINCT FROM (NEW."category") OR OLD."channel" IS DISTINCT FROM (NEW."channel") OR OLD."chat_id" IS DISTINCT FROM (NEW."chat_id") OR OLD."chats" IS DISTINCT FROM (NEW."chats") OR OLD."content" IS DISTINCT FROM (NEW."content") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."expired_at" IS DISTINCT FROM (NEW."expired_at") OR OLD."expires_at" IS DISTINCT FROM (NEW."expires_at") OR OLD."fingerprint" IS DISTINCT FROM (NEW."fingerprint") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."importance" IS DISTINCT FROM (NEW."importance") OR OLD."length" IS DISTINCT FROM (NEW."length") OR OLD."line_from" IS DISTINCT FROM (NEW."line_from") OR OLD."line_to" IS DISTINCT FROM (NEW."line_to") OR OLD."origins" IS DISTINCT FROM (NEW."origins") OR OLD."path" IS DISTINCT FROM (NEW."path") OR OLD."pinned" IS DISTINCT FROM (NEW."pinned") OR OLD."project" IS DISTINCT FROM (NEW."project") OR OLD."review_at" IS DISTINCT FROM (NEW."review_at") OR OLD."scope_id" IS DISTINCT FROM (NEW."scope_id") OR OLD."sender_id" IS DISTINCT FROM (NEW."sender_id") OR OLD."session_id" IS DISTINCT FROM (NEW."session_id") OR OLD."source" IS DISTINCT FROM (NEW."source") OR OLD."speaker" IS DISTINCT FROM (NEW."speaker") OR OLD."stated_at" IS DISTINCT FROM (NEW."stated_at") OR OLD."subtype" IS DISTINCT FROM (NEW."subtype") OR OLD."superseded_by_id" IS DISTINCT FROM (NEW."superseded_by_id") OR OLD."suppressed_at" IS DISTINCT FROM (NEW."suppressed_at") OR OLD."terms" IS DISTINCT FROM (NEW."terms") OR OLD."thread_id" IS DISTINCT FROM (NEW."thread_id") OR OLD."tier" IS DISTINCT FROM (NEW."tier") OR OLD."topic" IS DISTINCT FROM (NEW."topic") OR OLD."type" IS DISTINCT FROM (NEW."type") OR OLD."uid" IS DISTINCT FROM (NEW."uid") OR OLD."verified_at" IS DISTINCT FROM (NEW."verified_at") OR OLD."verified_by" IS DISTINCT FROM (NEW."verified_by") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='162ea821a89bc65cd8e36f5811022484f7dbbb9d', operation='UPDATE', pgid='pgtrigger_raise_version_16fde', table='memories_entry', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='entry',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='805181d6a2921fece4a6ac55dd1ec69e3abe1501', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_06807', referencing='REFERENCING NEW TABLE AS new_rows ', table='memories_entry', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='entry',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='8a79ee893bce57d4172a1ea4aa86e42fcbb14f3a', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_f68b1', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='memories_entry', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='entry',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='806e2eeb4a1a3a34bbee42df5c7b5061b6ac3a97', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_5b582', referencing='REFERENCING OLD TABLE AS old_rows ', table='memories_entry', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='dailyevent',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."chats" IS DISTINCT FROM (NEW."chats") OR OLD."compressed_at" IS DISTINCT FROM (NEW."compressed_at") OR OLD."content" IS DISTINCT FROM (NEW."content") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."expired_at" IS DISTINCT FROM (NEW."expired_at") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."local_date" IS DISTINCT FROM (NEW."local_date") OR OLD."origins" IS DISTINCT FROM (NEW."origins") OR OLD."scope_id" IS DISTINCT FROM (NEW."scope_id") OR OLD."source" IS DISTINCT FROM (NEW."source") OR OLD."terms" IS DISTINCT FROM (NEW."terms") OR OLD."uid" IS DISTINCT FROM (NEW."uid") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='632e6645d0c410ac77989f5fd4c0720c19280885', operation='UPDATE', pgid='pgtrigger_raise_version_9b488', table='memories_dailyevent', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='dailyevent',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='c2b5080e6ae794f766a18382791e976af13c9808', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_a0673', referencing='REFERENCING NEW TABLE AS new_rows ', table='memories_dailyevent', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='dailyevent',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='4423a4c1bc7561b9287b2c3a5db45e5381f2379a', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_7a7b7', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='memories_dailyevent', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='dailyevent',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='e93a861ddbd05020c985e303a4aec6e1b42dff30', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_31e58', referencing='REFERENCING OLD TABLE AS old_rows ', table='memories_dailyevent', when='AFTER')),
        ),
        migrations.RunSQL(WORKSPACES, "DROP FUNCTION memplatform_workspaces()"),
        *security_definers(QUESTIONS),
        *(inside_workspace(*row, cascade=cascade) for *row, cascade in POINTERS),
        row_level_security("memories_batch", "batch"),
        row_level_security("memories_batchchange", "batchchange"),
        row_level_security("memories_bot", "bot"),
        row_level_security("memories_botkey", "botkey"),
        row_level_security("memories_bufferedturn", "bufferedturn"),
        row_level_security("memories_change", "change"),
        row_level_security("memories_dailyevent", "dailyevent"),
        row_level_security("memories_entry", "entry"),
        row_level_security("memories_entryaccess", "entryaccess"),
        row_level_security("memories_entryindex", "entryindex"),
        row_level_security("memories_entryvector", "entryvector"),
        row_level_security("memories_extractionbatch", "extraction"),
        row_level_security("memories_idempotencykey", "idempotencykey"),
        row_level_security("memories_indexqueueitem", "indexqueue"),
        row_level_security("memories_link", "link"),
        row_level_security("memories_member", "member"),
        row_level_security("memories_policy", "policy"),
        row_level_security("memories_scope", "scope"),
        row_level_security("memories_scopeterm", "scopeterm"),
        row_level_security("memories_slot", "slot"),
        row_level_security("memories_spend", "spend"),
        row_level_security("memories_suppression", "suppression"),
        row_level_security("memories_recalltrace", "trace"),
        row_level_security("memories_jobrun", "jobrun", INSIDE_OR_OF_ALL),
        row_level_security("memories_secret", "secret", INSIDE_OR_OF_ALL),
        in_the_row("memories_entryindex", "embedding", "keywords"),
        migrations.RunSQL("ALTER TABLE memories_keyusage SET UNLOGGED", "ALTER TABLE memories_keyusage SET LOGGED"),
    ]

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import memories.models.ids
import pgtrigger.compiler
import pgtrigger.migrations
import pgvector.django.halfvec
import pgvector.django.sparsevec
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('memories', '0001_vector_extension'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Bot',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('disabled_at', models.DateTimeField(blank=True, null=True, verbose_name='disabled')),
            ],
            options={
                'verbose_name': 'bot',
                'verbose_name_plural': 'bots',
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
                ('speakers', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, default=list, editable=False, help_text='Who has said something here, as people call them; a question that names one prefers their words.', size=None, verbose_name='speakers')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
            ],
            options={
                'verbose_name': 'scope',
                'verbose_name_plural': 'scopes',
            },
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
                ('held_because', models.TextField(blank=True, default='', verbose_name='held because')),
                ('counts', models.JSONField(blank=True, default=dict, verbose_name='counts')),
                ('cost', models.JSONField(blank=True, default=dict, verbose_name='cost')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('applied_at', models.DateTimeField(blank=True, null=True, verbose_name='applied')),
                ('closed_at', models.DateTimeField(blank=True, null=True, verbose_name='undone or refused')),
                ('undoes', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='undone_by', to='memories.batch')),
                ('scope', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='batches', to='memories.scope')),
            ],
            options={
                'verbose_name': 'batch',
                'verbose_name_plural': 'batches',
            },
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
                'indexes': [models.Index(fields=['table_name', 'row_id', 'version'], name='change_by_row'), models.Index(fields=['workspace_id', 'at'], name='change_by_time'), models.Index(condition=models.Q(('batch_id__isnull', False)), fields=['batch_id'], name='change_by_batch')],
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
                ('chats', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, default=list, help_text='Every chat any part of it came from (A3).', size=None, verbose_name='chats')),
                ('origins', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=300), blank=True, default=list, help_text='The messages it rests on.', size=None, verbose_name='sources of origin')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('stated_at', models.DateTimeField(help_text='Created, merged or repeated; time to live runs from here.', verbose_name='last stated')),
                ('updated_at', models.DateTimeField(verbose_name='updated')),
                ('expires_at', models.DateTimeField(blank=True, help_text='Wins over the policy.', null=True, verbose_name='expires')),
                ('expired_at', models.DateTimeField(blank=True, null=True, verbose_name='expired')),
                ('archived_at', models.DateTimeField(blank=True, null=True, verbose_name='archived')),
                ('suppressed_at', models.DateTimeField(blank=True, null=True, verbose_name='suppressed')),
                ('pinned', models.BooleanField(default=False, verbose_name='pinned')),
                ('verified_at', models.DateTimeField(blank=True, null=True, verbose_name='verified')),
                ('verified_by', models.CharField(blank=True, default='', max_length=200, verbose_name='verified by')),
                ('path', models.CharField(blank=True, default='', max_length=500, verbose_name='path')),
                ('line_from', models.PositiveIntegerField(blank=True, null=True, verbose_name='from line')),
                ('line_to', models.PositiveIntegerField(blank=True, null=True, verbose_name='to line')),
                ('superseded_by', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='supersedes', to='memories.entry')),
                ('scope', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='entries', to='memories.scope')),
            ],
            options={
                'verbose_name': 'entry',
                'verbose_name_plural': 'entries',
            },
        ),
        migrations.CreateModel(
            name='Workspace',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('name', models.CharField(max_length=100, unique=True, verbose_name='name')),
                ('language', models.CharField(choices=[('en', 'English'), ('zh-hans', '简体中文')], default='en', max_length=10, verbose_name='language')),
                ('time_zone', models.CharField(default='UTC', max_length=64, verbose_name='time zone')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
            ],
            options={
                'verbose_name': 'workspace',
                'verbose_name_plural': 'workspaces',
                'constraints': [models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='workspace_has_a_name'), models.CheckConstraint(condition=models.Q(('language__in', ['en', 'zh-hans'])), name='workspace_language_known')],
            },
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
        migrations.AddField(
            model_name='scope',
            name='workspace',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='scopes', to='memories.workspace'),
        ),
        migrations.CreateModel(
            name='Receipt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None, verbose_name='scopes')),
                ('session_key', models.CharField(blank=True, default='', max_length=200, verbose_name='session')),
                ('message', models.TextField(verbose_name='message')),
                ('query', models.JSONField(default=dict, help_text='What was asked for besides the message.', verbose_name='query')),
                ('rule', models.CharField(blank=True, default='', max_length=40, verbose_name='need')),
                ('served', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), help_text='Entries, best first.', size=None, verbose_name='served')),
                ('candidates', models.JSONField(help_text='Rows of entry, scores and what became of it.', null=True, verbose_name='candidates')),
                ('degraded', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), default=list, size=None, verbose_name='degraded')),
                ('timings', models.JSONField(default=dict, help_text='Milliseconds by step.', verbose_name='timings')),
                ('tokens', models.PositiveIntegerField(default=0, verbose_name='tokens')),
                ('created_at', models.DateTimeField(verbose_name='at')),
                ('bot', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.bot')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'receipt',
                'verbose_name_plural': 'receipts',
            },
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
            },
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
            },
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
            },
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
            },
        ),
        migrations.AddField(
            model_name='entry',
            name='workspace',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace'),
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
            },
        ),
        migrations.AddField(
            model_name='bot',
            name='workspace',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='bots', to='memories.workspace'),
        ),
        migrations.CreateModel(
            name='BatchChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField(verbose_name='position')),
                ('verb', models.CharField(choices=[('create', 'Create'), ('change', 'Change'), ('merge', 'Merge'), ('expire', 'Expire'), ('archive', 'Archive'), ('restore', 'Restore'), ('supersede', 'Supersede')], max_length=10, verbose_name='verb')),
                ('expected_version', models.PositiveIntegerField(null=True, verbose_name='expected version')),
                ('draft', models.JSONField(default=dict, verbose_name='draft')),
                ('state', models.CharField(choices=[('planned', 'Planned'), ('applied', 'Applied'), ('left', 'Left alone'), ('undone', 'Undone')], default='planned', max_length=10, verbose_name='state')),
                ('note', models.TextField(blank=True, default='', verbose_name='note')),
                ('batch', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='changes', to='memories.batch')),
                ('entry', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.entry')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'planned change',
                'verbose_name_plural': 'planned changes',
            },
        ),
        migrations.AddField(
            model_name='batch',
            name='workspace',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='batches', to='memories.workspace'),
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
            },
        ),
        migrations.CreateModel(
            name='StaleEntry',
            fields=[
                ('entry', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='+', serialize=False, to='memories.entry')),
                ('since', models.DateTimeField(verbose_name='since')),
                ('failures', models.PositiveSmallIntegerField(default=0, verbose_name='failures')),
                ('retry_at', models.DateTimeField(null=True, verbose_name='next try')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
            ],
            options={
                'verbose_name': 'stale entry',
                'verbose_name_plural': 'stale entries',
            },
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
                'indexes': [models.Index(fields=['workspace', 'name', 'value'], name='slot_by_value')],
                'constraints': [models.UniqueConstraint(fields=('entry', 'name'), name='slot_name_once_on_entry'), models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='slot_has_a_name')],
            },
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
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT jsonb_object_agg(key, value) AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='c11d053fb08b7737c98c2fa73997dd1117128f1e', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_ba694', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='memories_slot', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='slot',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='afc500d7c220f81622cb03f091966136d25d50e9', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_fbec5', referencing='REFERENCING OLD TABLE AS old_rows ', table='memories_slot', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='scope',
            constraint=models.UniqueConstraint(fields=('workspace', 'key'), name='scope_key_once_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='scope',
            constraint=models.UniqueConstraint(fields=('id', 'workspace'), name='scope_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='scope',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['user', 'chat'])), name='scope_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='scope',
            constraint=models.CheckConstraint(condition=models.Q(('key', ''), _negated=True), name='scope_has_a_key'),
        ),
        migrations.AddIndex(
            model_name='receipt',
            index=models.Index(fields=['workspace', '-created_at', '-id'], name='receipt_by_time'),
        ),
        migrations.AddIndex(
            model_name='receipt',
            index=models.Index(fields=['created_at'], name='receipt_by_age'),
        ),
        migrations.AddConstraint(
            model_name='policy',
            constraint=models.UniqueConstraint(fields=('workspace', 'kind', 'entry_type', 'scope_kind', 'name'), name='policy_once_a_subject'),
        ),
        migrations.AddConstraint(
            model_name='policy',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['ttl', 'quota', 'weight'])), name='policy_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='policy',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('entry_type', ''), ('kind', 'weight'), ('scope_kind', ''), models.Q(('name', ''), _negated=True)), models.Q(('kind__in', ['ttl', 'quota']), ('name', ''), ('entry_type__in', ['chat_turn', 'auto_capture', 'workflow_trace', 'user_explicit', 'fact', 'note']), ('scope_kind__in', ['user', 'chat'])), _connector='OR'), name='policy_says_what_it_is_about'),
        ),
        migrations.AddConstraint(
            model_name='policy',
            constraint=models.CheckConstraint(condition=models.Q(('value__isnull', True), ('value__gte', 0), _connector='OR'), name='policy_value_not_negative'),
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
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT jsonb_object_agg(key, value) AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='fc64189d3622a3edab8e27daa59a48a841111457', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_c2736', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='memories_policy', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='policy',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='2855d68ae532f7c49578f09d229b7d1195fb0151', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_fa9a7', referencing='REFERENCING OLD TABLE AS old_rows ', table='memories_policy', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='member',
            constraint=models.UniqueConstraint(fields=('workspace', 'user'), name='member_once_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='link',
            constraint=models.UniqueConstraint(fields=('from_entry', 'to_entry', 'kind'), name='link_once_of_a_kind'),
        ),
        migrations.AddConstraint(
            model_name='link',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['source_of', 'supersedes', 'alike', 'merged_from'])), name='link_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='link',
            constraint=models.CheckConstraint(condition=models.Q(('from_entry', models.F('to_entry')), _negated=True), name='link_between_two_entries'),
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
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT jsonb_object_agg(key, value) AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='95f64b4adec8d06dbae01c0b1dc7dfc2f5f97189', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_1e790', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='memories_link', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='link',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='c45d0e6bdd5921deb5a6a605f8f12f8273aeaffc', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_41729', referencing='REFERENCING OLD TABLE AS old_rows ', table='memories_link', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='entryvector',
            constraint=models.UniqueConstraint(fields=('entry', 'model'), name='entryvector_once_a_model'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(fields=['workspace', '-created_at', '-id'], name='entry_by_time'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(fields=['scope', '-created_at', '-id'], name='entry_of_scope_by_time'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(condition=models.Q(('archived_at__isnull', True), ('expired_at__isnull', True), ('superseded_by__isnull', True), ('suppressed_at__isnull', True), models.Q(('session_id', ''), _negated=True)), fields=['scope', 'session_id', 'chat_id', 'created_at', 'id'], name='entry_neighbours'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(condition=models.Q(('archived_at__isnull', True), ('expired_at__isnull', True), ('superseded_by__isnull', True), ('suppressed_at__isnull', True)), fields=['scope', 'fingerprint'], name='entry_live_fingerprint'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(condition=models.Q(('archived_at__isnull', True), ('expired_at__isnull', True), ('superseded_by__isnull', True), ('suppressed_at__isnull', True)), fields=['type', 'stated_at'], name='entry_live_by_age'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(condition=models.Q(('archived_at__isnull', True), ('expired_at__isnull', True), ('superseded_by__isnull', True), ('suppressed_at__isnull', True), ('expires_at__isnull', False)), fields=['expires_at'], name='entry_live_by_expiry'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(condition=models.Q(('superseded_by__isnull', False)), fields=['superseded_by'], name='entry_by_successor'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=django.contrib.postgres.indexes.GinIndex(fastupdate=False, fields=['terms'], name='entry_terms'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.UniqueConstraint(fields=('id', 'workspace'), name='entry_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(('type__in', ['chat_turn', 'auto_capture', 'workflow_trace', 'user_explicit', 'fact', 'note'])), name='entry_type_known'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(('source__in', ['conversation_capture', 'memory_capture', 'tool', 'extraction', 'compression', 'manual', 'migration', 'file'])), name='entry_source_known'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(('category__in', ['', 'identity', 'config', 'credential', 'decision', 'solution', 'event', 'conversation', 'temp', 'debug'])), name='entry_category_known'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(('content', ''), _negated=True), name='entry_content_not_empty'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(('importance__gte', 0), ('importance__lte', 1)), name='entry_importance_between_0_and_1'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('tier__in', [1, 2]), ('type', 'fact')), models.Q(models.Q(('type', 'fact'), _negated=True), ('tier__isnull', True)), _connector='OR'), name='entry_tier_of_facts_only'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(('superseded_by__isnull', True), models.Q(('superseded_by', models.F('id')), _negated=True), _connector='OR'), name='entry_not_its_own_successor'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('line_from__isnull', True), ('line_to__isnull', True)), ('line_from__lte', models.F('line_to')), _connector='OR'), name='entry_lines_in_order'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='entry',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."archived_at" IS DISTINCT FROM (NEW."archived_at") OR OLD."category" IS DISTINCT FROM (NEW."category") OR OLD."channel" IS DISTINCT FROM (NEW."channel") OR OLD."chat_id" IS DISTINCT FROM (NEW."chat_id") OR OLD."chats" IS DISTINCT FROM (NEW."chats") OR OLD."content" IS DISTINCT FROM (NEW."content") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."expired_at" IS DISTINCT FROM (NEW."expired_at") OR OLD."expires_at" IS DISTINCT FROM (NEW."expires_at") OR OLD."fingerprint" IS DISTINCT FROM (NEW."fingerprint") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."importance" IS DISTINCT FROM (NEW."importance") OR OLD."length" IS DISTINCT FROM (NEW."length") OR OLD."line_from" IS DISTINCT FROM (NEW."line_from") OR OLD."line_to" IS DISTINCT FROM (NEW."line_to") OR OLD."origins" IS DISTINCT FROM (NEW."origins") OR OLD."path" IS DISTINCT FROM (NEW."path") OR OLD."pinned" IS DISTINCT FROM (NEW."pinned") OR OLD."project" IS DISTINCT FROM (NEW."project") OR OLD."scope_id" IS DISTINCT FROM (NEW."scope_id") OR OLD."sender_id" IS DISTINCT FROM (NEW."sender_id") OR OLD."session_id" IS DISTINCT FROM (NEW."session_id") OR OLD."source" IS DISTINCT FROM (NEW."source") OR OLD."speaker" IS DISTINCT FROM (NEW."speaker") OR OLD."stated_at" IS DISTINCT FROM (NEW."stated_at") OR OLD."subtype" IS DISTINCT FROM (NEW."subtype") OR OLD."superseded_by_id" IS DISTINCT FROM (NEW."superseded_by_id") OR OLD."suppressed_at" IS DISTINCT FROM (NEW."suppressed_at") OR OLD."terms" IS DISTINCT FROM (NEW."terms") OR OLD."thread_id" IS DISTINCT FROM (NEW."thread_id") OR OLD."tier" IS DISTINCT FROM (NEW."tier") OR OLD."topic" IS DISTINCT FROM (NEW."topic") OR OLD."type" IS DISTINCT FROM (NEW."type") OR OLD."uid" IS DISTINCT FROM (NEW."uid") OR OLD."verified_at" IS DISTINCT FROM (NEW."verified_at") OR OLD."verified_by" IS DISTINCT FROM (NEW."verified_by") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='26e8a62689d3269cef192ac14e428c96ab09b577', operation='UPDATE', pgid='pgtrigger_raise_version_16fde', table='memories_entry', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='entry',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='805181d6a2921fece4a6ac55dd1ec69e3abe1501', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_06807', referencing='REFERENCING NEW TABLE AS new_rows ', table='memories_entry', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='entry',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT jsonb_object_agg(key, value) AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='250890894e6e323107f8b8890c83c91e2ad8a3a4', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_f68b1', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='memories_entry', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='entry',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='806e2eeb4a1a3a34bbee42df5c7b5061b6ac3a97', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_5b582', referencing='REFERENCING OLD TABLE AS old_rows ', table='memories_entry', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='botkey',
            constraint=models.CheckConstraint(condition=models.Q(('permissions__contained_by', ['read', 'write', 'admin']), models.Q(('permissions', []), _negated=True)), name='botkey_permissions_known'),
        ),
        migrations.AddConstraint(
            model_name='bot',
            constraint=models.UniqueConstraint(fields=('workspace', 'name'), name='bot_name_once_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='bot',
            constraint=models.UniqueConstraint(fields=('id', 'workspace'), name='bot_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='bot',
            constraint=models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='bot_has_a_name'),
        ),
        migrations.AddConstraint(
            model_name='batchchange',
            constraint=models.UniqueConstraint(fields=('batch', 'position'), name='batchchange_position_once'),
        ),
        migrations.AddConstraint(
            model_name='batchchange',
            constraint=models.CheckConstraint(condition=models.Q(('verb__in', ['create', 'change', 'merge', 'expire', 'archive', 'restore', 'supersede'])), name='batchchange_verb_known'),
        ),
        migrations.AddConstraint(
            model_name='batchchange',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['planned', 'applied', 'left', 'undone'])), name='batchchange_state_known'),
        ),
        migrations.AddConstraint(
            model_name='batchchange',
            constraint=models.CheckConstraint(condition=models.Q(('verb', 'create'), ('entry__isnull', False), _connector='OR'), name='batchchange_names_its_entry'),
        ),
        migrations.AddIndex(
            model_name='batch',
            index=models.Index(fields=['workspace', '-created_at', '-id'], name='batch_by_time'),
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.UniqueConstraint(fields=('id', 'workspace'), name='batch_in_workspace'),
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.UniqueConstraint(fields=('run', 'scope'), name='batch_once_a_run_and_scope', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['proposed', 'applying', 'applied', 'undone', 'refused'])), name='batch_state_known'),
        ),
        migrations.AddConstraint(
            model_name='entryindex',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('embedding__isnull', True), ('model__isnull', True)), models.Q(('embedding__isnull', False), ('model__isnull', False)), _connector='OR'), name='entryindex_embedding_has_a_model'),
        ),
        migrations.AddIndex(
            model_name='staleentry',
            index=models.Index(fields=['since', 'entry'], name='staleentry_in_order_of_arrival'),
        ),
    ]

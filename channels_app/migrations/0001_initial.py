"""The tables of channels and of people; what Django cannot say of them stands in sql/."""

from pathlib import Path

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import memories.models.ids
import memories.models.walls
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

from memories.migrations import _sql

SQL = Path(__file__).with_name("sql")


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('memories', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Channel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='channels', to='memories.workspace')),
                ('platform', models.CharField(max_length=40, verbose_name='platform')),
                ('account', models.CharField(blank=True, default='', max_length=200, verbose_name='account')),
                ('label', models.CharField(blank=True, default='', max_length=200, verbose_name='label')),
                ('dm_scope', models.CharField(blank=True, choices=[('main', 'One memory for all direct chats'), ('per-peer', 'One per person'), ('per-channel-peer', 'One per platform and person'), ('per-account-channel-peer', 'One per platform, account and person')], default='', max_length=30, verbose_name='memory of direct chats')),
                ('session_mode', models.CharField(choices=[('stable', 'One session a chat'), ('fresh', 'A new session every message')], default='stable', max_length=10, verbose_name='sessions')),
                ('session_prefix', models.CharField(blank=True, default='', max_length=30, verbose_name='session prefix')),
                ('group_sessions', models.CharField(choices=[('shared', 'All members'), ('per_member', 'One per member')], default='shared', max_length=12, verbose_name='group sessions')),
                ('group_prefix', models.CharField(default='group_', max_length=30, verbose_name='group prefix')),
                ('capture_group_memory', models.BooleanField(blank=True, null=True, verbose_name='remember for the group')),
                ('group_user_recall', models.CharField(blank=True, choices=[('none', 'Nothing'), ('same_chat', 'Only what was said in that chat'), ('all', 'Everything')], default='', max_length=10, verbose_name='what a group may hear of a person')),
                ('secrets', models.CharField(blank=True, choices=[('keep', 'Kept apart, for its owner'), ('mask', 'Not stored'), ('off', 'Stored as it was said')], default='', max_length=4, verbose_name='secrets that are told')),
                ('need', models.CharField(choices=[('auto', 'By rules'), ('off', 'Always recall')], default='auto', max_length=4, verbose_name='ask whether memory is needed')),
                ('serve', models.CharField(blank=True, default='', max_length=6, validators=[django.core.validators.RegexValidator('^(|likely|wide|0(\\.[0-9]{1,4})?|1)$', 'Say “likely”, “wide”, or a number from 0 to 1.')], verbose_name='what is served')),
                ('max_tokens', models.PositiveIntegerField(blank=True, null=True, verbose_name='tokens of a history')),
                ('path_mode', models.CharField(choices=[('hooks_only', 'The database'), ('legacy_only', 'The files'), ('dual_write', 'Both store, the database answers')], default='hooks_only', max_length=12, verbose_name='answered and stored by')),
                ('transcripts', models.BooleanField(blank=True, null=True, verbose_name='transcripts in files')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
            ],
            options={
                'verbose_name': 'channel',
                'verbose_name_plural': 'channels',
                'constraints': [
                    models.UniqueConstraint(fields=('workspace', 'platform', 'account'), name='channel_account_once'),
                    models.UniqueConstraint(fields=('id', 'workspace'), name='channel_in_workspace'),
                    models.CheckConstraint(condition=models.Q(('platform', ''), _negated=True), name='channel_has_a_platform'),
                    models.CheckConstraint(condition=models.Q(('dm_scope__in', ['', 'main', 'per-peer', 'per-channel-peer', 'per-account-channel-peer'])), name='channel_dm_scope_known'),
                    models.CheckConstraint(condition=models.Q(('group_user_recall__in', ['', 'none', 'same_chat', 'all'])), name='channel_group_recall_known'),
                    models.CheckConstraint(condition=models.Q(('secrets__in', ['', 'keep', 'mask', 'off'])), name='channel_secrets_rule_known'),
                    models.CheckConstraint(condition=models.Q(('session_mode__in', ['stable', 'fresh'])), name='channel_session_mode_known'),
                    models.CheckConstraint(condition=models.Q(('group_sessions__in', ['shared', 'per_member'])), name='channel_group_sessions_known'),
                    models.CheckConstraint(condition=models.Q(models.Q(('group_prefix', ''), _negated=True), models.Q(('group_prefix__startswith', 'direct_'), _negated=True)), name='channel_group_prefix_not_that_of_direct_chats'),
                    models.CheckConstraint(condition=models.Q(('serve__regex', '^(|likely|wide|0(\\.[0-9]{1,4})?|1)$')), name='channel_serve_known'),
                    models.CheckConstraint(condition=models.Q(('path_mode__in', ['hooks_only', 'legacy_only', 'dual_write'])), name='channel_path_mode_known'),
                    models.CheckConstraint(condition=models.Q(('max_tokens__isnull', True), ('max_tokens__gte', 100), _connector='OR'), name='channel_history_has_room'),
                    memories.models.walls.WorkspacePolicy(name='channel_of_the_workspaces'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ReplayedRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(editable=False, unique=True, verbose_name='id')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
                ('platform', models.CharField(max_length=40, verbose_name='platform')),
                ('account', models.CharField(blank=True, default='', max_length=200, verbose_name='account')),
                ('kind', models.CharField(max_length=40, verbose_name='call')),
                ('outcome', models.CharField(choices=[('applied', 'Applied'), ('known', 'Was stored already'), ('parked', 'Could not be applied'), ('discarded', 'Given up by a person')], max_length=10, verbose_name='outcome')),
                ('reason', models.TextField(blank=True, default='', verbose_name='reason')),
                ('body', models.JSONField(blank=True, help_text='Of what could not be applied.', null=True, verbose_name='body')),
                ('accepted_at', models.DateTimeField(verbose_name='accepted')),
                ('replayed_at', models.DateTimeField(verbose_name='replayed')),
            ],
            options={
                'verbose_name': 'replayed call',
                'verbose_name_plural': 'replayed calls',
                'indexes': [
                    models.Index(fields=['workspace', '-accepted_at', '-id'], name='replayedrecord_by_time'),
                    models.Index(condition=models.Q(('outcome', 'parked')), fields=['workspace', 'accepted_at'], name='replayedrecord_parked'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('outcome__in', ['applied', 'known', 'parked', 'discarded'])), name='replayedrecord_outcome_known'),
                    memories.models.walls.WorkspacePolicy(name='replayedrecord_of_the_workspaces'),
                ],
            },
        ),
        migrations.CreateModel(
            name='PathComparison',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
                ('platform', models.CharField(max_length=40, verbose_name='platform')),
                ('account', models.CharField(blank=True, default='', max_length=200, verbose_name='account')),
                ('trace', models.UUIDField(blank=True, null=True, verbose_name='recall')),
                ('message', models.TextField(blank=True, default='', verbose_name='message')),
                ('both', models.PositiveSmallIntegerField(default=0, verbose_name='found by both')),
                ('only_database', models.JSONField(default=list, verbose_name='found only by the database')),
                ('only_files', models.JSONField(default=list, verbose_name='found only in the files')),
                ('created_at', models.DateTimeField(verbose_name='at')),
            ],
            options={
                'verbose_name': 'comparison',
                'verbose_name_plural': 'comparisons',
                'indexes': [
                    models.Index(fields=['workspace', '-created_at', '-id'], name='pathcomparison_by_time'),
                ],
                'constraints': [
                    memories.models.walls.WorkspacePolicy(name='pathcomparison_of_the_workspaces'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Person',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='people', to='memories.workspace')),
                ('key', models.UUIDField(default=memories.models.ids.uuid7, editable=False, verbose_name='key')),
                ('name', models.CharField(blank=True, default='', max_length=200, verbose_name='name')),
                ('note', models.TextField(blank=True, default='', max_length=2000, verbose_name='note')),
                ('united_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='linked')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
            ],
            options={
                'verbose_name': 'person',
                'verbose_name_plural': 'people',
                'constraints': [
                    models.UniqueConstraint(fields=('workspace', 'key'), name='person_key_once_in_workspace'),
                    models.UniqueConstraint(fields=('id', 'workspace'), name='person_in_workspace'),
                    memories.models.walls.WorkspacePolicy(name='person_of_the_workspaces'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Identity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
                ('person', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='identities', to='channels_app.person')),
                ('platform', models.CharField(max_length=40, verbose_name='platform')),
                ('peer', models.CharField(max_length=200, verbose_name='peer')),
                ('unused_key', models.CharField(blank=True, default='', editable=False, max_length=255)),
                ('carried_version', models.PositiveBigIntegerField(editable=False, null=True)),
                ('since', models.DateTimeField(editable=False, help_text="Of that memory's end.", null=True)),
            ],
            options={
                'verbose_name': 'identity',
                'verbose_name_plural': 'identities',
                'constraints': [
                    models.UniqueConstraint(fields=('workspace', 'platform', 'peer'), name='identity_once_in_workspace'),
                    models.UniqueConstraint(fields=('id', 'workspace'), name='identity_in_workspace'),
                    models.CheckConstraint(condition=models.Q(models.Q(('platform', ''), _negated=True), models.Q(('peer', ''), _negated=True)), name='identity_names_a_peer'),
                    memories.models.walls.InsideWorkspace('person', cascade=True, name='identity_person_in_its_workspace'),
                    memories.models.walls.WorkspacePolicy(name='identity_of_the_workspaces'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Consent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
                ('person', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='consents', to='channels_app.person')),
                ('subject', models.CharField(choices=[('memory', 'Being remembered'), ('model', 'Their words going to a model'), ('linking', 'Their identities being linked'), ('sharing', 'Being heard of in groups')], max_length=10, verbose_name='what for')),
                ('is_given', models.BooleanField(verbose_name='given')),
                ('note', models.CharField(blank=True, default='', max_length=500, verbose_name='note')),
                ('actor', models.CharField(max_length=200, verbose_name='by')),
                ('at', models.DateTimeField(verbose_name='at')),
            ],
            options={
                'verbose_name': 'consent',
                'verbose_name_plural': 'consents',
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('subject__in', ['memory', 'model', 'linking', 'sharing'])), name='consent_subject_known'),
                    memories.models.walls.InsideWorkspace('person', cascade=True, name='consent_person_in_its_workspace'),
                    memories.models.walls.WorkspacePolicy(name='consent_of_the_workspaces'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Connection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='connections', to='memories.workspace')),
                ('channel', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='connections', to='channels_app.channel')),
                ('is_enabled', models.BooleanField(default=True, verbose_name='enabled')),
                ('receiving', models.CharField(choices=[('webhook', 'The platform calls this server'), ('pull', 'This server asks the platform (no public address needed)')], default='pull', max_length=10, verbose_name='receives')),
                ('answerer', models.CharField(choices=[('model', 'The model of this server, with memory'), ('callback', 'Your bot, called at an address of yours'), ('poll', 'Your bot, which asks for messages'), ('nobody', 'Nobody: it only listens')], default='model', max_length=10, verbose_name='answered by')),
                ('callback_url', models.CharField(blank=True, default='', max_length=500, verbose_name='address of your bot')),
                ('instructions', models.TextField(blank=True, default='', max_length=8000, verbose_name='instructions to the model')),
                ('notices', models.CharField(choices=[('off', 'Never'), ('each', 'At once, with a way to undo it'), ('daily', 'Once a day')], default='each', max_length=10, verbose_name='tell what is kept')),
                ('has_commands', models.BooleanField(default=True, verbose_name='commands such as /memory')),
                ('retires_leavers', models.BooleanField(default=True, verbose_name="take out of a group's memory what people said who left")),
                ('options', models.JSONField(blank=True, default=dict, verbose_name='ids at the platform')),
                ('cursor', models.JSONField(default=dict, editable=False)),
                ('noticed_entry', models.BigIntegerField(editable=False, help_text='People were told up to this one.', null=True)),
                ('noticed_at', models.DateTimeField(editable=False, null=True)),
                ('pulled_until', models.DateTimeField(editable=False, null=True)),
                ('received_at', models.DateTimeField(editable=False, null=True, verbose_name='last message')),
                ('answered_at', models.DateTimeField(editable=False, null=True, verbose_name='last answer')),
                ('problem', models.CharField(blank=True, choices=[('', '—'), ('refused', 'The platform refuses the key: paste a new one.'), ('conflict', "Another program receives this bot's messages."), ('away', 'The platform cannot be reached.'), ('secret', 'A secret cannot be read: paste it again.'), ('model', 'The model gave no answer.'), ('callback', 'Your bot did not answer.')], default='', max_length=10, verbose_name='problem')),
                ('problem_at', models.DateTimeField(editable=False, null=True, verbose_name='problem since')),
                ('retry_at', models.DateTimeField(editable=False, null=True, verbose_name='at rest until')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
            ],
            options={
                'verbose_name': 'connection',
                'verbose_name_plural': 'connections',
                'constraints': [
                    models.UniqueConstraint(fields=('channel',), name='connection_one_a_channel'),
                    models.UniqueConstraint(fields=('id', 'workspace'), name='connection_in_workspace'),
                    models.CheckConstraint(condition=models.Q(models.Q(('answerer', 'callback'), _negated=True), models.Q(('callback_url', ''), _negated=True), _connector='OR'), name='connection_has_a_callback'),
                    models.CheckConstraint(condition=models.Q(('receiving__in', ['webhook', 'pull'])), name='connection_receiving_known'),
                    models.CheckConstraint(condition=models.Q(('answerer__in', ['model', 'callback', 'poll', 'nobody'])), name='connection_answerer_known'),
                    models.CheckConstraint(condition=models.Q(('notices__in', ['off', 'each', 'daily'])), name='connection_notices_known'),
                    memories.models.walls.InsideWorkspace('channel', cascade=True, name='connection_channel_in_its_workspace'),
                    memories.models.walls.WorkspacePolicy(name='connection_of_the_workspaces'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Chat',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
                ('connection', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='chats', to='channels_app.connection')),
                ('key', models.CharField(max_length=200, verbose_name='chat')),
                ('place', models.CharField(help_text='Stays when the platform moves it.', max_length=200, verbose_name='chat of its memory')),
                ('title', models.CharField(blank=True, default='', max_length=200, verbose_name='title')),
                ('is_group', models.BooleanField(default=False, verbose_name='group')),
                ('retry_at', models.DateTimeField(editable=False, null=True)),
                ('lease', models.UUIDField(editable=False, help_text='Of the process that works on it.', null=True)),
                ('failures', models.PositiveIntegerField(default=0, editable=False)),
            ],
            options={
                'verbose_name': 'chat',
                'verbose_name_plural': 'chats',
                'constraints': [
                    models.UniqueConstraint(fields=('connection', 'key'), name='chat_once_a_connection'),
                    models.UniqueConstraint(fields=('id', 'workspace'), name='chat_in_workspace'),
                    memories.models.walls.InsideWorkspace('connection', cascade=True, name='chat_connection_in_its_workspace'),
                    memories.models.walls.WorkspacePolicy(name='chat_of_the_workspaces'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Contact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
                ('connection', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='contacts', to='channels_app.connection')),
                ('peer', models.CharField(max_length=200, verbose_name='peer')),
                ('name', models.CharField(blank=True, default='', max_length=200, verbose_name='name')),
                ('language', models.CharField(blank=True, default='', max_length=10, verbose_name='language')),
                ('listed', models.JSONField(default=list, help_text='Ids of memories, in their order.', verbose_name='numbers last shown')),
                ('asked_to_forget_at', models.DateTimeField(null=True)),
                ('link_code', models.CharField(blank=True, default='', help_text='Hash of the code by which another account is linked.', max_length=64)),
                ('link_code_at', models.DateTimeField(null=True)),
            ],
            options={
                'verbose_name': 'contact',
                'verbose_name_plural': 'contacts',
                'constraints': [
                    models.UniqueConstraint(fields=('connection', 'peer'), name='contact_once_a_connection'),
                    memories.models.walls.InsideWorkspace('connection', cascade=True, name='contact_connection_in_its_workspace'),
                    memories.models.walls.WorkspacePolicy(name='contact_of_the_workspaces'),
                ],
            },
        ),
        migrations.CreateModel(
            name='IncomingMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
                ('connection', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='incoming', to='channels_app.connection')),
                ('chat', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='incoming', to='channels_app.chat')),
                ('key', models.CharField(max_length=200, verbose_name='key of the platform')),
                ('kind', models.CharField(choices=[('message', 'Message'), ('edited', 'Edited'), ('recalled', 'Recalled'), ('joined', 'Joined'), ('left', 'Left'), ('button', 'Button'), ('moved', 'Moved to another chat')], max_length=10, verbose_name='kind')),
                ('message', models.CharField(blank=True, default='', max_length=200, verbose_name='message')),
                ('peer', models.CharField(blank=True, default='', max_length=200, verbose_name='from')),
                ('body', models.JSONField(default=dict, verbose_name='body')),
                ('sent_at', models.DateTimeField(verbose_name='sent')),
                ('sequence', models.BigIntegerField(default=0, verbose_name='order within a moment')),
                ('received_at', models.DateTimeField(verbose_name='received')),
                ('due_at', models.DateTimeField(verbose_name='to be answered from')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('offered', 'With your bot'), ('held', 'Kept until they write again'), ('done', 'Done'), ('failed', 'Failed')], default='waiting', max_length=10, verbose_name='state')),
                ('attempts', models.PositiveIntegerField(default=0, verbose_name='attempts')),
                ('error', models.CharField(blank=True, default='', max_length=200, verbose_name='problem')),
                ('events', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, size=None, verbose_name='messages of the session')),
                ('recall', models.UUIDField(null=True, verbose_name='recall')),
                ('offered_at', models.DateTimeField(null=True, verbose_name='given to your bot')),
            ],
            options={
                'verbose_name': 'incoming message',
                'verbose_name_plural': 'incoming messages',
                'indexes': [
                    models.Index(condition=models.Q(('state__in', ['waiting', 'offered'])), fields=['chat', 'sent_at', 'sequence'], name='incomingmessage_open'),
                    models.Index(fields=['chat', 'message'], name='incomingmessage_by_message'),
                    models.Index(fields=['received_at'], name='incomingmessage_by_time'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('connection', 'key'), name='incomingmessage_once'),
                    models.CheckConstraint(condition=models.Q(('kind__in', ['message', 'edited', 'recalled', 'joined', 'left', 'button', 'moved'])), name='incomingmessage_kind_known'),
                    models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'offered', 'held', 'done', 'failed'])), name='incomingmessage_state_known'),
                    memories.models.walls.InsideWorkspace('connection', cascade=True, name='incomingmessage_connection_in_its_workspace'),
                    memories.models.walls.InsideWorkspace('chat', cascade=True, name='incomingmessage_chat_in_its_workspace'),
                    memories.models.walls.WorkspacePolicy(name='incomingmessage_of_the_workspaces'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Notice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
                ('connection', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='notice_rows', to='channels_app.connection')),
                ('peer', models.CharField(max_length=200, verbose_name='peer')),
                ('entries', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None, verbose_name='memories')),
                ('at', models.DateTimeField(verbose_name='at')),
                ('undone_at', models.DateTimeField(null=True, verbose_name='undone')),
            ],
            options={
                'verbose_name': 'notice',
                'verbose_name_plural': 'notices',
                'indexes': [
                    models.Index(fields=['connection', '-at'], name='notice_by_time'),
                ],
                'constraints': [
                    memories.models.walls.InsideWorkspace('connection', cascade=True, name='notice_connection_in_its_workspace'),
                    memories.models.walls.WorkspacePolicy(name='notice_of_the_workspaces'),
                ],
            },
        ),
        migrations.CreateModel(
            name='OutgoingMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=memories.models.ids.uuid7, editable=False, unique=True, verbose_name='id')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace')),
                ('connection', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='outgoing', to='channels_app.connection')),
                ('chat', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='outgoing', to='channels_app.chat')),
                ('body', models.JSONField(default=dict, verbose_name='body')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('offered', 'With your bot'), ('held', 'Kept until they write again'), ('done', 'Done'), ('failed', 'Failed')], default='waiting', max_length=10, verbose_name='state')),
                ('attempts', models.PositiveIntegerField(default=0, verbose_name='attempts')),
                ('error', models.CharField(blank=True, default='', max_length=200, verbose_name='problem')),
                ('message', models.CharField(blank=True, default='', help_text='At the platform.', max_length=200, verbose_name='message')),
                ('created_at', models.DateTimeField(verbose_name='made')),
                ('sent_at', models.DateTimeField(null=True, verbose_name='sent')),
            ],
            options={
                'verbose_name': 'outgoing message',
                'verbose_name_plural': 'outgoing messages',
                'indexes': [
                    models.Index(condition=models.Q(('state', 'waiting')), fields=['chat', 'id'], name='outgoingmessage_waiting'),
                    models.Index(fields=['created_at'], name='outgoingmessage_by_time'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'offered', 'held', 'done', 'failed'])), name='outgoingmessage_state_known'),
                    memories.models.walls.InsideWorkspace('connection', cascade=True, name='outgoingmessage_connection_in_its_workspace'),
                    memories.models.walls.InsideWorkspace('chat', cascade=True, name='outgoingmessage_chat_in_its_workspace'),
                    memories.models.walls.WorkspacePolicy(name='outgoingmessage_of_the_workspaces'),
                ],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='channel',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."account" IS DISTINCT FROM (NEW."account") OR OLD."capture_group_memory" IS DISTINCT FROM (NEW."capture_group_memory") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."dm_scope" IS DISTINCT FROM (NEW."dm_scope") OR OLD."group_prefix" IS DISTINCT FROM (NEW."group_prefix") OR OLD."group_sessions" IS DISTINCT FROM (NEW."group_sessions") OR OLD."group_user_recall" IS DISTINCT FROM (NEW."group_user_recall") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."label" IS DISTINCT FROM (NEW."label") OR OLD."max_tokens" IS DISTINCT FROM (NEW."max_tokens") OR OLD."need" IS DISTINCT FROM (NEW."need") OR OLD."path_mode" IS DISTINCT FROM (NEW."path_mode") OR OLD."platform" IS DISTINCT FROM (NEW."platform") OR OLD."secrets" IS DISTINCT FROM (NEW."secrets") OR OLD."serve" IS DISTINCT FROM (NEW."serve") OR OLD."session_mode" IS DISTINCT FROM (NEW."session_mode") OR OLD."session_prefix" IS DISTINCT FROM (NEW."session_prefix") OR OLD."transcripts" IS DISTINCT FROM (NEW."transcripts") OR OLD."uid" IS DISTINCT FROM (NEW."uid") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='4d31778d27734d04208e1248da203b6a8bad433c', operation='UPDATE', pgid='pgtrigger_raise_version_c009b', table='channels_app_channel', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='channel',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='e973495be1ea18f342f478e27b5a9e9154c50f7f', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_7c2f4', referencing='REFERENCING NEW TABLE AS new_rows ', table='channels_app_channel', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='channel',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='8ef387c5665a6f762f5ccaa4e18063e3c2e97490', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_03af2', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='channels_app_channel', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='channel',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='f5da8fbf4edc16bc683aaed4a2b9d3c323126048', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_349ee', referencing='REFERENCING OLD TABLE AS old_rows ', table='channels_app_channel', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='person',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."key" IS DISTINCT FROM (NEW."key") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."note" IS DISTINCT FROM (NEW."note") OR OLD."united_at" IS DISTINCT FROM (NEW."united_at") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='4cc3bf7205612c9426d1227eb1ab99f1f5aca804', operation='UPDATE', pgid='pgtrigger_raise_version_2de9c', table='channels_app_person', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='person',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='cb190f4d9961cc061176afda885b195396b1db37', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_af397', referencing='REFERENCING NEW TABLE AS new_rows ', table='channels_app_person', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='person',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version', 'created_at']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='057e6035abbcf3e8759d1932fb141c27894ab0e8', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_dd71d', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='channels_app_person', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='person',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='a185070c3bfc42e2a249e0987ce12aac45f21b1a', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_a53eb', referencing='REFERENCING OLD TABLE AS old_rows ', table='channels_app_person', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='identity',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."peer" IS DISTINCT FROM (NEW."peer") OR OLD."person_id" IS DISTINCT FROM (NEW."person_id") OR OLD."platform" IS DISTINCT FROM (NEW."platform") OR OLD."since" IS DISTINCT FROM (NEW."since") OR OLD."unused_key" IS DISTINCT FROM (NEW."unused_key") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='c860f179ffdd81f6951e49580934827f7276e364', operation='UPDATE', pgid='pgtrigger_raise_version_61e92', table='channels_app_identity', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='identity',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='751b94ebe1ce0a7cbf2a85c71fbb2fe7902fa221', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_bfa55', referencing='REFERENCING NEW TABLE AS new_rows ', table='channels_app_identity', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='identity',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version', 'carried_version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='fcfc329ce34044f25bf5438976ca779f4a0aaf6c', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_7d11f', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='channels_app_identity', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='identity',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='500830d2baf5635d8d3725bab354c55996edc007', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_a3b68', referencing='REFERENCING OLD TABLE AS old_rows ', table='channels_app_identity', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='consent',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."actor" IS DISTINCT FROM (NEW."actor") OR OLD."at" IS DISTINCT FROM (NEW."at") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."is_given" IS DISTINCT FROM (NEW."is_given") OR OLD."note" IS DISTINCT FROM (NEW."note") OR OLD."person_id" IS DISTINCT FROM (NEW."person_id") OR OLD."subject" IS DISTINCT FROM (NEW."subject") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='5528d637ce6db6d0e2fc367aed1663a1fcdf94c2', operation='UPDATE', pgid='pgtrigger_raise_version_b80ad', table='channels_app_consent', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='consent',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='7778c5d2162090bd74c6f3e72ccc9ebd2bbeec0f', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_a5968', referencing='REFERENCING NEW TABLE AS new_rows ', table='channels_app_consent', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='consent',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='4eebdef8dd76733e2bd301c994ebc7c9d45b7081', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_d8c2b', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='channels_app_consent', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='consent',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='464334fb3dfae6b3b3c4c4d3df99cf16c57186a0', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_7b841', referencing='REFERENCING OLD TABLE AS old_rows ', table='channels_app_consent', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='connection',
            trigger=pgtrigger.compiler.Trigger(name='raise_version', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."answerer" IS DISTINCT FROM (NEW."answerer") OR OLD."callback_url" IS DISTINCT FROM (NEW."callback_url") OR OLD."channel_id" IS DISTINCT FROM (NEW."channel_id") OR OLD."has_commands" IS DISTINCT FROM (NEW."has_commands") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."instructions" IS DISTINCT FROM (NEW."instructions") OR OLD."is_enabled" IS DISTINCT FROM (NEW."is_enabled") OR OLD."notices" IS DISTINCT FROM (NEW."notices") OR OLD."options" IS DISTINCT FROM (NEW."options") OR OLD."receiving" IS DISTINCT FROM (NEW."receiving") OR OLD."retires_leavers" IS DISTINCT FROM (NEW."retires_leavers") OR OLD."uid" IS DISTINCT FROM (NEW."uid") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))', func='NEW.version = OLD.version + 1; RETURN NEW;', hash='e22e6a3af9d508544624fd043339fecc0f38d828', operation='UPDATE', pgid='pgtrigger_raise_version_d3149', table='channels_app_connection', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='connection',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{}'::jsonb, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM new_rows n;\nRETURN NULL;\n", hash='2e9e45f3f34e83c6615712351876359984c81285', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_90743', referencing='REFERENCING NEW TABLE AS new_rows ', table='channels_app_connection', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='connection',
            trigger=pgtrigger.compiler.Trigger(name='record_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n\nFROM old_rows o\nJOIN new_rows n ON n.id = o.id AND n.version <> o.version\nCROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row\nCROSS JOIN LATERAL (\n    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS columns FROM jsonb_each(row.was)\n    WHERE key <> ALL (ARRAY['version', 'cursor', 'noticed_entry', 'noticed_at', 'pulled_until', 'received_at', 'answered_at', 'problem', 'problem_at', 'retry_at', 'created_at']) AND value IS DISTINCT FROM row.now -> key\n) before;\nRETURN NULL;\n", hash='2f503528fd885f084d9651ca0a6b20f563b4cae0', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_update_57105', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='channels_app_connection', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='connection',
            trigger=pgtrigger.compiler.Trigger(name='record_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="\nINSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)\nSELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), \n    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),\n    nullif(current_setting('memplatform.batch', true), '')::bigint,\n    coalesce(current_setting('memplatform.run', true), ''),\n    clock_timestamp()\n FROM old_rows o;\nRETURN NULL;\n", hash='078d4c20a1b002d857575ad2fbbca76007e7f6fc', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_delete_1a653', referencing='REFERENCING OLD TABLE AS old_rows ', table='channels_app_connection', when='AFTER')),
        ),
        _sql.run(SQL / "connections.sql"),
    ]
    operations = _sql.new_tables(operations)

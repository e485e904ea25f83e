"""The audit log: added to by everybody, changed by nobody, shortened by a function that keeps the last days."""

import django.db.models.deletion
import memories.models.ids
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models

from memories.migrations._walls import INSIDE_OR_OF_ALL, security_definers


FORGET = {
    "memplatform_forget_audit(timestamptz)": """
        CREATE FUNCTION memplatform_forget_audit(before timestamptz) RETURNS bigint
        LANGUAGE plpgsql SECURITY DEFINER AS $$
        DECLARE removed bigint;
        BEGIN
            DELETE FROM memories_auditrecord WHERE at < least(before, now() - interval '31 days');
            GET DIAGNOSTICS removed = ROW_COUNT;
            RETURN removed;
        END $$
    """
}
#: Read inside the wall; written also before somebody is known, as a login that fails is.
WALL = f"""
ALTER TABLE memories_auditrecord ENABLE ROW LEVEL SECURITY;
CREATE POLICY auditrecord_of_the_workspaces ON memories_auditrecord FOR SELECT USING ({INSIDE_OR_OF_ALL});
CREATE POLICY auditrecord_written ON memories_auditrecord FOR INSERT WITH CHECK (
    workspace_id IS NULL OR workspace_id = ANY ((SELECT memplatform_workspaces())::bigint[])
)
"""
NO_WALL = """
DROP POLICY auditrecord_written ON memories_auditrecord;
DROP POLICY auditrecord_of_the_workspaces ON memories_auditrecord;
ALTER TABLE memories_auditrecord DISABLE ROW LEVEL SECURITY
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0011_roles'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditRecord',
            fields=[
                ('id', models.UUIDField(default=memories.models.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('at', models.DateTimeField(verbose_name='at')),
                ('actor', models.CharField(max_length=200, verbose_name='by')),
                ('event', models.CharField(choices=[('login', 'Logged in'), ('login_failed', 'Login failed'), ('login_locked', 'Login locked'), ('password', 'Password changed'), ('factor_on', 'Second factor set up'), ('factor_off', 'Second factor removed'), ('code_failed', 'Wrong code'), ('invited', 'Invited somebody'), ('joined', 'Joined by an invitation'), ('withdrawn', 'Withdrew an invitation'), ('role', 'Changed a role'), ('dismissed', 'Dismissed somebody'), ('account', 'Changed an account'), ('revealed', 'Looked at a secret'), ('key_issued', 'Issued a key'), ('key_revoked', 'Revoked a key'), ('secret_made', 'Made a new secret'), ('setting', 'Changed a setting'), ('approved', 'Approved a batch'), ('refused', 'Refused a batch'), ('undone', 'Undid a batch'), ('job', 'Ran a job'), ('erased', 'Erased'), ('exported', 'Exported')], max_length=20, verbose_name='event')),
                ('about', models.CharField(blank=True, default='', max_length=300, verbose_name='about')),
                ('address', models.CharField(blank=True, default='', help_text='Where its own history stands.', max_length=300, verbose_name='page')),
                ('details', models.JSONField(default=dict, verbose_name='details')),
                ('ip', models.GenericIPAddressField(null=True, verbose_name='from')),
                ('user', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='person')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memories.workspace', verbose_name='workspace')),
            ],
            options={
                'verbose_name': 'record of the audit log',
                'verbose_name_plural': 'audit log',
                'indexes': [models.Index(fields=['workspace', '-at'], name='auditrecord_by_time'), models.Index(fields=['user', '-at'], name='auditrecord_by_person'), models.Index(fields=['at'], name='auditrecord_by_age')],
                'constraints': [models.CheckConstraint(condition=models.Q(('event__in', ['login', 'login_failed', 'login_locked', 'password', 'factor_on', 'factor_off', 'code_failed', 'invited', 'joined', 'withdrawn', 'role', 'dismissed', 'account', 'revealed', 'key_issued', 'key_revoked', 'secret_made', 'setting', 'approved', 'refused', 'undone', 'job', 'erased', 'exported'])), name='auditrecord_event_known')],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='auditrecord',
            trigger=pgtrigger.compiler.Trigger(name='never_changed', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;", hash='0d26d5eba1bcffd0513ab7dad5b6bca095f3ac12', operation='UPDATE', pgid='pgtrigger_never_changed_4ca12', table='memories_auditrecord', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='auditrecord',
            trigger=pgtrigger.compiler.Trigger(name='kept', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF OLD.at > now() - interval '30 days' THEN\n        RAISE EXCEPTION 'the audit log is kept for 30 days at least';\n    END IF;\n    RETURN OLD;\n", hash='b00b3ca41585aeb682fb92a7de27a1b57e037cb8', operation='DELETE', pgid='pgtrigger_kept_233c8', table='memories_auditrecord', when='BEFORE')),
        ),
        migrations.RunSQL(WALL, NO_WALL),
        *security_definers(FORGET),
    ]

"""What people do to their own memory in a chat is in the audit log."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0003_oauth'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='auditrecord',
            name='auditrecord_event_known',
        ),
        migrations.AlterField(
            model_name='auditrecord',
            name='event',
            field=models.CharField(choices=[('login', 'Logged in'), ('logout', 'Logged out'), ('login_failed', 'Login failed'), ('login_locked', 'Login locked'), ('password', 'Password changed'), ('factor_on', 'Second factor set up'), ('factor_off', 'Second factor removed'), ('code_failed', 'Wrong code'), ('invited', 'Invited somebody'), ('joined', 'Joined by an invitation'), ('withdrawn', 'Withdrew an invitation'), ('role', 'Changed a role'), ('dismissed', 'Dismissed somebody'), ('account', 'Changed an account'), ('revealed', 'Looked at a secret'), ('key_issued', 'Issued a key'), ('key_revoked', 'Revoked a key'), ('secret_made', 'Made a new secret'), ('setting', 'Changed a setting'), ('approved', 'Approved a batch'), ('refused', 'Refused a batch'), ('undone', 'Undid a batch'), ('quarantined', 'Put into quarantine'), ('released', 'Let back from quarantine'), ('leaked', 'An answer was held back'), ('job', 'Ran a job'), ('erased', 'Erased'), ('exported', 'Exported'), ('own_memory', 'Changed their own memory in a chat')], max_length=20, verbose_name='event'),
        ),
        migrations.AddConstraint(
            model_name='auditrecord',
            constraint=models.CheckConstraint(condition=models.Q(('event__in', ['login', 'logout', 'login_failed', 'login_locked', 'password', 'factor_on', 'factor_off', 'code_failed', 'invited', 'joined', 'withdrawn', 'role', 'dismissed', 'account', 'revealed', 'key_issued', 'key_revoked', 'secret_made', 'setting', 'approved', 'refused', 'undone', 'quarantined', 'released', 'leaked', 'job', 'erased', 'exported', 'own_memory'])), name='auditrecord_event_known'),
        ),
    ]

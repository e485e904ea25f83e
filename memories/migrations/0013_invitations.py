"""Invitations: a link by which one person joins a workspace, once."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from memories.migrations._walls import row_level_security, security_definers


WHOSE = {
    "memplatform_workspace_of_invitation(text)": """
        CREATE FUNCTION memplatform_workspace_of_invitation(asked text) RETURNS bigint
        LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
        BEGIN RETURN (SELECT workspace_id FROM memories_invitation WHERE digest = asked); END $$
    """
}


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0012_audit_log'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('viewer', 'Viewer'), ('auditor', 'Auditor'), ('curator', 'Curator'), ('operator', 'Operator'), ('owner', 'Owner')], max_length=10, verbose_name='role')),
                ('label', models.CharField(blank=True, default='', max_length=100, verbose_name='for whom')),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('expires_at', models.DateTimeField(verbose_name='expires')),
                ('accepted_at', models.DateTimeField(blank=True, null=True, verbose_name='accepted')),
                ('withdrawn_at', models.DateTimeField(blank=True, null=True, verbose_name='withdrawn')),
                ('invited_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='invited by')),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='memories.workspace', verbose_name='workspace')),
            ],
            options={
                'verbose_name': 'invitation',
                'verbose_name_plural': 'invitations',
                'constraints': [models.CheckConstraint(condition=models.Q(('role__in', ['viewer', 'auditor', 'curator', 'operator', 'owner'])), name='invitation_role_known'), models.CheckConstraint(condition=models.Q(('accepted_at', None), ('withdrawn_at', None), _connector='OR'), name='invitation_accepted_or_withdrawn')],
            },
        ),
        row_level_security("memories_invitation", "invitation"),
        *security_definers(WHOSE),
    ]

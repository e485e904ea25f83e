"""Two checks that a missing value slipped through: NULL is not false."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0008_evidence_of_a_recall'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='entry',
            name='entry_tier_of_facts_only',
        ),
        migrations.RemoveConstraint(
            model_name='entry',
            name='entry_lines_in_order',
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('tier__in', [1, 2]), ('tier__isnull', False), ('type', 'fact')), models.Q(models.Q(('type', 'fact'), _negated=True), ('tier__isnull', True)), _connector='OR'), name='entry_tier_of_facts_only'),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('line_from__isnull', True), ('line_to__isnull', True)), models.Q(('line_from__isnull', False), ('line_from__lte', models.F('line_to')), ('line_to__isnull', False)), _connector='OR'), name='entry_lines_in_order'),
        ),
    ]

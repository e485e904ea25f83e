"""A date on which somebody is to look at an entry again (A9)."""

import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0021_a_version_alone"),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name="entry",
            name="raise_version",
        ),
        migrations.AddField(
            model_name="entry",
            name="review_at",
            field=models.DateTimeField(
                blank=True,
                help_text="Stays in use; it is listed as due from then on.",
                null=True,
                verbose_name="review by",
            ),
        ),
        migrations.AddIndex(
            model_name="entry",
            index=models.Index(
                condition=models.Q(
                    ("archived_at__isnull", True),
                    ("expired_at__isnull", True),
                    ("superseded_by__isnull", True),
                    ("suppressed_at__isnull", True),
                    ("review_at__isnull", False),
                ),
                fields=["review_at"],
                name="entry_live_by_review",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="entry",
            trigger=pgtrigger.compiler.Trigger(
                name="raise_version",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition='WHEN (OLD."archived_at" IS DISTINCT FROM (NEW."archived_at") OR OLD."category" IS DISTINCT FROM (NEW."category") OR OLD."channel" IS DISTINCT FROM (NEW."channel") OR OLD."chat_id" IS DISTINCT FROM (NEW."chat_id") OR OLD."chats" IS DISTINCT FROM (NEW."chats") OR OLD."content" IS DISTINCT FROM (NEW."content") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."expired_at" IS DISTINCT FROM (NEW."expired_at") OR OLD."expires_at" IS DISTINCT FROM (NEW."expires_at") OR OLD."fingerprint" IS DISTINCT FROM (NEW."fingerprint") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."importance" IS DISTINCT FROM (NEW."importance") OR OLD."length" IS DISTINCT FROM (NEW."length") OR OLD."line_from" IS DISTINCT FROM (NEW."line_from") OR OLD."line_to" IS DISTINCT FROM (NEW."line_to") OR OLD."origins" IS DISTINCT FROM (NEW."origins") OR OLD."path" IS DISTINCT FROM (NEW."path") OR OLD."pinned" IS DISTINCT FROM (NEW."pinned") OR OLD."project" IS DISTINCT FROM (NEW."project") OR OLD."review_at" IS DISTINCT FROM (NEW."review_at") OR OLD."scope_id" IS DISTINCT FROM (NEW."scope_id") OR OLD."sender_id" IS DISTINCT FROM (NEW."sender_id") OR OLD."session_id" IS DISTINCT FROM (NEW."session_id") OR OLD."source" IS DISTINCT FROM (NEW."source") OR OLD."speaker" IS DISTINCT FROM (NEW."speaker") OR OLD."stated_at" IS DISTINCT FROM (NEW."stated_at") OR OLD."subtype" IS DISTINCT FROM (NEW."subtype") OR OLD."superseded_by_id" IS DISTINCT FROM (NEW."superseded_by_id") OR OLD."suppressed_at" IS DISTINCT FROM (NEW."suppressed_at") OR OLD."terms" IS DISTINCT FROM (NEW."terms") OR OLD."thread_id" IS DISTINCT FROM (NEW."thread_id") OR OLD."tier" IS DISTINCT FROM (NEW."tier") OR OLD."topic" IS DISTINCT FROM (NEW."topic") OR OLD."type" IS DISTINCT FROM (NEW."type") OR OLD."uid" IS DISTINCT FROM (NEW."uid") OR OLD."verified_at" IS DISTINCT FROM (NEW."verified_at") OR OLD."verified_by" IS DISTINCT FROM (NEW."verified_by") OR OLD."workspace_id" IS DISTINCT FROM (NEW."workspace_id"))',
                    func="NEW.version = OLD.version + 1; RETURN NEW;",
                    hash="162ea821a89bc65cd8e36f5811022484f7dbbb9d",
                    operation="UPDATE",
                    pgid="pgtrigger_raise_version_16fde",
                    table="memories_entry",
                    when="BEFORE",
                ),
            ),
        ),
    ]

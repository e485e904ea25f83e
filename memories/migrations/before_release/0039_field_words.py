"""Tables take the field's words: receipts are recall traces, parcels extraction batches, stale entries the index queue.

Everything that bears an old name is renamed in place: tables, columns, constraints, indexes, sequences, policies, and the
functions that read the tables.
"""

from typing import Any

from django.db import migrations, models
from django.db.models import Q

TABLES = {
    "memories_receipt": "memories_recalltrace",
    "memories_parcel": "memories_extractionbatch",
    "memories_staleentry": "memories_indexqueueitem",
}
#: In the names of constraints, indexes and policies, in this order.
NAMES = TABLES | {
    "bufferedturn_of_parcel": "bufferedturn_of_batch", "bufferedturn_parcel_id": "bufferedturn_batch_id", "parcel": "extraction", "receipt": "trace", "staleentry": "indexqueue",
}
MODELS = {"receipt": "recalltrace", "parcel": "extractionbatch", "staleentry": "indexqueueitem"}

RENAME = """
DO $$
DECLARE found record;
BEGIN
    {columns}
    FOR found IN SELECT conrelid::regclass AS t, conname AS name FROM pg_constraint
        WHERE connamespace = current_schema()::regnamespace AND conrelid <> 0 AND conname ~ '{any}' AND contype <> 't' LOOP
        EXECUTE format('ALTER TABLE %s RENAME CONSTRAINT %I TO %I', found.t, found.name, {new});
    END LOOP;
    FOR found IN SELECT relname AS name, relkind FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relname ~ '{any}' AND relkind IN ('i', 'S') LOOP
        EXECUTE format('ALTER %s %I RENAME TO %I', CASE found.relkind WHEN 'i' THEN 'INDEX' ELSE 'SEQUENCE' END, found.name, {new});
    END LOOP;
    FOR found IN SELECT polrelid::regclass AS t, polname AS name FROM pg_policy
        WHERE polname ~ '{any}' AND polrelid IN (SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace) LOOP
        EXECUTE format('ALTER POLICY %I ON %s RENAME TO %I', found.name, found.t, {new});
    END LOOP;
    {tables}
    FOR found IN SELECT oid, pg_get_functiondef(oid) AS name FROM pg_proc
        WHERE pronamespace = current_schema()::regnamespace AND prokind = 'f' AND prosrc ~ '{any_table}' LOOP
        EXECUTE {new_body};
    END LOOP;
    IF to_regclass('django_content_type') IS NOT NULL THEN
        {content_types}
    END IF;
    IF to_regclass('auth_permission') IS NOT NULL THEN
        {permissions}
    END IF;
END $$
"""


def _sql(*, back: bool) -> str:
    def turned(pairs: dict[str, str]) -> list[tuple[str, str]]:
        return [(new, old) if back else (old, new) for old, new in pairs.items()]

    def replaced(column: str, pairs: dict[str, str]) -> str:
        for old, new in turned(pairs):
            column = f"replace({column}, '{old}', '{new}')"
        return column

    old, new = ("batch", "parcel") if back else ("parcel", "batch")
    return RENAME.format(
        any="|".join(before for before, _ in turned(NAMES)),
        any_table="|".join(before for before, _ in turned(TABLES)),
        new=replaced("found.name", NAMES),
        new_body=replaced("found.name", TABLES),
        columns=f"ALTER TABLE memories_bufferedturn RENAME COLUMN {old}_id TO {new}_id;",
        tables="\n    ".join(f"ALTER TABLE {a} RENAME TO {b};" for a, b in turned(TABLES)),
        content_types="\n        ".join(
            f"UPDATE django_content_type SET model = '{b}' WHERE app_label = 'memories' AND model = '{a}';"
            for a, b in turned(MODELS)
        ),
        permissions="\n        ".join(
            f"UPDATE auth_permission SET codename = regexp_replace(codename, '_{a}$', '_{b}') WHERE codename ~ '_{a}$';"
            for a, b in turned(MODELS)
        ),
    )


def constraint(old: str, new: str, **how: Any) -> list[Any]:
    kind = how.pop("kind")
    return [
        migrations.RemoveConstraint("extractionbatch", f"parcel_{old}"),
        migrations.AddConstraint("extractionbatch", kind(name=f"extraction_{new}", **how)),
    ]


STATES = ["waiting", "claimed", "parked"]
STATE = [
    migrations.RenameModel("Receipt", "RecallTrace"),
    migrations.RenameModel("Parcel", "ExtractionBatch"),
    migrations.RenameModel("StaleEntry", "IndexQueueItem"),
    migrations.RemoveIndex("bufferedturn", "bufferedturn_of_parcel"),
    migrations.RenameField("bufferedturn", "parcel", "batch"),
    migrations.AddIndex("bufferedturn", models.Index(fields=["batch", "said_at", "id"], name="bufferedturn_of_batch")),
    migrations.RenameIndex("recalltrace", old_name="receipt_by_time", new_name="trace_by_time"),
    migrations.RenameIndex("recalltrace", old_name="receipt_by_age", new_name="trace_by_age"),
    *[
        migrations.RenameIndex("extractionbatch", old_name=f"parcel_{name}", new_name=f"extraction_{name}")
        for name in ("by_due", "of_conversation", "by_time", "by_state")
    ],
    migrations.RenameIndex(
        "indexqueueitem", old_name="staleentry_in_order_of_arrival", new_name="indexqueue_in_order_of_arrival"
    ),
    migrations.AlterModelOptions(
        "extractionbatch", {"verbose_name": "extraction batch", "verbose_name_plural": "buffer"}
    ),
    migrations.AlterModelOptions(
        "indexqueueitem", {"verbose_name": "entry to index", "verbose_name_plural": "index queue"}
    ),
    migrations.AlterModelOptions(
        "recalltrace", {"verbose_name": "recall trace", "verbose_name_plural": "recall traces"}
    ),
    migrations.AlterField(
        "batch", "held_because",
        models.JSONField(
            blank=True, default=list, help_text="Reasons of the safety limit, each a code with its figures.",
            verbose_name="held because",
        ),
    ),
    *constraint("in_workspace", "in_workspace", kind=models.UniqueConstraint, fields=["id", "workspace"]),
    *constraint(
        "gathers_once", "gathers_once", kind=models.UniqueConstraint, fields=["session_uid", "conversation"],
        condition=Q(state="waiting", sealed=False),
    ),
    *constraint("state_known", "state_known", kind=models.CheckConstraint, condition=Q(state__in=STATES)),
    *constraint(
        "claimed_by_somebody", "claimed_by_somebody", kind=models.CheckConstraint,
        condition=~Q(state="claimed") | Q(claim__isnull=False),
    ),
    *constraint(
        "sealed_when_taken", "sealed_when_taken", kind=models.CheckConstraint,
        condition=Q(state="waiting") | Q(sealed=True),
    ),
]


class Migration(migrations.Migration):
    dependencies = [("memories", "0038_plain_help_texts")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(_sql(back=False), _sql(back=True))], state_operations=STATE
        )
    ]

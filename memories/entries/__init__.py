"""The one door: nothing but this package inserts or changes an Entry."""

from memories.entries.changes import (
    BulkOutcome,
    Edit,
    copies_of,
    copies_to_expire,
    copies_to_restore,
    expire,
    expire_many,
    expire_with_copies,
    is_own_statement,
    link_sources,
    mark_read,
    merge,
    restore,
    restore_many,
    restore_with_copies,
    revert,
    supersede,
    update,
    update_many,
)
from memories.entries.contradictions import (
    CONTRADICTED_BY,
    CONTRADICTED_SQL,
    contradict,
    contradiction_of,
    outdated_lines,
)
from memories.entries.draft import BULK_EDITABLE, ERASED, FORM_FIELDS, QUARANTINED, TAKEN_OUT, WriteResult, read_columns
from memories.entries.evidence import Lineage, lineage_of
from memories.entries.history import PriorRow, changed_since_batch, differences, rows_before
from memories.entries.past import needed_replacements, rollback
from memories.entries.removal import cover_messages, days_resting_on, purge, quarantine_many, uncover_messages
from memories.entries.suppression import lift_suppression
from memories.entries.write import remember, remember_many
from memories.models.tenancy import lock_scopes

"""Batches: changes made together by one run or one person, planned first, then applied, refused or taken back (F3).

plan → (fuse) → proposed → applying → applied → undone, or refused. One batch a run and scope.
"""

from memories.batches.apply import CHUNK, apply_batch, progress, resume, start, unfinished
from memories.batches.approval import approve, edit_step, refuse, remove_steps
from memories.batches.descriptions import Description, blocking_batches, describe, note_of
from memories.batches.planning import Step, plan, plan_all
from memories.batches.proposals import of_run_and_parts, open_proposals, require_approval, run_part, supersede_proposals
from memories.batches.safety_limit import approval_reasons
from memories.batches.undo import changed_since, events_changed_since, plan_undo, undo_blockers

__all__ = [
    "CHUNK",
    "Step",
    "Description",
    "approve",
    "apply_batch",
    "changed_since",
    "progress",
    "events_changed_since",
    "require_approval",
    "approval_reasons",
    "blocking_batches",
    "note_of",
    "of_run_and_parts",
    "open_proposals",
    "supersede_proposals",
    "run_part",
    "plan",
    "plan_all",
    "plan_undo",
    "refuse",
    "remove_steps",
    "resume",
    "edit_step",
    "undo_blockers",
    "start",
    "describe",
    "unfinished",
]

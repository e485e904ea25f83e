"""Batches: changes made together by one run or one person, planned first, then applied, refused or undone (F3).

plan → (safety limit) → proposed → applying → applied → undone, or refused. A run makes one batch a scope.
"""

from memories.batches.apply import CHUNK, apply_batch, progress, resume, start, unfinished
from memories.batches.approval import (
    BY_PEOPLE,
    OverruledReplacements,
    Question,
    approve,
    edit_step,
    of_run,
    open_proposals,
    open_questions,
    put_back_steps,
    refuse,
    remove_steps,
    reopen,
    require_approval,
    run_part,
    supersede_proposals,
)
from memories.batches.descriptions import Description, blocking_batches, describe, note_of
from memories.batches.planning import StepForAll, add_applied, approval_reasons, begin_applied, plan
from memories.batches.steps import PlanRow
from memories.batches.undo import changed_since, plan_undo, undo_blockers, with_effect

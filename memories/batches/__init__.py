"""Batches: changes made together by one run or one person, planned first, then applied, refused or taken back (F3).

plan → (fuse) → proposed → applying → applied → undone, or refused. One batch a run and scope.
"""

from memories.batches.apply import CHUNK, carry_out, dealt_with, resume, start, waiting
from memories.batches.approval import approve, refuse, remove, reword
from memories.batches.describe import Told, named_by, note_of, tell
from memories.batches.planning import Step, plan, plan_all
from memories.batches.proposals import hold, of_run, open_proposals, overtake, part_of
from memories.batches.safety_limit import in_words
from memories.batches.undo import changed_since, events_changed_since, plan_undo, standing

__all__ = [
    "CHUNK",
    "Step",
    "Told",
    "approve",
    "carry_out",
    "changed_since",
    "dealt_with",
    "events_changed_since",
    "hold",
    "in_words",
    "named_by",
    "note_of",
    "of_run",
    "open_proposals",
    "overtake",
    "part_of",
    "plan",
    "plan_all",
    "plan_undo",
    "refuse",
    "remove",
    "resume",
    "reword",
    "standing",
    "start",
    "tell",
    "waiting",
]

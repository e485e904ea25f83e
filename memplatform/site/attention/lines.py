"""Every line there may be, in the order they are shown in; grave ones come first. How to add one: the package."""

from collections.abc import Callable, Iterable

from memplatform.site.attention import channels, platform, workspaces
from memplatform.site.attention.items import Item, Viewer

LINES: tuple[Callable[[Viewer], Iterable[Item]], ...] = (
    platform.silent_processes,
    platform.full_disks,
    platform.held_back_answers,
    platform.failing_model,
    platform.missing_embedder,
    platform.failed_tasks,
    platform.late_queue,
    platform.model_changes,
    workspaces.failed_jobs,
    workspaces.failed_deliveries,
    workspaces.parked_conversations,
    channels.parked_calls,
    workspaces.waiting_batches,
    workspaces.due_reviews,
    workspaces.ended_last_night,
    workspaces.quarantined,
    workspaces.late_embeddings,
    workspaces.degraded_answers,
    workspaces.spent_budgets,
    workspaces.failing_tests,
    workspaces.fooled_readers,
    channels.shared_by_strangers,
)


def items(viewer: Viewer) -> list[Item]:
    """What needs this person now, grave things first."""
    found = (item for line in LINES for item in line(viewer))
    return sorted(found, key=lambda item: not item.is_grave)

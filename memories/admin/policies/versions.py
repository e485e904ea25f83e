"""Every version of the policies of a workspace: who changed what and when, and what held then (F2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memories.admin.labels import actor_label
from memories.admin.policies.numbers import NumberChange, changes_between
from memories.choices import Operation
from memories.models import Change, Policy
from memories.models.policy import Subject

Values = dict[Subject, float | None]
_Rows = dict[int, dict[str, Any]]  # columns by the id of the row
#: Changes that are read back: what is older stands in the history of each number.
CHANGES_READ = 500


@dataclass(frozen=True)
class Version:
    """The policies of a workspace from one change on."""

    number: int  # id of its last change
    at: datetime
    actor: str
    reason: str
    lines: list[NumberChange]
    values: Values
    is_present: bool


def versions_of(workspace_id: int) -> list[Version]:
    """The versions of a workspace's policies, the newest first: walked back from what holds now."""
    changes = Change.objects.filter(workspace_id=workspace_id, table_name=Policy._meta.db_table).order_by("-id")
    rows: _Rows = {row["id"]: {**row} for row in Policy.objects.filter(workspace_id=workspace_id).values()}
    versions: list[Version] = []
    after = _values(rows)
    for group in _groups(changes[:CHANGES_READ]):
        reason = _reason(group, rows)
        for change in group:
            _take_back(change, rows)
        before = _values(rows)
        versions.append(
            Version(
                number=group[0].pk,
                at=group[0].at,
                actor=actor_label(group[0].actor),
                reason=reason,
                lines=changes_between(before, after),
                values=after,
                is_present=not versions,
            )
        )
        after = before
    return versions


def _groups(changes: Sequence[Change] | Any) -> list[list[Change]]:
    """Changes that were saved together, by their run; others are alone."""
    groups: list[list[Change]] = []
    for change in changes:
        if groups and change.run and groups[-1][0].run == change.run:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _reason(group: Sequence[Change], rows: _Rows) -> str:
    """The reason of a save; what was changed without one may still carry that of an earlier one."""
    if not group[0].run:
        return ""
    change = group[0]
    row = change.old if change.op == Operation.DELETE else rows.get(change.row_id, {})
    return str(row.get("reason", ""))


def _take_back(change: Change, rows: _Rows) -> None:
    if change.op == Operation.INSERT:
        rows.pop(change.row_id, None)
    elif change.op == Operation.DELETE:
        rows[change.row_id] = dict(change.old)
    elif change.row_id in rows:
        rows[change.row_id] = rows[change.row_id] | change.old


def _values(rows: _Rows) -> Values:
    return {(row["kind"], row["entry_type"], row["scope_kind"], row["name"]): row["value"] for row in rows.values()}

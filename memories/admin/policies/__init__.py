"""Policies: what holds in a workspace, a preview of other numbers before they are saved, and every version."""

from memories.admin.policies.page import PolicyAdmin

__all__ = ["PolicyAdmin"]

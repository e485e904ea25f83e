"""The review: every proposal that waits for a person, one at a time, the most harmful first (F4)."""

from memories.admin.review.page import page

__all__ = ["page"]

"""The recall lab: any question as any chat or person, at any moment, by these policies and by others."""

from memplatform.lab.page import page

__all__ = ["page"]

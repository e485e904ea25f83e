"""The recall lab: any question as any chat or person, at any moment, by these policies and by others."""

from channels_app.lab.page import page

__all__ = ["page"]

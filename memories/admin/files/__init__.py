"""Files of markdown in the admin: what lies there, what is out of step and why, and each file with its lines."""

from memories.admin.files import page

__all__ = ["page"]

"""The bot that talks of tests.sessions, and its clock."""

from tests.sessions.conftest import talk, told_time

__all__ = ["talk", "told_time"]

"""The bot that talks of tests.sessions_app, and its clock."""

from tests.sessions_app.conftest import talk, told_time

__all__ = ["talk", "told_time"]

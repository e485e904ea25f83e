"""A bot that talks, and the clock it talks by."""

from tests.sessions_app.conftest import talk, told_time

__all__ = ["talk", "told_time"]

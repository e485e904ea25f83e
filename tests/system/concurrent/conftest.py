"""The bot that talks of tests.sessions_app, its clock and its model."""

from tests.sessions_app.conftest import model, talk, told_time

__all__ = ["model", "talk", "told_time"]

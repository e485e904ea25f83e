"""The bot that talks of tests.sessions_app, and its clock."""

from tests.sessions_app.conftest import clock_of_calls, talk

__all__ = ["talk", "clock_of_calls"]

"""A bot that talks, and the clock it talks by."""

from tests.sessions_app.conftest import clock_of_calls, talk

__all__ = ["talk", "clock_of_calls"]

"""The bot that talks of tests.sessions_app, its clock and its model."""

from tests.sessions_app.conftest import clock_of_calls, model, talk

__all__ = ["model", "talk", "clock_of_calls"]

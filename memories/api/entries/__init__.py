"""Calls about entries."""

"""Calls about conversations."""

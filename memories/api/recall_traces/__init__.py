"""Calls about past recalls."""

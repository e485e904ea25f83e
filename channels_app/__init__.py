"""Platforms and the calls that start from an address."""

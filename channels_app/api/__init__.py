"""The calls that start from an address."""

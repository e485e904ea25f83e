"""Bots that are programs of their own: how one is connected."""

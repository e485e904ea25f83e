"""Bringing in what other programs kept: folders of markdown, and the files they export."""

"""Measuring recall on published conversations: the same door, the same ranking, a workspace that is thrown away."""

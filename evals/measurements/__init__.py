"""What becomes of memories, measured in a database or on a platform that is thrown away: how well, not how quickly."""

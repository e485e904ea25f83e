"""From conversations to facts: the buffer, extraction, compression, notes of days."""

"""What recall searches, derived from entries: search rows, statistics of words, and the process that embeds."""

"""What goes on without the database: whether it is away, the keys that are known, and the journal of calls (C11)."""

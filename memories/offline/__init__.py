"""What goes on without the database: whether it is away, the cache of keys, and the journal of calls (C11)."""

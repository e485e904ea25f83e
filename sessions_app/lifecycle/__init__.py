"""The life of a session: opened, appended to, locked, kept within its budget, reset and closed."""

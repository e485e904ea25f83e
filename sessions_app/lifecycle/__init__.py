"""The life of a session: opened, appended to, locked, reset and closed."""

"""A conversation as it is handed out again: replay, redaction, and what a client believes it was."""

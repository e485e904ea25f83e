"""The history of a conversation: replay, redaction, retention, and the diff of a client's history."""

"""The people who work here: what their roles let them do in a workspace."""

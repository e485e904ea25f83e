"""The audit log: what the people who work here did and looked at."""

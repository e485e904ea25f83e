"""What a recall leaves behind: its trace, its line of the log, and what was made of its answer."""

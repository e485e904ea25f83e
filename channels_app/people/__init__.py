"""People across platforms: who they are, whose accounts are linked, and what of their memory is united then (E1)."""

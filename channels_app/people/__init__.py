"""People across platforms: who they are, which identities are theirs, and what of their memory is united then (E1)."""

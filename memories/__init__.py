"""What is remembered: workspaces, bots, scopes, entries, and every verb on them."""

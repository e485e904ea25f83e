"""Who may reach what: addresses become scopes, and the walls between workspaces."""

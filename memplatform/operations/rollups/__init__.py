"""What happened, counted by hour, workspace and channel: what the home page draws is read from these rows alone."""

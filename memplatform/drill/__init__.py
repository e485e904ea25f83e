"""A leak drill: words that nobody else may be shown are planted, asked for at every door, and taken back."""

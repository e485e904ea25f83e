"""How processes log in to the database, and what they may do there."""

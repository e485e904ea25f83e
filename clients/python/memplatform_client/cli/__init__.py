"""`memplatform`: memory for people at a terminal, against any platform by its URL and a key."""

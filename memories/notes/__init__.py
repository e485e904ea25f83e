"""Files of markdown as memory: indexed line by line, saved to, imported."""

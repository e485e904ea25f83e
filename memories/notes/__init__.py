"""Notes: what stands in files of markdown, and the memories that are made of it (C2, C12, D8)."""

"""What becomes of entries with time: expiry, capacity, purging, access counts, maintenance of derived rows."""

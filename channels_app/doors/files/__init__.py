"""Answering from the files: while the database is away, and by choice of a channel, a workspace or the platform.

`answers.place_of(caller, address, …)` says whose files a message belongs to: `folders` to search, the `scope_key` it
writes to, the journal's `stream`. Turns and events go to the journal and to a transcript (`calls`); a context and a
recall are read from the files (`answers`). What the journal holds is applied to the database once it is there, in order
and once (`replay`). Which way a channel goes is asked with every call (`channels_app.addresses`).
"""

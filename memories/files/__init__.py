"""Memory in markdown: the files people read, diff and write by hand (C1–C5, E3, E6).

`layout` says where they lie and which paths may be opened, `disk` reads and writes them, `markdown` finds what they
say, `keyword` searches them. Nothing here knows of a database.
"""

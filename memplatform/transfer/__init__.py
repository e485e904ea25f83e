"""Export and import of a scope or workspace, with all its tables (F8): the one place that knows those of every app.

An export is a folder: `memory.jsonl`, one record a line, `files`, the markdown as it lies on the disk, and `markdown`,
what is remembered as people read it. `records` says what each line holds, in the order in which lines are written.
"""

-- Search rows are read by the thousand: their vectors stay in the row, not in a table beside it.
ALTER TABLE memories_entryindex ALTER embedding SET STORAGE MAIN, ALTER keywords SET STORAGE MAIN;

-- Counts of the last minutes may be lost with the server.
ALTER TABLE memories_keyusage SET UNLOGGED;

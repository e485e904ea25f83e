-- As those of entries: search rows are read by the thousand, and their vectors stay in the row.
ALTER TABLE sessions_app_eventindex ALTER embedding SET STORAGE MAIN, ALTER keywords SET STORAGE MAIN;

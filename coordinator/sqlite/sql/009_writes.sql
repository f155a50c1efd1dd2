-- Schema version 9: a write of 500 bytes has no page of its own any more. In a table without rowid a row of more than a
-- quarter of a page (2 KB) goes on in a page that no other row uses, in one with a rowid only a row that fills its page.

CREATE TABLE roomy_write (place INTEGER NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, spans TEXT NOT NULL);
INSERT INTO roomy_write SELECT place, name, data, spans FROM write ORDER BY place, name;
DROP TABLE write;
ALTER TABLE roomy_write RENAME TO write;
CREATE UNIQUE INDEX write_name ON write (place, name);

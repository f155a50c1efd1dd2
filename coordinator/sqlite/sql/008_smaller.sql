-- Schema version 8: new commit lines hold their seal as bytes (commit_lines.py), and small tables are one tree less: an
-- empty tree is a page.

CREATE TABLE ended_stream (job TEXT NOT NULL PRIMARY KEY, namespace TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO ended_stream SELECT job, namespace, until FROM stream_end;
DROP TABLE stream_end;
ALTER TABLE ended_stream RENAME TO stream_end;
CREATE INDEX stream_end_until ON stream_end (namespace, until);

-- A thread numbers its own turns.
CREATE TABLE numbered_turn (
    namespace TEXT NOT NULL, thread TEXT NOT NULL, number INTEGER NOT NULL, job TEXT NOT NULL,
    PRIMARY KEY (namespace, thread, number)
) WITHOUT ROWID;
INSERT INTO numbered_turn SELECT namespace, thread, number, job FROM turn;
DROP TABLE turn;
ALTER TABLE numbered_turn RENAME TO turn;
CREATE UNIQUE INDEX turn_job ON turn (job);

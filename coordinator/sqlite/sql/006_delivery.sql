-- Schema version 6: when and in which order deliveries run, and since when they fail.

ALTER TABLE job ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN failing INTEGER NOT NULL DEFAULT 0;

-- Questions: see JobRow in rows.py.
ALTER TABLE job ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN answered TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN assignee TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN escalation TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN escalated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN terms BLOB NOT NULL DEFAULT X'';
ALTER TABLE job ADD COLUMN otherwise BLOB NOT NULL DEFAULT X'';
CREATE INDEX job_asking ON job (namespace, asked, id) WHERE state = 'input_required';
ALTER TABLE job ADD COLUMN expires INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN deadline INTEGER NOT NULL DEFAULT 0;
-- Unended jobs by when they fail, the earlier of the two.
CREATE INDEX job_limit ON job (
    namespace, CASE WHEN expires > 0 AND (deadline = 0 OR expires < deadline) THEN expires ELSE deadline END
) WHERE (expires > 0 OR deadline > 0) AND state IN ('submitted', 'working', 'input_required');

-- Up to which number a namespace's events were trimmed; how many were left when they were counted, and up to which.
CREATE TABLE event_trim (
    namespace TEXT NOT NULL PRIMARY KEY, trimmed INTEGER NOT NULL, kept INTEGER NOT NULL, counted INTEGER NOT NULL
) WITHOUT ROWID;

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

-- Events as one tree alone: with each event a row was written there, one in its index and one in a table of numbers. A
-- namespace numbers its own.
CREATE TABLE numbered_event (
    namespace TEXT NOT NULL, number INTEGER NOT NULL, fields TEXT NOT NULL, PRIMARY KEY (namespace, number)
) WITHOUT ROWID;
INSERT INTO numbered_event SELECT namespace, number, fields FROM event;
DROP TABLE event;
ALTER TABLE numbered_event RENAME TO event;

-- Up to which number a namespace's events were trimmed; how many were left when they were counted, and up to which.
CREATE TABLE event_trim (
    namespace TEXT NOT NULL PRIMARY KEY, trimmed INTEGER NOT NULL, kept INTEGER NOT NULL, counted INTEGER NOT NULL
) WITHOUT ROWID;

-- Fan-outs. A child is counted in the fan-out that its brood names; a parent has its last one.
ALTER TABLE job ADD COLUMN parent TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN brood TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN fan TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN verdict TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN children INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN need INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN spare INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN done INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN lost INTEGER NOT NULL DEFAULT 0;
CREATE INDEX job_brood ON job (brood, number, id)
    WHERE brood <> '' AND state IN ('submitted', 'working', 'input_required');

CREATE TABLE staged (
    place INTEGER PRIMARY KEY, job TEXT NOT NULL, child TEXT NOT NULL, number INTEGER NOT NULL, agent TEXT NOT NULL,
    contract TEXT NOT NULL, queue TEXT NOT NULL, envelope BLOB NOT NULL, lane TEXT NOT NULL
);
CREATE INDEX staged_job ON staged (job, place);

CREATE TABLE outcome (
    job TEXT NOT NULL, fan TEXT NOT NULL, number INTEGER NOT NULL, child TEXT NOT NULL, state TEXT NOT NULL,
    reason TEXT NOT NULL, error TEXT NOT NULL, result BLOB NOT NULL, below TEXT NOT NULL, PRIMARY KEY (job, fan, number)
) WITHOUT ROWID;

-- What is left to do in steps: "opening" (a job whose staged children are to be made), "closing" (a fan-out whose
-- children are to be canceled).
CREATE TABLE chore (
    namespace TEXT NOT NULL, kind TEXT NOT NULL, about TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (namespace, kind, about)
) WITHOUT ROWID;
CREATE INDEX chore_at ON chore (namespace, kind, at, about);

-- Jobs that wait for their turn on a thread, in the order of their numbers.
ALTER TABLE job ADD COLUMN began TEXT NOT NULL DEFAULT '';
CREATE TABLE turn (
    number INTEGER PRIMARY KEY, namespace TEXT NOT NULL, thread TEXT NOT NULL, job TEXT NOT NULL
);
CREATE INDEX turn_thread ON turn (namespace, thread, number);
CREATE UNIQUE INDEX turn_job ON turn (job);

-- How far groups of consumers are in the events. Batches: JSON, see ConsumerGroup in rows.py.
CREATE TABLE consumer_group (
    namespace TEXT NOT NULL, name TEXT NOT NULL, front INTEGER NOT NULL, batches TEXT NOT NULL,
    about BLOB NOT NULL, PRIMARY KEY (namespace, name)
) WITHOUT ROWID;

-- Lanes: what has a place in one, what waits in line, when deliveries were started, and when a line moves.
ALTER TABLE job ADD COLUMN lane TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN slot TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN waits INTEGER NOT NULL DEFAULT 0;
CREATE INDEX job_slot ON job (namespace, slot) WHERE slot <> '';
CREATE INDEX job_line ON job (namespace, lane, priority DESC, waits, id) WHERE waits > 0;
CREATE TABLE start (namespace TEXT NOT NULL, lane TEXT NOT NULL, at INTEGER NOT NULL, until INTEGER NOT NULL);
CREATE INDEX start_at ON start (namespace, lane, at);
CREATE INDEX start_until ON start (namespace, until);
CREATE TABLE gate (
    namespace TEXT NOT NULL, lane TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (namespace, lane)
) WITHOUT ROWID;
CREATE INDEX gate_at ON gate (namespace, at);

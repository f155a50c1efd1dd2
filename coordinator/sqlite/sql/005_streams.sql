-- Schema version 5: what jobs stream. All of a job's rows are freed together.

CREATE TABLE stream (
    number INTEGER PRIMARY KEY AUTOINCREMENT, namespace TEXT NOT NULL, job TEXT NOT NULL, data BLOB NOT NULL
);
CREATE INDEX stream_job ON stream (job, number);
CREATE TABLE stream_end (job TEXT PRIMARY KEY, namespace TEXT NOT NULL, until INTEGER NOT NULL);
CREATE INDEX stream_end_until ON stream_end (namespace, until);

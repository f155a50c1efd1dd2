-- Schema version 2: places, where frameworks find checkpoints by names of their own.

CREATE TABLE scope (
    number INTEGER PRIMARY KEY, namespace TEXT NOT NULL, thread TEXT NOT NULL, name TEXT NOT NULL
);
CREATE UNIQUE INDEX scope_name ON scope (namespace, thread, name);

-- A place's checkpoint is named by its step index in the thread, and its run by a hash: both are in its commit line.
-- Null: only writes are there; no run.
CREATE TABLE place (
    id INTEGER PRIMARY KEY, scope INTEGER NOT NULL, key TEXT NOT NULL, step_index INTEGER, run INTEGER
);
CREATE UNIQUE INDEX place_key ON place (scope, key);
CREATE INDEX place_run ON place (run) WHERE run IS NOT NULL;

CREATE TABLE write (
    place INTEGER NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, spans TEXT NOT NULL, PRIMARY KEY (place, name)
) WITHOUT ROWID;

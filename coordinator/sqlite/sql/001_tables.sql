-- Schema version 1. Times are ms since 1970, and 0 and the empty text mean none. A namespace owns every row but
-- those found by a minted id alone.

CREATE TABLE job (
    namespace TEXT NOT NULL, id TEXT NOT NULL PRIMARY KEY, thread TEXT NOT NULL, state TEXT NOT NULL,
    reason TEXT NOT NULL, agent TEXT NOT NULL, contract TEXT NOT NULL, queue TEXT NOT NULL, ready INTEGER NOT NULL,
    hop INTEGER NOT NULL, attempt INTEGER NOT NULL, crashes INTEGER NOT NULL, token INTEGER NOT NULL,
    lease TEXT NOT NULL, worker TEXT NOT NULL, lease_until INTEGER NOT NULL, due INTEGER NOT NULL, tip TEXT NOT NULL,
    key TEXT NOT NULL, idem TEXT NOT NULL, key_ttl INTEGER NOT NULL, closed TEXT NOT NULL, created INTEGER NOT NULL,
    updated INTEGER NOT NULL, error TEXT NOT NULL, envelope BLOB NOT NULL, result BLOB NOT NULL,
    question BLOB NOT NULL, answer BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX job_ready ON job (namespace, queue, ready) WHERE ready > 0;
CREATE INDEX job_lease ON job (namespace, lease_until) WHERE lease_until > 0;
CREATE INDEX job_due ON job (namespace, due) WHERE due > 0;
CREATE INDEX job_created ON job (namespace, created, id);
CREATE INDEX job_thread ON job (namespace, thread);

CREATE TABLE thread (
    namespace TEXT NOT NULL, name TEXT NOT NULL, tip TEXT NOT NULL, count INTEGER NOT NULL, job TEXT NOT NULL,
    PRIMARY KEY (namespace, name)
) WITHOUT ROWID;

CREATE TABLE checkpoint (
    id TEXT NOT NULL PRIMARY KEY, namespace TEXT NOT NULL, thread TEXT NOT NULL, step_index INTEGER NOT NULL,
    expires INTEGER NOT NULL, header BLOB NOT NULL, commit_line TEXT NOT NULL, state BLOB NOT NULL, native BLOB NOT NULL,
    name TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX checkpoint_order ON checkpoint (namespace, thread, step_index);
CREATE UNIQUE INDEX checkpoint_name ON checkpoint (namespace, thread, name) WHERE name <> '';
CREATE INDEX checkpoint_expiry ON checkpoint (namespace, expires) WHERE expires > 0;

-- Logs. A piece of one lies at place = number * 2^36 + its first byte, so that a log is read in one sweep of the table.
CREATE TABLE log (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE
);
CREATE TABLE piece (
    place INTEGER PRIMARY KEY, data BLOB NOT NULL
);
CREATE TABLE span (
    log INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, uses INTEGER NOT NULL,
    PRIMARY KEY (log, first, last)
) WITHOUT ROWID;

CREATE TABLE first_use (
    namespace TEXT NOT NULL, idem TEXT NOT NULL, job TEXT NOT NULL, payload_digest TEXT NOT NULL,
    forget_at INTEGER NOT NULL, PRIMARY KEY (namespace, idem)
) WITHOUT ROWID;

CREATE TABLE journal (
    place INTEGER PRIMARY KEY, job TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL
);
CREATE UNIQUE INDEX journal_key ON journal (job, key);

CREATE TABLE event (
    number INTEGER PRIMARY KEY AUTOINCREMENT, namespace TEXT NOT NULL, fields TEXT NOT NULL
);
CREATE INDEX event_namespace ON event (namespace, number);

CREATE TABLE agent (
    namespace TEXT NOT NULL, name TEXT NOT NULL, declaration BLOB NOT NULL, PRIMARY KEY (namespace, name)
) WITHOUT ROWID;

CREATE TABLE presence (
    namespace TEXT NOT NULL, queue TEXT NOT NULL, worker TEXT NOT NULL, until INTEGER NOT NULL,
    PRIMARY KEY (namespace, queue, worker)
) WITHOUT ROWID;

-- Schema version 10: agents that are paused, or were. `at` is since when that is so, in ms since 1970.

CREATE TABLE pause (
    namespace TEXT NOT NULL, agent TEXT NOT NULL, at INTEGER NOT NULL, paused INTEGER NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (namespace, agent)
) WITHOUT ROWID;

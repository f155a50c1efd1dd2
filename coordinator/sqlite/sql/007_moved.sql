-- Schema version 7: which namespaces `batonpass move` has taken to Redis. The mark is as there, see redis/moving/marks.py.

CREATE TABLE moved (namespace TEXT NOT NULL PRIMARY KEY, mark TEXT NOT NULL) WITHOUT ROWID;

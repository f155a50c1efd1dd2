-- Schema version 4: items, which are kept for long under labels and a key. A path holds both, in their order.

CREATE TABLE item (
    id INTEGER PRIMARY KEY, namespace TEXT NOT NULL, path BLOB NOT NULL, created INTEGER NOT NULL,
    updated INTEGER NOT NULL, ttl INTEGER NOT NULL, expires INTEGER NOT NULL, value BLOB NOT NULL, search BLOB NOT NULL
);
CREATE UNIQUE INDEX item_path ON item (namespace, path);
CREATE INDEX item_expiry ON item (namespace, expires, path) WHERE expires > 0;

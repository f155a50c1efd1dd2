-- Schema version 6: when and in which order deliveries run, and since when they fail.

ALTER TABLE job ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN failing INTEGER NOT NULL DEFAULT 0;
